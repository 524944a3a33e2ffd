package experiment

import (
	"testing"
	"unsafe"

	"fedsim/data"
	"fedsim/scenarios"
)

// The least memory of a run equals a computation by hand.
func TestLeastMemory(t *testing.T) {
	const base = `
[data.synthetic]
tasks = 1000
features = 10
rows_min = 5
rows_max = 9
clusters = 1
factors = 1
[methods.mocha]
[run]
outer = 2
[problem]
optimum_sweeps = 0
`
	const task = float64(unsafe.Sizeof(data.Task{}))
	for _, c := range []struct {
		sets []string
		want float64
	}{
		{nil, 1000*(task+5*(8+8*10)) + 2*8*1000*10},
		{[]string{`data.precision="float32"`}, 1000*(task+5*(8+4*10)) + 2*8*1000*10},
		{[]string{"data.resident=false"}, 1000*(task+5*8) + 2*8*1000*10},
		{[]string{`problem.regularizer="graphical"`}, 1000*(task+5*(8+8*10)) + 2*8*1000*10 + 3*8*1000*1000},
		{[]string{`problem.regularizer="graphical"`, "run.outer=1"}, 1000*(task+5*(8+8*10)) + 2*8*1000*10},
		{[]string{"data.pool=true"}, 1000*(task+5*(8+8*10)) + 2*8*10},
		{[]string{`sweep.data.synthetic.tasks=[1000, 2000]`, "data.resident=false"}, 2000*(task+5*8) + 2*8*2000*10},
		{[]string{`run.mode="timing"`, "run.outer=1", `federation.protocol="charged"`}, 160 * 1000},
		{[]string{`data.source="csv"`, `data.path="x.csv"`}, 0},
	} {
		s, err := scenarios.Parse("x.toml", []byte(base), c.sets)
		if err != nil {
			t.Fatal(err)
		}
		if got := LeastMemory(s.Experiments); got != c.want {
			t.Errorf("%v: %g bytes, want %g", c.sets, got, c.want)
		}
	}
}
