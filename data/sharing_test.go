package data

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// svm is a slow and simple multi-task support vector machine: exact dual coordinate
// ascent, task by task, on sum_t 1/n_t sum_i hinge + 1/2 tr(W M^-1 W^T). It only serves
// to show which models a generated problem favors.
type svm struct {
	set  *Set
	dual [][]float64 // y a, in [0, 1]
	v    [][]float64 // per task, c_t X_t^T a_t
	w    [][]float64 // W = V M
}

func newSVM(set *Set) *svm {
	s := &svm{set: set}
	for t := range set.Clients {
		s.dual = append(s.dual, make([]float64, set.Clients[t].X.Rows))
		s.v = append(s.v, make([]float64, set.Features))
		s.w = append(s.w, make([]float64, set.Features))
	}
	return s
}

// weights sets w = V M e_t.
func (s *svm) weights(m *mat.SymDense, t int) []float64 {
	w := s.w[t]
	clear(w)
	for k := range s.v {
		coupling := m.At(k, t)
		for j, v := range s.v[k] {
			w[j] += coupling * v
		}
	}
	return w
}

// fit makes passes over all rows.
func (s *svm) fit(m *mat.SymDense, passes int) {
	for pass := range passes {
		for t := range s.set.Clients {
			task := &s.set.Clients[t]
			w, c, own := s.weights(m, t), 1/float64(task.X.Rows), m.At(t, t)
			for _, i := range permutation(task.X.Rows, uint64(pass), rng.Solve, t) {
				x, y := task.X.Row(int(i)), task.Y[i]
				square, score := 0.0, 0.0
				for j := range x {
					square += x[j] * x[j]
					score += x[j] * w[j]
				}
				a := min(max(s.dual[t][i]+(1-y*score)/(own*c*square), 0), 1)
				step := c * y * (a - s.dual[t][i])
				s.dual[t][i] = a
				for j := range x {
					s.v[t][j] += step * x[j]
					w[j] += own * step * x[j]
				}
			}
		}
	}
	for t := range s.set.Clients {
		s.weights(m, t)
	}
}

// learn returns (W^T W)^1/2 / (lambda trace), the coupling M = Omega/lambda of the
// paper's probabilistic regularizer in its authors' convention.
func (s *svm) learn(lambda float64) *mat.SymDense {
	m := len(s.w)
	gram := mat.NewSymDense(m, nil)
	for a := range m {
		for b := a; b < m; b++ {
			gram.SetSym(a, b, mat.Dot(mat.NewVecDense(len(s.w[a]), s.w[a]), mat.NewVecDense(len(s.w[b]), s.w[b])))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		panic("no eigenvalues")
	}
	var q mat.Dense
	eigen.VectorsTo(&q)
	root, trace := mat.NewSymDense(m, nil), 0.0
	for k, value := range eigen.Values(nil) {
		value = math.Sqrt(max(value, 0)) + 1e-8
		trace += value
		root.SymRankOne(root, value, q.ColView(k))
	}
	root.ScaleSym(1/(lambda*trace), root)
	return root
}

// testError is the mean over tasks of the share of wrong signs.
func (s *svm) testError(test *Set) float64 {
	sum := 0.0
	for t := range test.Clients {
		task := &test.Clients[t]
		wrong := 0
		for i := range task.X.Rows {
			score := 0.0
			for j, x := range task.X.Row(i) {
				score += x * s.w[t][j]
			}
			if score*task.Y[i] <= 0 {
				wrong++
			}
		}
		sum += float64(wrong) / float64(task.X.Rows)
	}
	return sum / float64(len(test.Clients))
}

// modelErrors returns the test errors of a global, a local and a multi-task model, each
// at its best lambda of the grid.
func modelErrors(t *testing.T, split *Split, grid []float64, passes, updates int) (global, local, multi float64) {
	t.Helper()
	m := len(split.Train.Clients)
	global, local, multi = 1, 1, 1
	for _, lambda := range grid {
		all, own := mat.NewSymDense(m, nil), mat.NewSymDense(m, nil)
		for a := range m {
			own.SetSym(a, a, 1/(lambda*float64(m)))
			for b := a; b < m; b++ {
				all.SetSym(a, b, 1/(lambda*float64(m)))
			}
		}
		g := newSVM(split.Train)
		g.fit(all, passes)
		l := newSVM(split.Train)
		l.fit(own, passes)
		mt := newSVM(split.Train)
		coupling := own
		for range updates {
			mt.fit(coupling, passes)
			coupling = mt.learn(lambda)
		}
		mt.fit(coupling, passes)
		eg, el, em := g.testError(split.Test), l.testError(split.Test), mt.testError(split.Test)
		t.Logf("lambda %g: global %.2f %%, local %.2f %%, multi-task %.2f %%", lambda, 100*eg, 100*el, 100*em)
		global, local, multi = min(global, eg), min(local, el), min(multi, em)
	}
	return global, local, multi
}

// Table 1 of the paper: in each set the multi-task model is well ahead of both others,
// and global is no better than local. The bounds are the paper's errors doubled: our
// sets are similar to its sets, not equal, and the simple solver stops before the
// optimum.
func TestSharingHelps(t *testing.T) {
	for _, c := range []struct {
		preset        string
		lambda        float64
		passes        int
		global, multi float64 // largest allowed errors
	}{
		{"", 1e-3, 30, 0.15, 0.05},
		{"human-activity", 1e-3, 20, 2 * 0.0223, 2 * 0.0046},
		{"vehicle-sensor", 1e-3, 10, 2 * 0.134, 2 * 0.0659},
	} {
		t.Run(c.preset, func(t *testing.T) {
			if testing.Short() {
				t.Skip("compares models on large data: not with -short")
			}
			cfg := Defaults()
			cfg.Preset, cfg.Bias = c.preset, true
			split := prepared(t, cfg)
			global, local, multi := modelErrors(t, split, []float64{c.lambda}, c.passes, 3)
			expect.That(t, multi <= 0.9*local && multi <= 0.7*global,
				"multi-task %.4f is not well ahead of local %.4f and global %.4f", multi, local, global)
			expect.That(t, global >= local, "global %.4f is ahead of local %.4f", global, local)
			expect.That(t, global <= c.global && multi <= c.multi,
				"errors of global %.4f, multi-task %.4f, want at most %.4f, %.4f", global, multi, c.global, c.multi)
		})
	}
}
