package mtl

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/racetest"
)

// reporter is the common interface of testing.T and rapid.T.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// denseUpdate is the slow twin of the low-rank Omega updates: W is decomposed by
// gonum without blocks, and M is a full matrix.
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

// follow changes V task by task and compares the rows of W of both couplings.
func follow(t reporter, name string, got, want Coupling, d int, accuracy float64) {
	t.Helper()
	m := want.Tasks()
	v, dv := randomMatrix(78, m, d), randomMatrix(79, 2*m, d)
	twin := data.NewMatrix(m, d)
	copy(twin.Data, v.Data)
	a, b := got.Incremental(&v), want.Incremental(&twin)
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
// regularizer that learns from it.
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
	product(&w, &left, &right)
	if rapid.Bool().Draw(t, "duplicates") {
		copy(w.Row(0), w.Row(m-1))
		copy(w.Row(m/2), w.Row(m-1))
	}
	if rapid.Bool().Draw(t, "a task without weights") {
		clear(w.Row(m / 3))
	}
	// The dense twin solves with M, so that M must not be too far from singular.
	floor = math.Exp(rapid.Float64Range(-7, 0).Draw(t, "log floor"))
	switch rapid.IntRange(0, 2).Draw(t, "regularizer") {
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
		c := expect.Value(r.Update(testPool, &w, floor))(rt)
		_, low := c.(*lowRank)
		expect.Must(rt, low, "%d tasks of %d features have a %T", m, d, c)
		twin, accuracy := denseUpdate(rt, r, &w, floor)
		agree(rt, fmt.Sprintf("%T, m = %d, d = %d", r, m, d), c, twin, d+2, accuracy)
	})
}

// The kind of coupling depends only on m and d, not on the rank of W or on the floor. For
// W = 0 it is that of Start.
func TestKindOfCouplingDependsOnlyOnSizes(t *testing.T) {
	for _, r := range []Regularizer{Probabilistic{Lambda: 1}, Probabilistic{Lambda: 1, PriorPrecision: 2, Paper: true},
		Clustered{Lambda: 1, Eta: 0.1, Count: 1.5}} {
		for _, size := range [][2]int{{2, 1}, {9, 8}, {8, 8}, {8, 9}, {300, 8}} {
			m, d := size[0], size[1]
			full := randomMatrix(1, m, d)
			left, right := randomMatrix(2, m, 1), randomMatrix(3, 1, d)
			one := data.NewMatrix(m, d)
			product(&one, &left, &right)
			for name, w := range map[string]data.Matrix{"full": full, "rank one": one} {
				for _, floor := range []float64{1e-6, 1e-2, 1} {
					c := expect.Value(r.Update(testPool, &w, floor))(t)
					_, low := c.(*lowRank)
					expect.That(t, low == (m > d), "%T, m = %d, d = %d, %s, floor %g: %T", r, m, d, name, floor, c)
				}
			}
			zero := data.NewMatrix(m, d)
			c := expect.Value(r.Update(testPool, &zero, 1e-6))(t)
			if start, err := r.Start(testPool, m); err != nil || c != start {
				t.Errorf("%T, m = %d, d = %d: W = 0 gives %+v, Start %+v (%v)", r, m, d, c, start, err)
			}
		}
	}
}

// Without a floor a low-rank M is singular, and refused with the remedy.
func TestLowRankNeedsItsFloor(t *testing.T) {
	w := randomMatrix(1, 9, 3)
	_, err := Probabilistic{Lambda: 1}.Update(testPool, &w, 0)
	expect.That(t, err != nil && strings.Contains(err.Error(), "raise problem.regularizer_options.omega_floor"),
		"a floor of 0: %v", err)
	// Clustered has eta.
	if _, err := (Clustered{Lambda: 1, Eta: 0.1, Count: 2}).Update(testPool, &w, 0); err != nil {
		t.Error(err)
	}
}

