package mtl

import (
	"fmt"
	"math"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
	"fedsim/internal/tools/rng"
)

// severalClasses gives the rows of both halves class numbers: each class occurs in a task,
// and one row in two has the class of a direction of the whole set.
func severalClasses(split data.Split, classes int) data.Split {
	names := make([]string, classes)
	for c := range names {
		names[c] = fmt.Sprint("class ", c)
	}
	for _, set := range []*data.Set{split.Train, split.Test} {
		set.Classes = names
		directions := randomMatrix(99, classes, set.Features)
		for t := range set.Clients {
			task := &set.Clients[t]
			draw := rng.New(98, rng.Synthetic, t, 0)
			scores := make([]float64, classes)
			for i := range task.Y {
				for c := range scores {
					scores[c] = task.X.Dot(i, directions.Row(c))
				}
				task.Y[i] = float64(Class(scores))
				if draw.IntN(2) == 0 || i < classes {
					task.Y[i] = float64((i + t) % classes)
				}
			}
		}
	}
	return split
}

// expand returns the set of labels -1 and +1 that one-vs-rest stands for: row (i, c), at
// i C + c, has x_i in block c of the features.
func expand(set *data.Set) *data.Set {
	outputs, d := set.Outputs(), set.Features
	out := *set
	out.Classes, out.Features, out.Clients = nil, outputs*d, nil
	for t := range set.Clients {
		task := &set.Clients[t]
		n := task.X.Rows
		wide := data.Client{Name: task.Name, X: data.NewMatrix(n*outputs, outputs*d), Y: make([]float64, n*outputs)}
		for i := range n {
			for c := range outputs {
				copy(wide.X.Row(i*outputs + c)[c*d:], task.X.Values(i, make([]float64, d)))
				wide.Y[i*outputs+c] = -1
				if int(task.Y[i]) == c {
					wide.Y[i*outputs+c] = 1
				}
			}
		}
		out.Clients = append(out.Clients, wide)
	}
	return &out
}

// expanded returns a problem and the binary one of its blocks. The scale of a device's rows
// is that of the original rows.
func expanded(t testing.TB, cfg Config, split data.Split) (*Problem, *Problem) {
	t.Helper()
	p := mustProblem(t, cfg, split)
	wide := mustProblem(t, cfg, data.Split{Train: expand(split.Train), Test: expand(split.Test)})
	copy(wide.Scale, p.Scale)
	return p, wide
}

func close(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	expect.Must(t, len(got) == len(want), "%s has %d values, the expansion %d", what, len(got), len(want))
	for i := range got {
		expect.Must(t, near(got[i], want[i], tolerance),
			"%s[%d] = %.17g, the expansion has %.17g", what, i, got[i], want[i])
	}
}

// One-vs-rest has the dual variables, iterates, P, D, W, subproblems and theta of the binary
// problem with a block of features for each class.
func TestOneVsRestIsABlockProblem(t *testing.T) {
	racetest.Skip(t, "compares numbers; shorter tests solve in parallel")
	for _, r := range penalties {
		for _, loss := range ScoreLosses() {
			t.Run(r.name+"/"+loss, func(t *testing.T) {
				cfg := Defaults()
				r.configure(&cfg)
				cfg.Loss = loss
				p, wide := expanded(t, cfg, severalClasses(randomSplit(3, 5, 14, 9, 12), 3))
				c := r.coupling(t, p)
				expect.Must(t, p.Values() == 15 && p.Outputs == 3 && wide.Values() == 15,
					"%d values of %d outputs, %d of the expansion", p.Values(), p.Outputs, wide.Values())
				duals, other := p.NewDuals(), wide.NewDuals()
				w := p.NewWeights()
				for round := range 3 {
					for k := range p.Clients() {
						curvature := p.SigmaPrime(c)[k] * c.Diag(k)
						u, twin := append([]float64(nil), w.Row(k)...), append([]float64(nil), w.Row(k)...)
						var order Order
						order.Reset(p.Train.Clients[k].X.Rows, rng.New(1, rng.Solve, k, round))
						visits := order
						visits.rows = append([]int32(nil), order.rows...)
						const steps = 33
						moved := p.Subproblem(k, curvature).SDCA(duals.Alpha[k], u, &order, steps)
						for range steps {
							i := visits.Next()
							for class := range 3 {
								moved -= wide.Subproblem(k, curvature).Step(other.Alpha[k], twin, 3*i+class)
							}
						}
						expect.That(t, moved == 0, "%d more coordinates moved", moved)
						close(t, "alpha", duals.Alpha[k], other.Alpha[k], 1e-12)
						close(t, "u", u, twin, 1e-12)
						before := make([]float64, len(duals.Alpha[k]))
						dv := make([]float64, p.Values())
						got := p.Subproblem(k, curvature).Evaluate(duals.Alpha[k], u, w.Row(k), dv)
						want := wide.Subproblem(k, curvature).Evaluate(other.Alpha[k], twin, w.Row(k), dv)
						close(t, "subproblem", []float64{got.Value, got.Gap}, []float64{want.Value, want.Gap}, 1e-10)
						if round == 0 { // from alpha = 0 = w
							half := append([]float64(nil), duals.Alpha[k]...)
							for j := range half {
								half[j] /= 2
							}
							theta := p.Subproblem(k, curvature).Theta(before, half, w.Row(k))
							if twin := wide.Subproblem(k, curvature).Theta(before, half, w.Row(k)); !near(theta, twin,
								1e-6) || theta <= 0 {
								t.Errorf("theta = %g, that of the expansion %g", theta, twin)
							}
						}
					}
					p.RecomputeV(testPool, duals)
					wide.RecomputeV(testPool, other)
					close(t, "V", duals.V.Data, other.V.Data, 1e-12)
					c.Primal(&w, &duals.V)
					o, twin := p.Evaluate(testPool, c, &w, &duals.V, duals.Alpha),
						wide.Evaluate(testPool, c, &w, &other.V, other.Alpha)
					close(t, "objective", []float64{o.Primal, o.Dual, o.Gap},
						[]float64{twin.Primal, twin.Dual, twin.Gap}, 1e-11)
					expect.That(t, o.Gap >= -1e-12*math.Abs(o.Primal), "weak duality: the gap is %g", o.Gap)
				}
				o, twin := p.Solver(testPool, 1e-8, 20_000).Optimize(t.Context(), c, nil),
					wide.Solver(testPool, 1e-8, 20_000).Optimize(t.Context(), c, nil)
				expect.Must(t, o.RelativeGap <= 1e-8 && twin.RelativeGap <= 1e-8,
					"relative gaps %g and %g", o.RelativeGap, twin.RelativeGap)
				close(t, "optimum", []float64{o.Primal, o.Constant}, []float64{twin.Primal, twin.Constant}, 1e-7)
				close(t, "W*", o.W.Data, twin.W.Data, 1e-3)
			})
		}
	}
}

