package nnls

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
)

// square returns |X x - y|^2.
func square(p int, x, y, at []float64) float64 {
	sum := 0.0
	for i := range y {
		r := -y[i]
		for k := range p {
			r += x[i*p+k] * at[k]
		}
		sum += r * r
	}
	return sum
}

// The solution is the best of the least-squares solutions of all sets of columns that are not
// negative.
func TestNonnegativeAgainstAllSets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.IntRange(1, 4).Draw(t, "columns")
		n := rapid.IntRange(p, 9).Draw(t, "rows")
		number := rapid.Float64Range(-3, 3)
		x := rapid.SliceOfN(number, n*p, n*p).Draw(t, "x")
		y := rapid.SliceOfN(number, n, n).Draw(t, "y")
		var qr mat.SVD
		if !qr.Factorize(mat.NewDense(n, p, append([]float64(nil), x...)), mat.SVDNone) || !(qr.Cond() < 1e4) ||
			qr.Values(nil)[0] < 1e-100 {
			t.Skip("dependent columns, or numbers whose squares underflow")
		}
		got := Solve(p, x, y)
		best := square(p, x, y, make([]float64, p))
		for set := 1; set < 1<<p; set++ {
			var columns []int
			for k := range p {
				if set>>k&1 == 1 {
					columns = append(columns, k)
				}
			}
			a := mat.NewDense(n, len(columns), nil)
			for i := range n {
				for j, k := range columns {
					a.Set(i, j, x[i*p+k])
				}
			}
			var solution mat.VecDense
			if err := solution.SolveVec(a, mat.NewVecDense(n, append([]float64(nil), y...))); err != nil {
				continue
			}
			at := make([]float64, p)
			feasible := true
			for j, k := range columns {
				at[k] = solution.AtVec(j)
				feasible = feasible && at[k] >= 0
			}
			if feasible {
				best = min(best, square(p, x, y, at))
			}
		}
		for k := range got {
			expect.Must(t, got[k] >= 0 && !math.IsNaN(got[k]), "x[%d] = %g", k, got[k])
		}
		if is := square(p, x, y, got); is > best+1e-9*(1+best) {
			t.Fatalf("|X x - y|^2 = %g at %v, the best set of columns has %g", is, got, best)
		}
	})
}
