package fairness

import (
	"cmp"
	"math"
	"slices"

	"fedsim/results"
)

// Report compares the clients of an experiment by a metric.
type Report struct {
	Experiment string
	Metric     string // its full name, such as test_error
	Label      string
	Share      bool   // values are shares, shown in per cent
	Unit       string // of the values; empty: none
	Higher     bool   // higher values are better
	Relative   bool
	Methods    []Method

	metric results.Metric
	real   bool
}

// Method is a method at a point of the experiment, with all its seeds.
type Method struct {
	Name      string
	Point     []results.Setting
	Seeds     int
	Clients   int    // with a known value, of the run with the fewest
	Unknown   int    // values of all seeds that are not known
	Rounds    [2]int // lowest and highest last evaluation
	Worst     Group
	Rest      Group
	Threshold float64 // of correlations; null: fewer than five clients
	Traits    []Trait
	Classes   []Class // of the fleet; empty if there are none
	Verdict   string  // a sentence about the clients with the worst values
}

// Group has the number of clients in a run, and the means of their values and traits.
type Group struct {
	Clients   float64
	Value     float64
	Rows      float64 // training rows where they are known
	ComputeS  float64
	TransferS float64
	Updates   float64
}

// Class is a class of the fleet.
type Class struct {
	Name string
	Group
	Worst int // of its clients among the worst, over all seeds
}

// Trait is a trait of clients with its rank correlation.
type Trait struct {
	traitKey
	Rho float64 // null: the trait or the value is the same for all clients, or not known
}

type traitKey struct {
	Name  string // rows, compute_s, transfer_s, updates or class
	Class string // of trait class
}

type client struct {
	class                              string
	value                              float64
	bad                                float64 // the value, negative if higher is better
	rows, computeS, transferS, updates float64
}

// Of analyzes the runs of an experiment that have values by client (results.Run.ByClient) of
// a metric. A report of other runs has no methods.
func Of(runs []results.Run, metric string) *Report {
	r := &Report{Metric: metric}
	var groups [][]*results.Run
	for i := range runs {
		run := &runs[i]
		if len(run.ByClientOf(metric)) == 0 {
			continue
		}
		if len(groups) == 0 {
			r.metric, _ = run.Metric(metric)
			r.Experiment, r.Relative, r.real = run.Experiment, run.Relative, run.Real
		}
		k := slices.IndexFunc(groups, func(g []*results.Run) bool {
			return g[0].Method == run.Method && slices.Equal(g[0].Point, run.Point)
		})
		if k < 0 {
			groups, k = append(groups, nil), len(groups)
		}
		groups[k] = append(groups[k], run)
	}
	r.Label, _ = r.metric.Parts(r.real)
	r.Unit, r.Higher = r.metric.Unit, r.metric.Higher
	r.Share = r.metric.Share && !r.real
	for _, seeds := range groups {
		r.Methods = append(r.Methods, r.method(seeds))
	}
	return r
}

func (r *Report) method(runs []*results.Run) Method {
	m := Method{Name: runs[0].Method, Point: runs[0].Point, Seeds: len(runs)}
	var all [][]client // by run, from the worst
	m.Clients, m.Rounds[0] = math.MaxInt, math.MaxInt
	for _, run := range runs {
		round, clients := r.clients(run, &m)
		m.Rounds = [2]int{min(m.Rounds[0], round), max(m.Rounds[1], round)}
		m.Clients = min(m.Clients, len(clients))
		if len(clients) > 0 {
			all = append(all, clients)
		}
	}
	m.Worst = meanOf(all, func(c []client) []client { return c[:tenth(c)] })
	m.Rest = meanOf(all, func(c []client) []client { return c[tenth(c):] })
	m.addClasses(all)
	m.addTraits(all)
	m.Verdict = r.verdict(&m)
	return m
}

// clients returns the clients of a run with known values, from the worst, and their round.
func (r *Report) clients(run *results.Run, m *Method) (round int, list []client) {
	training := map[int]int{}
	for i := range run.ByClient {
		if x := &run.ByClient[i]; x.Split == "train" && x.Rows != results.UnknownCount {
			training[x.Client] = x.Rows
		}
	}
	for _, x := range run.ByClientOf(r.Metric) {
		round = x.Round
		if math.IsNaN(x.Value) || math.IsInf(x.Value, 0) {
			m.Unknown++
			continue
		}
		c := client{class: x.Class, value: x.Value, bad: x.Value, rows: float64(x.Rows), computeS: x.ComputeS,
			transferS: x.TransferS, updates: float64(x.Updates)}
		if n, ok := training[x.Client]; ok {
			c.rows = float64(n)
		} else if x.Rows == results.UnknownCount {
			c.rows = math.NaN()
		}
		if r.Higher {
			c.bad = -c.bad
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b client) int { return cmp.Compare(b.bad, a.bad) })
	return round, list
}

// tenth returns the number of the worst clients.
func tenth(clients []client) int { return (len(clients) + 9) / 10 }

// meanOf returns the means, over runs, of the means over the selected clients of a run.
func meanOf(runs [][]client, selected func([]client) []client) Group {
	of := func(value func(*client) float64) float64 {
		sum, n := 0.0, 0
		for _, clients := range runs {
			own, known := 0.0, 0
			for _, c := range selected(clients) {
				if v := value(&c); !math.IsNaN(v) {
					own += v
					known++
				}
			}
			if known > 0 {
				sum += own / float64(known)
				n++
			}
		}
		return sum / float64(n)
	}
	g := Group{
		Value: of(func(c *client) float64 { return c.value }), Rows: of(func(c *client) float64 { return c.rows }),
		ComputeS:  of(func(c *client) float64 { return c.computeS }),
		TransferS: of(func(c *client) float64 { return c.transferS }),
		Updates:   of(func(c *client) float64 { return c.updates }),
	}
	for _, clients := range runs {
		g.Clients += float64(len(selected(clients))) / float64(len(runs))
	}
	return g
}

// addClasses sets the classes of the fleet, in the order of their names.
func (m *Method) addClasses(runs [][]client) {
	var names []string
	for _, clients := range runs {
		for i := range clients {
			if name := clients[i].class; name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		of := Class{Name: name, Group: meanOf(runs, func(all []client) (own []client) {
			for _, c := range all {
				if c.class == name {
					own = append(own, c)
				}
			}
			return own
		})}
		for _, clients := range runs {
			for _, c := range clients[:tenth(clients)] {
				if c.class == name {
					of.Worst++
				}
			}
		}
		m.Classes = append(m.Classes, of)
	}
}
