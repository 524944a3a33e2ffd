package calibration

import (
	"math"
	"slices"

	"fedsim/internal/tools/orderstat"
)

// The terms of the time of a computation, in the order of sample.x:
//
//	seconds = s_i (a + b steps + t traffic/1e9 + FLOPs/rate) e.
const (
	taskTerm = iota
	stepTerm
	trafficTerm
	flopTerm
	computeTerms
)

// computeOrder is the order in which terms are identified: what cannot be told apart belongs to
// the first.
var computeOrder = []int{flopTerm, stepTerm, taskTerm, trafficTerm}

// unit is a set of clients with the same constants but for their factors: a class, or one client.
type unit struct {
	class   int
	clients []int // of the table
	model   model
	why     [computeTerms]string // by term: why it is not identified
}

// computeSamples returns the samples of the computations of some clients, which are numbered by
// their place in the list.
func (t *table) computeSamples(clients []int) []sample {
	place := make(map[int]int, len(clients))
	for i, c := range clients {
		place[c] = i
	}
	var samples []sample
	for i := range t.rows {
		r := &t.rows[i]
		c, ok := place[r.client]
		if !ok || !(r.Compute > 0) {
			continue
		}
		samples = append(samples, sample{
			y: r.Compute, client: c, round: r.round,
			x: []float64{1, orZero(r.Steps), orZero(r.TrafficBytes) / 1e9, orZero(r.flops)},
		})
	}
	return samples
}

// usable removes terms that some samples lack.
func usable(samples []sample, order []int) []int {
	return slices.DeleteFunc(slices.Clone(order), func(k int) bool {
		return slices.ContainsFunc(samples, func(v sample) bool { return v.x[k] == 0 })
	})
}

// newUnit returns the unit of some clients with some samples, at least one.
func newUnit(class int, clients []int, samples []sample) *unit {
	order := usable(samples, computeOrder)
	terms := identify(samples, len(clients), order)
	u := &unit{class: class, clients: clients, model: model{terms: terms, clients: len(clients), samples: samples}}
	u.explain(order)
	return u
}

// classUnits returns the unit of all clients of a class, and one for each of them, if each
// identifies the terms of the class and Bayes' information criterion is lower; else nil. ok is
// false if the class has no computations.
func (t *table) classUnits(class int) (shared *unit, own []*unit, ok bool) {
	computes := make([]bool, len(t.clients))
	for i := range t.rows {
		computes[t.rows[i].client] = computes[t.rows[i].client] || t.rows[i].Compute > 0
	}
	var clients []int
	for c := range t.clients {
		if t.clients[c].class == class && computes[c] {
			clients = append(clients, c)
		}
	}
	if len(clients) == 0 {
		return shared, nil, false
	}
	shared = newUnit(class, clients, t.computeSamples(clients))
	if found, better := shared.split(); better {
		own = found
	}
	return shared, own, true
}

// split returns a unit for each client of a unit; better is false if one unit for all is better.
func (u *unit) split() (own []*unit, better bool) {
	if len(u.clients) < 2 || len(u.model.terms) < 2 { // with one term, both are the same model
		return nil, false
	}
	samples := make([][]sample, len(u.clients))
	for _, v := range u.model.samples {
		at := v.client
		v.client = 0
		samples[at] = append(samples[at], v)
	}
	squares, limit := u.model.squares(math.Inf(1))
	for i := range squares {
		squares[i] = min(squares[i], limit*limit)
	}
	var ownSquares []float64
	parameters := 0
	for i, c := range u.clients {
		one := newUnit(u.class, []int{c}, samples[i])
		if !slices.Equal(one.model.terms, u.model.terms) || len(samples[i]) < 2*len(one.model.terms) {
			return nil, false
		}
		own = append(own, one)
		s, _ := one.model.squares(limit)
		ownSquares = append(ownSquares, s...)
		parameters += len(one.model.terms)
	}
	all := len(u.model.terms) + len(u.clients) - 1
	return own, information(ownSquares, parameters) < information(squares, all)
}

// squares returns the squares of relative errors, at most limit^2, and three robust standard
// deviations of the errors.
func (m *model) squares(limit float64) ([]float64, float64) {
	f := m.fit(nil)
	squares, sizes := make([]float64, len(m.samples)), make([]float64, len(m.samples))
	for i := range m.samples {
		e := m.samples[i].y/f.predict(&m.samples[i]) - 1
		squares[i] = min(e*e, limit*limit)
		sizes[i] = math.Abs(e)
	}
	return squares, 3 * 1.4826 * orderstat.Median(sizes)
}

// explain says why terms are not identified. order has the terms that all samples have.
func (u *unit) explain(order []int) {
	kinds := u.kinds()
	columns := [computeTerms]string{taskTerm: "", stepTerm: "steps", trafficTerm: "traffic_bytes", flopTerm: "flops"}
	for k := range computeTerms {
		switch {
		case slices.Contains(u.model.terms, k):
		case !slices.Contains(order, k):
			u.why[k] = "column " + columns[k] + " is empty"
		case kinds == 1:
			u.why[k] = "every attempt of a client has the same work: vary the epochs, the batch size and the model"
		case k == stepTerm:
			u.why[k] = "steps and FLOPs are in proportion: vary the batch size or the model"
		case k == taskTerm:
			u.why[k] = "the kinds of work are too few: vary the epochs, beside the batch size or the model"
		default:
			u.why[k] = "it is in proportion to other terms: vary the batch size, the epochs and the model"
		}
	}
}

// kinds returns the largest number of different kinds of work of a client.
func (u *unit) kinds() int {
	type kind struct {
		client int
		work   [computeTerms]float64
	}
	seen := map[kind]bool{}
	n := make([]int, u.model.clients)
	for _, v := range u.model.samples {
		k := kind{v.client, [computeTerms]float64(v.x)}
		if !seen[k] {
			seen[k] = true
			n[v.client]++
		}
	}
	return slices.Max(n)
}
