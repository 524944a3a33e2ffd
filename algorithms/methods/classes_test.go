package methods

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// relabeled returns the problem of the same rows with other targets; classes may be nil.
func relabeled(t testing.TB, p *mtl.Problem, classes []string,
	label func(task *data.Client, i int) float64) *mtl.Problem {
	t.Helper()
	train, test := *p.Train, *p.Test
	train.Classes, test.Classes = classes, classes
	train.Clients = slices.Clone(train.Clients)
	for k := range train.Clients {
		task := &train.Clients[k]
		y := make([]float64, len(task.Y))
		for i := range y {
			y[i] = label(task, i)
		}
		task.Y = y
	}
	return mustProblem(t, p.Config, data.Split{Train: &train, Test: &test})
}

var threeClasses = []string{"a", "b", "c"}

// classProblem is randomProblem with three classes: that of the largest of the first three
// features, for three rows in four.
func classProblem(t testing.TB, change func(*mtl.Config), owner []int, sizes ...int) (*mtl.Problem, mtl.Coupling) {
	t.Helper()
	p, _ := randomProblem(t, change, owner, 9, sizes...)
	p = relabeled(t, p, threeClasses, func(task *data.Client, i int) float64 {
		if i%4 == 3 {
			return float64(i / 4 % 3)
		}
		return float64(mtl.Class(task.X.Row(i)[:3]))
	})
	return p, warmed(t, p)
}

// Under a fixed coupling the dual methods, and SGD without projection, learn each class as
// if it were a separate binary problem: the same bits in every round, with drops. SGD adds
// the gradients of several outputs in another order than those of one.
func TestClassesAreLearnedAsBinaryProblems(t *testing.T) {
	methods := map[string]func(algorithms.Options){
		"mocha":   func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = 0.7 },
		"mb-sdca": func(o algorithms.Options) { o.(*algorithms.MbSDCAOptions).Batch = 6 },
		"mb-sgd": func(o algorithms.Options) {
			o.(*algorithms.MbSGDOptions).Batch, o.(*algorithms.MbSGDOptions).Project = 6, false
		},
		"async-mocha": asyncOptions(func(o *AsyncMOCHAOptions) {
			o.Sigma, o.undamped = 0, true
		}),
	}
	for _, v := range []struct {
		name   string
		change func(*mtl.Config)
		owner  []int
	}{
		{"mean", tiedToMean, nil},
		{"independent", untied, nil},
		{"gamma", damped, nil},
		{"shared", tiedToMean, []int{0, 1, 0, 2, 0}},
		{"logistic", func(c *mtl.Config) { tiedToMean(c); c.Loss = mtl.LossLogistic }, nil},
	} {
		p, c := classProblem(t, v.change, v.owner, 14, 5, 30, 8, 21)
		for name, set := range methods {
			t.Run(v.name+"/"+name, func(t *testing.T) {
				all := start(t, name, p, c, set)
				var one []algorithms.Algorithm
				var problems []*mtl.Problem
				for class := range threeClasses {
					binary := relabeled(t, p, nil, func(task *data.Client, i int) float64 {
						if int(task.Y[i]) == class {
							return 1
						}
						return -1
					})
					problems, one = append(problems, binary), append(one, start(t, name, binary, c, set))
				}
				for h := range 12 {
					takesPart := func(k int) bool { return chance(k, h, 0.8) }
					round(all, p, h, algorithms.NoLimit, takesPart)
					w, d := all.Model().W, p.Features
					for class, a := range one {
						round(a, problems[class], h, algorithms.NoLimit, takesPart)
						for t2 := range p.Tasks() {
							for j, x := range a.Model().W.Row(t2) {
								if got := w.Row(t2)[class*d+j]; got != x && (name != "mb-sgd" || !near(got, x, 1e-12)) {
									t.Fatalf("round %d: w_%d[%d] of class %d is %.17g, of the binary problem %.17g", h,
										t2, j, class, got, x)
								}
							}
						}
					}
				}
			})
		}
	}
}