// M^-1 of a nearly singular M, where no full matrix can be the twin: Primal takes
// Gradient back to as many digits as the condition leaves, and Value loses none to
// the cancellation of 1/off.
func TestLowRankInverseIsExact(t *testing.T) {
	w := randomMatrix(4, 500, 6)
	c := expect.Value(Probabilistic{Lambda: 1}.Update(testPool, &w, 1e-9))(t)
	v := randomMatrix(5, 500, 6)
	image, back := data.NewMatrix(500, 6), data.NewMatrix(500, 6)
	c.Gradient(&image, &v)
	c.Primal(&back, &image)
	s := expect.Value(spectrumOf(testPool, &w))(t)
	condition := s.values[0] / s.trace() / (1e-9 / 500)
	e := relative(&back, &v)
	expect.That(t, e <= condition*0x1p-52, "V M^-1 M differs from V by %g, the condition is %g", e, condition)
	// tr(W Omega^-1 W^T) at the W that Omega comes from is (tr (W^T W)^1/2)^2, but
	// for the floor.
	got, want := 2*c.Value(&w, nil), s.trace()*s.trace()
	expect.That(t, math.Abs(got-want) < 2e-9*want, "tr(W M^-1 W^T) = %.15g, want %.15g", got, want)
}

// atAll calls every method of a coupling and returns all numbers that come out.
func atAll(c Coupling, d int) []float64 {
	m := c.Tasks()
	v := randomMatrix(9, m, d)
	w := data.NewMatrix(m, d)
	var out []float64
	c.Primal(&w, &v)
	out = append(out, w.Data...)
	out = append(out, c.Value(&w, nil), c.Value(&w, &v), c.Convexity())
	c.Gradient(&w, &v)
	out = append(out, w.Data...)
	for t := range m {
		out = append(out, c.Diag(t))
	}
	f := c.Incremental(&v)
	f.Add(m/2, w.Row(0))
	f.Task(w.Row(1), m/3)
	out = append(out, w.Row(1)...)
	for _, rule := range []string{SigmaSpectral, SigmaPerTask} {
		out = append(out, c.SigmaPrime(rule, nil)...)
	}
	return out
}

// The bits do not depend on the number of workers, nor on how many runs share the
// coupling at the same time.
func TestCouplingsDoNotDependOnTheWorkers(t *testing.T) {
	const m, d = 700, 5 // several blocks and tiles
	w := randomMatrix(6, m, d)
	clusters := make([]int, m)
	for s := range clusters {
		clusters[s] = s * s % 7
	}
	for name, make_ := range map[string]func(pool *parallel.Pool) (Coupling, error){
		"probabilistic": func(pool *parallel.Pool) (Coupling, error) {
			return Probabilistic{Lambda: 1}.Update(pool, &w, 1e-4)
		},
		"clustered": func(pool *parallel.Pool) (Coupling, error) {
			return Clustered{Lambda: 1, Eta: 0.1, Count: 3}.Update(pool, &w, 1e-4)
		},
		"mean": func(pool *parallel.Pool) (Coupling, error) {
			return MeanRegularized{Lambda1: 1, Lambda2: 0.1}.Start(pool, m)
		},
		"mean of clusters": func(pool *parallel.Pool) (Coupling, error) {
			return MeanRegularized{Lambda1: 1, Lambda2: 0.1, Clusters: clusters}.Start(pool, m)
		},
	} {
		alone := expect.Value(make_(nil))(t)
		want := atAll(alone, d)
		for _, workers := range []int{2, 8} {
			c := expect.Value(make_(parallel.NewPool(workers)))(t)
			var runs sync.WaitGroup
			for range 4 {
				runs.Go(func() {
					if got := atAll(c, d); !slices.Equal(got, want) {
						t.Errorf("%s: other bits with %d workers than with one", name, workers)
					}
				})
			}
			runs.Wait()
		}
	}
}

// A product every round leaves nothing of the size of W behind.
func TestProductsReuseTheirScratch(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds on one goroutine")
	}
	const m, d = 5_000, 8
	v := randomMatrix(7, m, d)
	w := data.NewMatrix(m, d)
	learned := expect.Value(Probabilistic{Lambda: 1}.Update(nil, &v, 1e-4))(t)
	mean := expect.Value(MeanRegularized{Lambda1: 1, Lambda2: 0.1}.Start(nil, m))(t)
	for _, c := range []Coupling{learned, mean, Identity{M: m, Scale: 2}} {
		const rounds = 5
		once := func() {
			c.Primal(&w, &v)
			c.Gradient(&w, &v)
			c.Value(&w, nil)
		}
		once()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			once()
		}
		runtime.ReadMemStats(&after)
		bytes := (after.TotalAlloc - before.TotalAlloc) / rounds
		expect.That(t, bytes <= m*d*8/10, "%T: %d bytes a round, W has %d", c, bytes, m*d*8)
	}
}

