package learning

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/parallel"
	"fedsim/mtl"
)

// full makes every coupling of a regularizer a full matrix.
type full struct{ mtl.Regularizer }

func (f full) Start(pool *parallel.Pool, m int) (mtl.Coupling, error) {
	c, err := f.Regularizer.Start(pool, m)
	if err != nil {
		return nil, err
	}
	return fullOf(c)
}

func (f full) Update(pool *parallel.Pool, w *data.Matrix, floor float64) (mtl.Coupling, error) {
	if _, ok := f.Regularizer.(mtl.Probabilistic); ok {
		return covariance(w, f.Regularizer.(mtl.Probabilistic).Lambda, floor)
	}
	c, err := f.Regularizer.Update(pool, w, floor)
	if err != nil {
		return nil, err
	}
	return fullOf(c)
}

// fullOf reads a coupling out on unit vectors.
func fullOf(c mtl.Coupling) (mtl.Coupling, error) {
	m := c.Tasks()
	units, columns := data.NewMatrix(m, m), data.NewMatrix(m, m)
	for s := range m {
		units.Row(s)[s] = 1
	}
	c.Primal(&columns, &units)
	M := mat.NewSymDense(m, nil)
	for s := range m {
		for u := s; u < m; u++ {
			M.SetSym(s, u, columns.Row(s)[u])
		}
	}
	return mtl.NewDense(M)
}

// covariance is Omega/lambda in the authors' convention, made from W alone:
// (W^T W)^1/2 over its trace, with floor I/m mixed in.
func covariance(w *data.Matrix, lambda, floor float64) (mtl.Coupling, error) {
	var svd mat.SVD
	if !svd.Factorize(mat.NewDense(w.Rows, w.Stride, w.Data), mat.SVDThin) {
		return nil, errors.New("no singular values")
	}
	var left mat.Dense
	svd.UTo(&left)
	values, trace := svd.Values(nil), 0.0
	for _, x := range values {
		trace += x
	}
	M := mat.NewSymDense(w.Rows, nil)
	for s := range w.Rows {
		for u := s; u < w.Rows; u++ {
			x := 0.0
			for k, value := range values {
				x += left.At(s, k) * left.At(u, k) * (1 - floor) * value / trace
			}
			if s == u {
				x += floor / float64(w.Rows)
			}
			M.SetSym(s, u, x/lambda)
		}
	}
	return mtl.NewDense(M)
}

// A whole run in which Omega is learnt twice and updates get lost ends at the same
// weights and objectives whether the couplings are low-rank (there are more tasks
// than features) or full matrices.
func TestLowRankRunsEndWhereDenseOnesDo(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*mtl.Config)
	}{
		{"probabilistic", func(*mtl.Config) {}},
		{"probabilistic, lemma 9", func(c *mtl.Config) { c.SigmaPrime = mtl.SigmaLemma9 }},
		{"clustered", func(c *mtl.Config) { c.Regularizer, c.SigmaPrime = mtl.RegClustered, mtl.SigmaPerTask }},
		{"mean", func(c *mtl.Config) { c.Regularizer, c.Clusters = mtl.RegMean, "0,1,1,0,2,1,1" }},
	} {
		end := func(dense bool) (*Outcome, data.Matrix) {
			s := world(t, "mocha", protocols.Deadline, func(s *Setup) {
				cfg := mtl.Defaults()
				cfg.OmegaFloor = 1e-3
				test.change(&cfg)
				s.Problem = withConfig(t, randomProblem(t, features, sizes...), cfg)
				if dense {
					s.Problem.Regularizer = full{s.Problem.Regularizer}
				}
				s.Faults.DropProbability.All = 0.2
				s.Schedule.Outer, s.Schedule.Rounds = 3, 12
			})
			f, err := New(s)
			if err != nil {
				t.Fatal(err)
			}
			out := finish(t, f)
			if _, isDense := f.coupling.(*mtl.Dense); isDense != dense {
				t.Fatalf("%s: the run ends under a %T", test.name, f.coupling)
			}
			return out, *f.method.Model().W
		}
		thin, w := end(false)
		dense, twin := end(true)
		if len(thin.Rounds) != len(dense.Rounds) || len(thin.Rounds) != 37 {
			t.Fatalf("%s: %d and %d rows, want 37", test.name, len(thin.Rounds), len(dense.Rounds))
		}
		for h, r := range thin.Rounds {
			want := dense.Rounds[h]
			if !(math.Abs(r.Primal-want.Primal) < 1e-8*want.Primal) ||
				!(math.Abs(r.Dual-want.Dual) < 1e-8*want.Primal) {
				t.Fatalf("%s, round %d: P = %.15g, D = %.15g; dense %.15g, %.15g", test.name, h, r.Primal, r.Dual,
					want.Primal, want.Dual)
			}
			if r.Participants != want.Participants {
				t.Fatalf("%s, round %d: %d took part, dense %d", test.name, h, r.Participants, want.Participants)
			}
		}
		difference, size := 0.0, 0.0
		for i, x := range twin.Data {
			difference += (w.Data[i] - x) * (w.Data[i] - x)
			size += x * x
		}
		if !(difference < 1e-16*size) {
			t.Errorf("%s: the final weights differ by %g", test.name, math.Sqrt(difference/size))
		}
	}
}