// Every method that supports several classes reaches the optimum, and other numbers for the
// classes permute its weights.
func TestMethodsReachTheOptimumOfSeveralClasses(t *testing.T) {
	for _, v := range []struct {
		name   string
		change func(*mtl.Config)
		owner  []int
	}{
		{"learnt", learnt, nil},
		{"gamma", damped, nil},
		{"shared", tiedToMean, []int{0, 1, 0, 2, 0}},
		{"one model", untied, []int{0, 0, 0, 0, 0}},
	} {
		p, c := classProblem(t, func(c *mtl.Config) { v.change(c); c.Loss = mtl.LossSmoothedHinge }, v.owner, 14, 5, 30,
			8, 21)
		optimum := p.Solver(testPool, 1e-8, 5000).Optimize(t.Context(), c, nil)
		permuted := relabeled(t, p, threeClasses,
			func(task *data.Client, i int) float64 { return float64((int(task.Y[i]) + 1) % 3) })
		for name, set := range map[string]func(algorithms.Options){
			"mocha":       func(o algorithms.Options) { o.(*algorithms.MOCHAOptions).Epochs = 2 },
			"cocoa":       nil,
			"mb-sdca":     func(o algorithms.Options) { o.(*algorithms.MbSDCAOptions).Batch = 30 },
			"async-mocha": func(o algorithms.Options) { o.(*AsyncMOCHAOptions).Epochs = 2 },
			"mb-sgd": func(o algorithms.Options) {
				o.(*algorithms.MbSGDOptions).Batch, o.(*algorithms.MbSGDOptions).Delay = 30, 20
			},
		} {
			t.Run(v.name+"/"+name, func(t *testing.T) {
				rounds, tolerance := 400, 1e-3
				switch name {
				case "mb-sgd":
					rounds, tolerance = 1000, 0.1
				case "mb-sdca":
					rounds = 3000
				}
				a, other := start(t, name, p, c, set), start(t, name, permuted, c, set)
				for h := range rounds {
					round(a, p, h, algorithms.NoLimit, nil)
					if h < 10 {
						round(other, permuted, h, algorithms.NoLimit, nil)
					}
					if h == 9 {
						w, twin, d := a.Model().W, other.Model().W, p.Features
						for t2 := range p.Tasks() {
							for j, x := range w.Row(t2) {
								if got := twin.Row(t2)[(j+d)%p.Values()]; !near(got, x, 1e-9) {
									t.Fatalf("w_%d[%d] = %g, %g under other numbers of the classes", t2, j, x, got)
								}
							}
						}
					}
				}
				o := evaluate(a, p, c)
				if gap := (o.Primal - optimum.Lower()) / optimum.Primal; !(gap <= tolerance) || gap < -1e-9 {
					t.Errorf("P = %g after %d rounds, %.2g above P* = %g", o.Primal, rounds, gap, optimum.Primal)
				}
				expect.That(t, o.TrainError <= 1.5*optimum.TrainError+0.05 && !math.IsNaN(o.TrainError),
					"error %g, at the optimum %g", o.TrainError, optimum.TrainError)
			})
		}
	}
}

// A step of several classes costs and sends as much as the binary problems do.
func TestWorkOfSeveralClasses(t *testing.T) {
	p, c := classProblem(t, tiedToMean, nil, 14, 5, 30)
	for name, want := range map[string]float64{"mocha": 3 * 44, "cocoa": 3 * 44, "mb-sdca": 3 * 44,
		"async-mocha": 3 * 48, "mb-sgd": 3 * 36} {
		a := start(t, name, p, c, nil)
		extra := 0
		if name == "async-mocha" {
			extra = 1
		}
		got := a.Describe().Work.StepFLOPs
		expect.That(t, got == want, "%s: a step takes %g FLOPs, want %g", name, got, want)
		sent, _ := a.Begin()
		expect.That(t, sent.Size == 27, "%s: the server sends %d values, want 27", name, sent.Size)
		if w := a.Solve(request(0, 0, 3, 0)); w.Values != 27+extra || w.Steps != 3 || w.FLOPs > 3*want+2*27*14 ||
			w.FLOPs <= 0 {
			t.Errorf("%s: %s", name, fmt.Sprintf("%+v", w))
		}
	}
}

// A method that resumes from its state learns several classes with the bits of one that was
// never interrupted.
func TestMethodsOfSeveralClassesResume(t *testing.T) {
	for _, loss := range []string{mtl.LossHinge, mtl.LossSoftmax} {
		p, c := classProblem(t, func(c *mtl.Config) { learnt(c); c.Gamma = 0.7 }, []int{0, 1, 0, 2, 0}, 14, 5, 30, 8,
			21)
		p.Config.Loss = loss
		p = relabeled(t, p, threeClasses, func(task *data.Client, i int) float64 { return task.Y[i] })
		for _, name := range learningMethods() {
			if loss == mtl.LossSoftmax && describe(name, p.Shape).Needs.Dual || needsOwnTasks(name) {
				continue
			}
			whole := start(t, name, p, c, smaller)
			play := func(a algorithms.Algorithm, from, to int) {
				for h := from; h < to; h++ {
					round(a, p, h, algorithms.NoLimit, func(k int) bool { return chance(k, h, 0.7) })
				}
			}
			play(whole, 0, 3)
			var kept bytes.Buffer
			whole.(algorithms.Stateful).State(state.Writing(&kept))
			resumed := start(t, name, p, c, smaller)
			resumed.(algorithms.Stateful).State(state.Reading(&kept))
			play(whole, 3, 6)
			play(resumed, 3, 6)
			err := same(snapshot(whole), snapshot(resumed))
			expect.That(t, err == nil && kept.Len() <= 0, "%s with %s: %v, %d bytes left", name, loss, err, kept.Len())
		}
	}
}
