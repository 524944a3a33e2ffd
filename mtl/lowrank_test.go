package mtl

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"fedsim/data"
)

// reporter is what testing.T and rapid.T have in common.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// denseUpdate is the slow twin of the low-rank Omega updates: W is decomposed by
// gonum in one piece, M is a full matrix.
//
// It also returns to how many digits M is known: the vector of a small singular
// value is known to a rounding of the largest one, and water filling may give it
// an eigenvalue that is not small.
func denseUpdate(t reporter, r Regularizer, w *data.Matrix, floor float64) (M *Dense, accuracy float64) {
	t.Helper()
	m := w.Rows
	compact := mat.NewDense(m, w.Cols, nil)
	for s := range m {
		compact.SetRow(s, w.Row(s))
	}
	var svd mat.SVD
	if !svd.Factorize(compact, mat.SVDThin) {
		t.Fatalf("no singular values")
	}
	values := svd.Values(nil)
	trace, rank := 0.0, 0
	for _, x := range values {
		trace += x
		if x > 1e-12*values[0] {
			rank++
		}
	}
	var left mat.Dense
	svd.UTo(&left)
	var along []float64
	var off float64
	switch r := r.(type) {
	case Probabilistic:
		base := floor / float64(m)
		for _, x := range values[:rank] {
			along = append(along, r.coupling((1-floor)*x/trace+base))
		}
		off = r.coupling(base)
	case Clustered:
		base := floor * r.Count / float64(m)
		along, off = waterFill(values[:rank], m, r.Eta, r.Count)
		for k, x := range along {
			along[k] = r.coupling((1-floor)*x + base)
		}
		off = r.coupling((1-floor)*off + base)
	}
	c, err := NewDense(symmetric(m, func(s, u int) float64 {
		x := off * delta(s, u)
		for k, e := range along {
			x += left.At(s, k) * left.At(u, k) * (e - off)
		}
		return x
	}))
	if err != nil {
		t.Fatalf("the dense twin: %v", err)
	}
	return c, max(1e-10, 10*0x1p-52*values[0]/values[rank-1])
}

// relative returns |a - b| / |b| over all entries.
func relative(a, b *data.Matrix) float64 {
	var difference, size float64
	for t := range b.Rows {
		for j, x := range b.Row(t) {
			difference += (a.Row(t)[j] - x) * (a.Row(t)[j] - x)
			size += x * x
		}
	}
	return math.Sqrt(difference / size)
}

// agree compares every method of two couplings of the same M, which is known to
// some accuracy. Solving with a full matrix loses as many digits as its condition
// has, so that the inverses are compared to that if it is more.
func agree(t reporter, name string, got, want Coupling, d int, accuracy float64) {
	t.Helper()
	m := want.Tasks()
	values, err := eigenvalues(matrixOf(want))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	condition := values[m-1] / values[0]
	inverse := max(accuracy, 100*0x1p-52*condition)
	same := func(what string, a, b, tolerance float64) {
		t.Helper()
		if !(math.Abs(a-b) <= tolerance*math.Abs(b)) {
			t.Errorf("%s: %s = %.15g, dense %.15g", name, what, a, b)
		}
	}
	if got.Tasks() != m {
		t.Fatalf("%s: %d tasks, dense %d", name, got.Tasks(), m)
	}
	for s := range m {
		same(fmt.Sprintf("Diag(%d)", s), got.Diag(s), want.Diag(s), accuracy)
	}
	v := randomMatrix(77, m, d)
	a, b := data.NewMatrix(m, d), data.NewMatrix(m, d)
	got.Primal(&a, &v)
	want.Primal(&b, &v)
	if e := relative(&a, &b); e > accuracy {
		t.Errorf("%s: Primal differs by %g", name, e)
	}
	same("R(V M)", got.Value(&b, nil), want.Value(&b, &v), accuracy)
	same("R(V M), V at hand", got.Value(&b, &v), want.Value(&b, &v), accuracy)
	same("R(V)", got.Value(&v, nil), want.Value(&v, nil), inverse)
	got.Gradient(&a, &v)
	want.Gradient(&b, &v)
	if e := relative(&a, &b); e > inverse {
		t.Errorf("%s: Gradient differs by %g", name, e)
	}
	same("Convexity", got.Convexity(), want.Convexity(), accuracy)
	follow(t, name, got, want, d, accuracy)
	devices := make([]int, m)
	for s := range devices {
		devices[s] = 1 + s*s%3
	}
	for _, rule := range []string{SigmaSpectral, SigmaLemma9, SigmaPerTask} {
		for _, devices := range [][]int{nil, devices} {
			a, b := got.SigmaPrime(rule, devices), want.SigmaPrime(rule, devices)
			for s := range b {
				// Dense raises the largest eigenvalue by 1e-10.
				same(fmt.Sprintf("sigma' of %d by %s", s, rule), a[s], b[s], 2*accuracy)
			}
		}
	}
}

