package plots

import (
	"math"

	"fedsim/internal/tools/rng"
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
		{results.Figure{File: "one", X: "round", Y: "suboptimality", YScale: "log", Series: "method"},
			methodRuns(1)[4:8]},
		errors(),
		odd(),
		long(),
		many(),
		thetas(),
		distributions(),
		accuracies(),
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
	for _, m := range methods[2:] {
		m.method += " with a warm start, a learned relationship between the tasks, and a step that was tuned over " +
			"the whole grid of the appendix"
		for _, where := range []string{"a village in the mountains with a single mast and very many people on holiday",
			"town"} {
			runs = append(runs, m.run(1, 0.6, results.Setting{Key: "place", Value: where}))
		}
	}
	return example{results.Figure{File: "long", Panel: "place", Series: "method", YScale: "log", X: "bytes_up",
		Title: "A title that is much longer than the figure is wide and that does not fit in two lines, " +
			"because it describes the methods, the data, the links, the devices and the seeds of all the runs"}, runs}
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
	return example{results.Figure{File: "many", Title: "Two keys", Series: "method", X: "energy_j", Y: "gap",
		YScale: "log", XMax: 1500, YMin: 1e-2, YMax: 10, Emphasis: "H"}, runs}
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
						x := 0.3 + 0.1*s.Float64()
						if m.method == "MOCHA" {
							x = math.Min(0.9, (0.2+0.8*s.Float64())*(0.4+float64(h)/60))
							if s.Float64() < 0.25 && p != "0" {
								x = 1
							}
						}
						r.Rounds[h].Thetas = append(r.Rounds[h].Thetas, x)
					}
				}
				runs = append(runs, r)
			}
		}
	}
	return example{results.Figure{File: "thetas", Title: "Accuracy of local solves", Panel: "faults.drop_probability",
		Series: "method", X: "round", Y: "theta"}, runs}
}

// distributions has errors by client: two panels, three seeds, few clients without a value,
// and a method that is bad for some clients.
func distributions() example {
	var runs []results.Run
	for _, p := range []string{"0", "0.5"} {
		for k, m := range methods[:3] {
			for seed := uint64(1); seed <= 3; seed++ {
				r := results.Run{Method: m.method, Seed: seed,
					Point: []results.Setting{{Key: "faults.drop_probability", Value: p}}}
				s := rng.New(seed, rng.Synthetic, k, len(p))
				for t := range 30 {
					v := math.Round(60*(0.02+0.03*float64(k)+0.08*s.Float64())) / 60
					if k > 0 && t%5 == 0 {
						v += 0.1 * float64(k)
					}
					if p == "0.5" && k == 1 && t == 3 {
						v = math.NaN()
					}
					r.ByClient = append(r.ByClient,
						results.ClientRow{Client: t, Split: "test", Name: "error", Value: v})
				}
				runs = append(runs, r)
			}
		}
	}
	fig := results.DefaultDistribution()
	fig.File, fig.Title, fig.Panel = "distributions", "Errors of clients", "faults.drop_probability"
	return example{fig, runs}
}

// accuracies has a metric that is better when it is higher, a unit, a cut logarithmic axis,
// and an emphasized method.
func accuracies() example {
	var runs []results.Run
	for _, name := range []string{"a", "b"} {
		r := results.Run{Method: name, Seed: 1,
			Metrics: []results.NamedMetric{{Name: "speed", Better: "higher", Unit: "km/h"}}}
		for t := range 100 {
			r.ByClient = append(r.ByClient,
				results.ClientRow{Client: t, Name: "speed", Value: math.Pow(10, float64(t%(40*len(runs)+20))/25)})
		}
		runs = append(runs, r)
	}
	return example{results.Figure{Kind: results.Distribution, File: "speeds", Y: "speed", XScale: "log", XMax: 100,
		Emphasis: "b"}, runs}
}
