package plots

import (
	"math"

	"fedsim/internal/rng"
	"fedsim/results"
)

// example is a figure with its runs and a golden image in testdata.
type example struct {
	fig  results.Figure
	runs []results.Run
}

func cases() []example {
	return []example{
		{methodFigure(), methodRuns(3)},
		{faultFigure(), faultRuns(3)},
		{results.Figure{File: "one", X: "round", Y: "suboptimality", YScale: "log", Series: "method"}, methodRuns(1)[4:8]},
		errors(),
		odd(),
		long(),
		many(),
		thetas(),
	}
}

// errors has a linear vertical axis, a logarithmic horizontal axis and two rows of panels.
func errors() example {
	var runs []results.Run
	for i, n := range []string{"10", "30", "100", "300", "1000"} {
		for seed := uint64(1); seed <= 3; seed++ {
			for _, m := range methods[:2] {
				runs = append(runs, m.run(seed, 0.4*float64(i+1), results.Setting{Key: "data.tasks", Value: n}))
			}
		}
	}
	return example{results.Figure{File: "errors", Title: "Error of prediction", Panel: "data.tasks", Series: "method",
		X: "time_s", Y: "test_error", XScale: "log"}, runs}
}

// odd has panels of runs with little data.
func odd() example {
	full := methods[0].run(1, 0.6)
	change := func(label string, f func(*results.Run)) results.Run {
		r := full
		r.Point = []results.Setting{{Key: "kind", Value: label}}
		r.Rounds = append([]results.Round(nil), r.Rounds...)
		f(&r)
		return r
	}
	return example{results.Figure{File: "odd", Title: "Odd runs", Panel: "kind", YScale: "log"}, []results.Run{
		change("no round", func(r *results.Run) { r.Rounds = nil }),
		change("not a number", func(r *results.Run) {
			for i := range r.Rounds {
				r.Rounds[i].Suboptimality = math.NaN()
			}
		}),
		change("a single point", func(r *results.Run) { r.Rounds = r.Rounds[:1] }),
		change("one round", func(r *results.Run) { r.Rounds = r.Rounds[:2] }),
		change("falls to zero", func(r *results.Run) {
			for i := range r.Rounds {
				if i >= 100 {
					r.Rounds[i].Suboptimality = -1e-12
				}
			}
		}),
		change("evaluated at times", func(r *results.Run) {
			for i := range r.Rounds {
				if i%40 != 0 {
					r.Rounds[i].Suboptimality = math.NaN()
				}
			}
		}),
	}}
}

// long has names and titles that are too long.
func long() example {
	var runs []results.Run
	for _, m := range methods {
		m.method += " with a warm start, a learned relationship between the tasks, and a step that was tuned over the whole grid of the appendix"
		for _, where := range []string{"a village in the mountains with a single mast and very many people on holiday", "town"} {
			runs = append(runs, m.run(1, 0.6, results.Setting{Key: "place", Value: where}))
		}
	}
	return example{results.Figure{File: "long", Panel: "place", Series: "method", YScale: "log", X: "bytes_up",
		Title: "A title that is much longer than the figure is wide and that does not fit in two lines, because it describes the methods, the data, the links, the devices and the seeds of all the runs"}, runs}
}

// many has more methods than colors, an emphasized and an interrupted one, axis limits, and
// a key that is neither panel nor series.
func many() example {
	var runs []results.Run
	for i, name := range []string{"A", "B", "C", "D", "E", "H"} {
		for _, step := range []string{"0.1", "1"} {
			m := race{name, name, 0, 0.01 * float64(i+1), 0, 0, 300}
			if step == "1" {
				m.rate *= 1.5
			}
			for seed := uint64(1); seed <= 2; seed++ {
				r := m.run(seed, 1e-3, results.Setting{Key: "solver.step_size", Value: step})
				if name == "C" && seed == 2 {
					r.Status, r.Rounds = results.Interrupted, r.Rounds[:60]
				}
				runs = append(runs, r)
			}
		}
	}
	return example{results.Figure{File: "many", Title: "Two keys", Series: "method", X: "energy_j", Y: "gap", YScale: "log", XMax: 1500, YMin: 1e-2, YMax: 10, Emphasis: "H"}, runs}
}

// thetas has values per device in every second round: with a wide distribution and
// dropouts for MOCHA, with a narrow one for CoCoA.
func thetas() example {
	var runs []results.Run
	for _, p := range []string{"0", "0.25"} {
		for _, m := range []race{methods[0], methods[1]} {
			for seed := uint64(1); seed <= 3; seed++ {
				r := m.run(seed, 0.6, results.Setting{Key: "faults.drop_probability", Value: p})
				r.Rounds = r.Rounds[:40]
				for h := range r.Rounds {
					if h == 0 || h%2 == 1 {
						continue
					}
					s := rng.New(seed, rng.Synthetic, len(m.method), h)
					for range 20 {
						x := results.Theta{Value: 0.3 + 0.1*s.Float64(), Accepted: true}
						if m.method == "MOCHA" {
							x.Value = math.Min(0.9, (0.2+0.8*s.Float64())*(0.4+float64(h)/60))
							if s.Float64() < 0.25 && p != "0" {
								x = results.Theta{Value: 1}
							}
						}
						r.Rounds[h].Thetas = append(r.Rounds[h].Thetas, x)
					}
				}
				runs = append(runs, r)
			}
		}
	}
	return example{results.Figure{File: "thetas", Title: "Accuracy of local solves", Panel: "faults.drop_probability", Series: "method",
		X: "round", Y: "theta"}, runs}
}