// The error of several classes is that of the largest score, the lowest class among equals.
func TestErrorsOfSeveralClasses(t *testing.T) {
	train := &data.Set{Name: "four rows", Features: 2, Classes: []string{"a", "b", "c"}}
	task := data.Client{Name: "one", X: data.NewMatrix(4, 2), Y: []float64{0, 1, 2, 2}}
	copy(task.X.Row(0), []float64{1, 0})
	copy(task.X.Row(1), []float64{0, 1}) // a tie of classes 0 and 1
	copy(task.X.Row(2), []float64{1, 1})
	copy(task.X.Row(3), []float64{-1, 0})
	train.Clients = []data.Client{task}
	p := mustProblem(t, Defaults(), data.Split{Train: train, Test: train})
	w := p.NewWeights()
	copy(w.Row(0), []float64{3, 1, 1, 1, 2, 1.5}) // scores: 3 1 2, 1 1 1.5, 4 2 3.5, -3 -1 -2
	o := p.Evaluate(testPool, mustStart(t, p), &w, nil, nil)
	expect.That(t, o.TrainError == 0.75 && o.TestError == 0.75, "errors %g and %g, want 3/4", o.TrainError, o.TestError)
	if got := []int{Class([]float64{2, 2, 1}), Class([]float64{1, 2, 2}), Class([]float64{0})}; got[0] != 0 ||
		got[1] != 1 || got[2] != 0 {
		t.Errorf("classes %v of ties, want the lowest", got)
	}
}

// A row of several moved coordinates counts once; the cost of steps counts coordinates.
func TestMovedRows(t *testing.T) {
	p := mustProblem(t, Defaults(), severalClasses(randomSplit(6, 4, 5, 6), 3))
	before, after := p.NewBlocks()[0], p.NewBlocks()[0]
	after[3], after[5], after[12] = 1, -1, 1
	rows := p.moved(nil, before, after)
	expect.That(t, len(rows) == 2 && rows[0] == 1 && rows[1] == 4, "rows %v moved, want 1 and 4", rows)
	if all, some := p.SDCAFLOPs(5, 15), p.SDCAFLOPs(5, 4); all != 5*p.StepFLOPs() || all != 15*24 ||
		some != 4*24+11*16 {
		t.Errorf("5 steps take %g and %g FLOPs", all, some)
	}
	expect.That(t, p.RowFLOPs() == 48, "the gradient of a row takes %g FLOPs, want 48", p.RowFLOPs())
}

// Under a coupling that all share, the classes are binary problems of their own.
func TestOneVsRestIsTheBinaryProblems(t *testing.T) {
	for _, r := range penalties[:2] {
		t.Run(r.name, func(t *testing.T) {
			cfg := Defaults()
			r.configure(&cfg)
			split := severalClasses(randomSplit(4, 6, 20, 15, 25), 4)
			p := mustProblem(t, cfg, split)
			c := mustStart(t, p)
			all := p.Solver(testPool, 1e-9, 20_000).Optimize(t.Context(), c, nil)
			sum, d := 0.0, p.Features
			for class := range 4 {
				train := *split.Train
				train.Classes, train.Clients = nil, nil
				for _, task := range split.Train.Clients {
					labels := make([]float64, len(task.Y))
					for i, y := range task.Y {
						labels[i] = -1
						if int(y) == class {
							labels[i] = 1
						}
					}
					task.Y = labels
					train.Clients = append(train.Clients, task)
				}
				one := mustProblem(t, cfg, data.Split{Train: &train, Test: &data.Set{}})
				o := one.Solver(testPool, 1e-9, 20_000).Optimize(t.Context(), c, nil)
				sum += o.Primal
				for task := range p.Tasks() {
					close(t, "w", all.W.Row(task)[class*d:(class+1)*d], o.W.Row(task), 1e-4)
				}
			}
			expect.That(t, near(all.Primal, sum, 1e-8),
				"P* = %.12g, the sum over the classes is %.12g", all.Primal, sum)
		})
	}
}