// follow lets V change task by task and compares W as the couplings follow it.
func follow(t reporter, name string, got, want Coupling, d int, accuracy float64) {
	t.Helper()
	m := want.Tasks()
	v, dv := randomMatrix(78, m, d), randomMatrix(79, 2*m, d)
	twin := data.NewMatrix(m, d)
	copy(twin.Data, v.Data)
	a, b := got.Follow(&v), want.Follow(&twin)
	w, x := data.NewMatrix(1, d), data.NewMatrix(1, d)
	for i := range dv.Rows {
		s, u := 7*i%m, 5*i%m
		a.Add(s, dv.Row(i))
		b.Add(s, dv.Row(i))
		a.Task(w.Row(0), u)
		b.Task(x.Row(0), u)
		if e := relative(&w, &x); e > accuracy {
			t.Fatalf("%s: row %d differs by %g after %d changes", name, u, e, i+1)
		}
	}
	if e := relative(&v, &twin); e != 0 {
		t.Errorf("%s: V differs by %g after the same changes", name, e)
	}
}

// lowRankCase draws a W of any rank, with equal rows and rows of zeros, and a
// regulariser that learns from it.
func lowRankCase(t *rapid.T) (m, d int, r Regularizer, w data.Matrix, floor float64) {
	d = rapid.IntRange(1, 8).Draw(t, "d")
	m = rapid.OneOf(rapid.Just(d+1), rapid.IntRange(d+1, 40)).Draw(t, "m")
	seed := rapid.Uint64().Draw(t, "seed")
	rank := rapid.IntRange(1, d).Draw(t, "rank")
	left, right := randomMatrix(seed, m, rank), randomMatrix(seed+1, rank, d)
	for k := range rank { // of very different sizes
		size := math.Exp(rapid.Float64Range(-8, 8).Draw(t, "log size"))
		for j := range right.Row(k) {
			right.Row(k)[j] *= size
		}
	}
	w = data.NewMatrix(m, d)
	addProduct(&w, &left, &right)
	if rapid.Bool().Draw(t, "duplicates") {
		copy(w.Row(0), w.Row(m-1))
		copy(w.Row(m/2), w.Row(m-1))
	}
	if rapid.Bool().Draw(t, "a task without weights") {
		clear(w.Row(m / 3))
	}
	// The dense twin solves with M, so that M must not be too far from singular.
	floor = math.Exp(rapid.Float64Range(-7, 0).Draw(t, "log floor"))
	switch rapid.IntRange(0, 2).Draw(t, "regulariser") {
	case 0:
		r = Probabilistic{Lambda: 0.3}
	case 1:
		r = Probabilistic{Lambda: 0.3, PriorPrecision: 5, Paper: true}
	default:
		share := rapid.Float64Range(0.01, 0.99).Draw(t, "k/m")
		r = Clustered{Lambda: 0.2, Eta: 0.1, Count: share * float64(m)}
	}
	return
}

func TestLowRankIsTheDenseCoupling(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m, d, r, w, floor := lowRankCase(rt)
		c, err := r.Update(testPool, &w, floor)
		if err != nil {
			rt.Fatal(err)
		}
		if _, low := c.(*LowRank); !low {
			rt.Fatalf("%d tasks of %d features have a %T", m, d, c)
		}
		twin, accuracy := denseUpdate(rt, r, &w, floor)
		agree(rt, fmt.Sprintf("%T, m = %d, d = %d", r, m, d), c, twin, d+2, accuracy)
	})
}
