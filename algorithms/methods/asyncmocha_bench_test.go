package methods

import (
	"fmt"
	"testing"

	"fedsim/mtl"
)

// BenchmarkServerResponse measures a response of one coordinate step, which is mostly the
// server's work in Send and Receive, beside one product W = V M of all tasks, which the
// server does not need.
func BenchmarkServerResponse(b *testing.B) {
	for _, v := range []struct {
		name   string
		change func(*mtl.Config)
	}{{"grouped", tiedToMean}, {"low-rank", learnt}} {
		sizes := make([]int, 1000)
		for k := range sizes {
			sizes[k] = 5 + k%20
		}
		p, c := randomProblem(b, v.change, nil, 64, sizes...)
		a := start(b, "async-mocha", p, c, nil).(*asyncMOCHA)
		b.Run(fmt.Sprintf("%s/response", v.name), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				k := i % len(sizes)
				a.Send(k)
				a.Solve(request(k, i, 1, 0))
				a.Receive(k)
			}
		})
		b.Run(fmt.Sprintf("%s/product", v.name), func(b *testing.B) {
			for range b.N {
				a.Model()
			}
		})
	}
}