// The central solver's row of W and its change of V allocate nothing.
func TestIncrementalPrimalAllocatesNothing(t *testing.T) {
	const m, d = 50, 6
	w := randomMatrix(8, m, d)
	learned := expect.Value(Probabilistic{Lambda: 1}.Update(nil, &w, 1e-4))(t)
	mean := expect.Value(MeanRegularized{Lambda1: 1, Lambda2: 0.1}.Start(nil, m))(t)
	row := make([]float64, d)
	for _, c := range []Coupling{learned, mean, Identity{M: m, Scale: 2}} {
		f := c.Incremental(&w)
		if n := testing.AllocsPerRun(100, func() {
			f.Task(row, 3)
			f.Add(4, row)
		}); n != 0 {
			t.Errorf("%T: %g allocations", c, n)
		}
	}
}

// What an update costs a server: 4 m d^2 + 20 d^3 with more tasks than features,
// 2 m^2 d + 10 m^3 otherwise, nothing when Omega is known.
func TestUpdateFLOPs(t *testing.T) {
	for _, test := range []struct {
		r    Regularizer
		m, d int
		want float64
	}{
		{Probabilistic{Lambda: 1}, 10, 3, 4*10*9 + 20*27}, {Probabilistic{Lambda: 1}, 3, 10, 2*9*10 + 10*27},
		{Clustered{}, 10, 3, 4*10*9 + 20*27}, {Clustered{}, 3, 3, 2*9*3 + 10*27},
		{Probabilistic{}, 1_000_000, 30, 4*1e6*900 + 20*27e3},
		{Graphical{}, 10, 3, 2*100*3 + 10*1000},
		{Independent{}, 10, 3, 0}, {MeanRegularized{}, 10, 3, 0},
	} {
		if got := test.r.UpdateFLOPs(test.m, test.d); got != test.want {
			t.Errorf("%T of %d tasks, %d features: %g FLOPs, want %g", test.r, test.m, test.d, got, test.want)
		}
	}
}

// Sums over all pairs of very many tasks are refused by the name of the key, and
// only where they would have to be taken.
func TestRowSumsOfVeryManyTasksAreRejected(t *testing.T) {
	racetest.Skip(t, "compares numbers; shorter tests solve in parallel")
	sizes := slices.Repeat([]int{1}, mostRowSums+1)
	many, most := randomSplit(1, 2, sizes...), randomSplit(1, 2, sizes[1:]...)
	for _, test := range []struct {
		regularizer, rule string
		split             data.Split
		refused           bool
	}{
		{RegProbabilistic, SigmaLemma9, many, true}, {RegProbabilistic, SigmaPerTask, many, true},
		{RegClustered, SigmaLemma9, many, true}, {RegProbabilistic, SigmaSpectral, many, false},
		{RegProbabilistic, SigmaPerTask, most, false}, {RegMean, SigmaLemma9, many, false},
		{RegIndependent, SigmaPerTask, many, false},
	} {
		cfg := Defaults()
		cfg.Regularizer, cfg.SigmaPrime = test.regularizer, test.rule
		_, err := NewProblem(cfg, test.split)
		var problem config.Problem
		want := fmt.Sprintf(`problem.sigma_prime = %q: must be "spectral" for regularizer %q with more than 20000 `+
			`tasks: the sums over all pairs of 20001 would take too long`, test.rule, test.regularizer)
		expect.That(t, !test.refused || errors.As(err, &problem) && err.Error() == want,
			"%s, %s: %v, want %s", test.regularizer, test.rule, err, want)
		expect.That(t, test.refused || err == nil, "%s, %s: %v", test.regularizer, test.rule, err)
	}
}

// The same where sums go over several blocks and tiles.
func TestLowRankOfManyTasksIsTheDenseCoupling(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds")
	}
	const m, d = 600, 4
	w := randomMatrix(1, m, d)
	r := Probabilistic{Lambda: 0.3}
	c := expect.Value(r.Update(testPool, &w, 1e-3))(t)
	twin, accuracy := denseUpdate(t, r, &w, 1e-3)
	agree(t, "600 tasks", c, twin, d, accuracy)
}
