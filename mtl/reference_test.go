package mtl

import (
	"flag"
	"fmt"
	"math"
	"strconv"
	"testing"

	"fedsim/data"
	_ "fedsim/data/formats"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/kernel"
)

var allOptima = flag.Bool("optima", false, "also compute the optima that take long")

// takesLong skips a test without -optima: go test ./mtl -run Optim -optima.
func takesLong(t *testing.T) {
	t.Helper()
	if !*allOptima {
		t.Skip("takes long: run it with -optima")
	}
}

// references returns the quantities of a case of models.csv, which independent programs have
// computed, or skips the test.
func references(t testing.TB, id, name string) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	for _, row := range filetest.Rows(t, filetest.Real(t, "../reference/models.csv")) {
		if row[0] == id && row[1] == name {
			values[row[2]] = filetest.Number(t, row[3])
		}
	}
	expect.Must(t, len(values) != 0, "models.csv has no case %q", name)
	return values
}

// errors counts the training rows of the wrong class.
func wrongRows(p *Problem, w *data.Matrix) int {
	wrong := 0.0
	for k := range p.Train.Clients {
		wrong += p.fit(&p.Train.Clients[k], w.Row(p.TaskOf(k)), nil).miss
	}
	return int(wrong)
}

// activities returns the six classes of the human-activity data.
func activities(t testing.TB) *data.Set {
	t.Helper()
	cfg := data.Defaults()
	cfg.Source, cfg.Path, cfg.Target = data.SourceHAR, filetest.Real(t, "har.zip"), data.TargetClasses
	set := expect.Value(data.Load(cfg))(t)
	return set
}

// softmaxOptimum returns the optimum to a relative gap of 1e-8.
func softmaxOptimum(t testing.TB, train *data.Set, lambda float64) (*Problem, *Optimum) {
	t.Helper()
	cfg := Defaults()
	cfg.Loss, cfg.Regularizer, cfg.Lambda = LossSoftmax, RegIndependent, lambda
	p := mustProblem(t, cfg, data.Split{Train: train, Test: train})
	o := p.Solver(testPool, 1e-8, 20_000).Optimize(t.Context(), mustStart(t, p), nil)
	t.Logf("P* = %.12g, relative gap %.2g, %d passes", o.Primal, o.RelativeGap, o.Sweeps)
	expect.That(t, o.RelativeGap <= 1e-8, "relative gap %g after %d passes", o.RelativeGap, o.Sweeps)
	return p, o
}

func TestSoftmaxOptimaOnHAR(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	set := activities(t)
	for _, c := range []struct {
		name string
		l2   float64
		slow bool
	}{{"0.1", 0.1, false}, {"0.01", 0.01, true}, {"0.001", 0.001, true}} {
		t.Run(c.name, func(t *testing.T) {
			if c.slow {
				takesLong(t)
			}
			want := references(t, "A", "har all global no-bias l2="+c.name)
			p, o := softmaxOptimum(t, data.Pool(set), c.l2)
			if math.Abs(o.Primal-want["objective"]) > 1e-7*want["objective"] ||
				o.Lower() > want["objective"]*(1+1e-12) {
				t.Errorf("P* in [%.12g, %.12g], want %.12g", o.Lower(), o.Primal, want["objective"])
			}
			wrong := wrongRows(p, &o.W)
			expect.That(t, wrong == int(want["errors"]), "%d errors, want %g", wrong, want["errors"])
			norm := math.Sqrt(dot(&o.W, &o.W))
			expect.That(t, near(norm, want["wnorm"], 1e-3), "|W| = %.9g, want %.9g", norm, want["wnorm"])
		})
	}
}

func TestSoftmaxOptimumOnHARWithBias(t *testing.T) {
	takesLong(t)
	want := references(t, "A", "har all rows, bias column l2=0.01")
	set := activities(t)
	expect.NoError(t, (data.Config{Bias: true}).Transform(&data.Split{Train: set, Test: &data.Set{}}))
	p, o := softmaxOptimum(t, data.Pool(set), 0.01)
	if math.Abs(o.Primal-want["objective"]) > 1e-7*want["objective"] || wrongRows(p, &o.W) != int(want["errors"]) {
		t.Errorf("P* = %.12g with %d errors, want %.12g with %g", o.Primal, wrongRows(p, &o.W), want["objective"],
			want["errors"])
	}
}

func TestLocalSoftmaxOptimaOnHAR(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	set := activities(t)
	for _, l2 := range []string{"0.1", "0.01"} {
		t.Run(l2, func(t *testing.T) {
			if l2 != "0.1" {
				takesLong(t)
			}
			want := references(t, "A", "har local no-bias l2="+l2)
			strength := expect.Value(strconv.ParseFloat(l2, 64))(t)
			p, o := softmaxOptimum(t, set, strength/30) // R = lambda m/2 |W|^2
			for k := range p.Clients() {
				task, w := &p.Train.Clients[k], o.W.Row(k)
				own := p.fit(task, w, nil).loss*p.Scale[k] + strength/2*kernel.Dot(w, w)
				f, known := want[fmt.Sprintf("F_k* person %d (%d rows)", k+1, task.X.Rows)]
				expect.That(t, known && own >= f-1e-12 && own <= f+1e-7*o.Primal,
					"F_%d = %.12g, want %.12g", k+1, own, f)
			}
			if sum := want["sum_k F_k*"]; math.Abs(o.Primal-sum) > 1e-7*sum || o.Lower() > sum*(1+1e-12) {
				t.Errorf("P* in [%.12g, %.12g], want %.12g", o.Lower(), o.Primal, sum)
			}
			wrong := wrongRows(p, &o.W)
			expect.That(t, wrong == int(want["errors"]), "%d errors, want %g", wrong, want["errors"])
		})
	}
}

func TestSoftmaxOptimaOnMNIST(t *testing.T) {
	takesLong(t)
	cfg := data.Defaults()
	cfg.Source, cfg.Path, cfg.Target = data.SourceIDX, filetest.Real(t, "mnist"), data.TargetClasses
	split := expect.Value(data.Prepare(cfg))(t)
	for _, c := range []struct {
		name string
		l2   float64
	}{{"0.1", 0.1}, {"0.01", 0.01}} {
		t.Run(c.name, func(t *testing.T) {
			want := references(t, "A", "mnist train global no-bias l2="+c.name)
			p, o := softmaxOptimum(t, split.Train, c.l2)
			if math.Abs(o.Primal-want["objective"]) > 1e-7*want["objective"] ||
				o.Lower() > want["objective"]*(1+1e-12) {
				t.Errorf("P* in [%.12g, %.12g], want %.12g", o.Lower(), o.Primal, want["objective"])
			}
			test := p.fit(&split.Test.Clients[0], o.W.Row(0), nil)
			if wrong := wrongRows(p, &o.W); wrong != int(want["errors"]) || test.miss != want["test_errors"] {
				t.Errorf("%d errors and %g on test rows, want %g and %g", wrong, test.miss, want["errors"],
					want["test_errors"])
			}
		})
	}
}

// The optimum of the hinge loss on the vehicle data lies between the dual and the primal
// value of another program, and has its training errors.
func TestHingeOptimaOnVehicle(t *testing.T) {
	cfg := data.Defaults()
	cfg.Source, cfg.Path = data.SourceLEAF, filetest.Real(t, "vehicle.json")
	set := expect.Value(data.Load(cfg))(t)
	for _, c := range []struct{ name, regularizer string }{{"independent lambda=0.1", RegIndependent},
		{"independent lambda=0.01", RegIndependent}, {"mean lambda=0.1", RegMean}} {
		t.Run(c.name, func(t *testing.T) {
			want := references(t, "B", "vehicle hinge "+c.name)
			cfg := Defaults()
			cfg.Regularizer, cfg.Lambda, cfg.Lambda1, cfg.Lambda2 = c.regularizer, 0.1, 1.15, 1.15
			if c.name == "independent lambda=0.01" {
				cfg.Lambda = 0.01
			}
			p := mustProblem(t, cfg, data.Split{Train: set, Test: set})
			o := p.Solver(testPool, 1e-8, 20_000).Optimize(t.Context(), mustStart(t, p), nil)
			t.Logf("P* = %.12g, relative gap %.2g, %d sweeps", o.Primal, o.RelativeGap, o.Sweeps)
			if o.RelativeGap > 1e-8 || math.Abs(o.Primal-want["primal"]) > 1e-6*want["primal"] ||
				o.Lower() > want["primal"] || o.Primal < want["dual"] {
				t.Errorf("P* in [%.12g, %.12g], relative gap %g, want [%.12g, %.12g]", o.Lower(), o.Primal,
					o.RelativeGap, want["dual"], want["primal"])
			}
			wrong := wrongRows(p, &o.W)
			expect.That(t, wrong == int(want["errors"]), "%d errors, want %g", wrong, want["errors"])
		})
	}
}

// Ridge regression on the columns of the school data as they are, to the closed form.
func TestRidgeOptimaOnSchool(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	cfg := data.Defaults()
	cfg.Source, cfg.Path, cfg.Target = data.SourceMATLAB, filetest.Real(t, "school.mat"), data.TargetReal
	set := expect.Value(data.Load(cfg))(t)
	for _, c := range []struct {
		regularizer, text string
		lambda            float64
	}{{RegIndependent, "0.001", 1e-3}, {RegMean, "0.001", 1e-3}, {RegIndependent, "0.01", 1e-2},
		{RegMean, "0.01", 1e-2}} {
		t.Run(c.regularizer+c.text, func(t *testing.T) {
			want := references(t, "C", "school ridge "+c.regularizer+" lambda="+c.text)
			cfg := Defaults()
			cfg.Loss, cfg.Regularizer, cfg.Lambda = LossSquared, c.regularizer, c.lambda
			cfg.Lambda1, cfg.Lambda2 = c.lambda*139/2, c.lambda*139/2
			p := mustProblem(t, cfg, data.Split{Train: set, Test: set})
			coupling := mustStart(t, p)
			o := p.Solver(testPool, 1e-11, 5000).Optimize(t.Context(), coupling, nil)
			t.Logf("P* = %.13g, relative gap %.2g, %d sweeps", o.Primal, o.RelativeGap, o.Sweeps)
			if o.RelativeGap > 1e-11 || !near(o.Primal, want["objective"], 1e-10) ||
				!near(o.Lower(), want["objective"], 1e-10) {
				t.Errorf("P* in [%.13g, %.13g], want %.13g", o.Lower(), o.Primal, want["objective"])
			}
			sum := 0.0
			for k := range set.Clients {
				sum += p.fit(&set.Clients[k], o.W.Row(k), nil).miss
			}
			rmse := math.Sqrt(sum / float64(set.Rows()))
			expect.That(t, near(rmse, want["rmse"], 1e-6), "RMSE %.10g, want %.10g", rmse, want["rmse"])
			r := coupling.Value(&o.W, nil)
			expect.That(t, near(r, want["regulariser"], 1e-5), "R = %.10g, want %.10g", r, want["regulariser"])
		})
	}
}
