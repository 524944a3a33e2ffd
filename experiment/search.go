package experiment

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/config"
	"fedsim/experiment/scenario"
	"fedsim/results"
)

// search finds the winner of a grid: it tries all candidates, then the neighbors of the
// winner, within the grid and beyond.
type search struct {
	job    *job
	tried  []scenario.RunSpec
	values [][]float64 // by option, in increasing order: values of the grid and added ones
	added  [][2]int    // by option: number of values added below and above the grid
	best   float64     // least virtual time to the target; infinite until it is reached
	last   float64     // best last value of the metric without reaching the target; NaN: none
}

func newSearch(j *job) *search {
	s := &search{
		job: j, values: make([][]float64, len(j.Options)), added: make([][2]int, len(j.Options)),
		best: math.Inf(1), last: math.NaN(),
	}
	for i := range j.Options {
		s.values[i] = slices.Clone(j.Options[i].Values)
	}
	return s
}

// winner returns the best candidate so far.
func (s *search) winner() *scenario.RunSpec { return &s.tried[s.job.Winner] }

// note adds the result of a candidate. The first of equally good ones wins.
func (s *search) note(run scenario.RunSpec, x Trial) {
	s.tried = append(s.tried, run)
	metric := s.job.Metric()
	switch {
	case x.Reached:
		if x.TimeS < s.best {
			s.best, s.job.Winner = x.TimeS, len(s.tried)-1
		}
	case !x.GivenUp && math.IsInf(s.best, 1) && metric.Better(x.Last, s.last):
		s.last, s.job.Winner = x.Last, len(s.tried)-1
	}
}

// sides are the ends of the values of an option, by 0 and 1.
var sides = [2]results.Side{results.Lowest, results.Highest}

// next returns a neighbor of the winner that was not tried: one option has the next value
// on a side. ok is false if there is none within the limit of added values.
func (s *search) next() (run scenario.RunSpec, ok bool) {
	for option := range s.values {
		for side := range sides {
			n, ok := s.neighbor(option, side)
			if !ok || n.edge || n.new && s.added[option][side] >= s.job.extend {
				continue
			}
			if slices.ContainsFunc(s.tried, func(run scenario.RunSpec) bool { return run.ID == n.run.ID }) {
				continue
			}
			if n.new {
				s.added[option][side]++
				s.values[option] = append(s.values[option], n.value)
				slices.Sort(s.values[option])
			}
			return n.run, true
		}
	}
	return run, false
}

// edges returns the options in which the winner has no tried value on one side.
func (s *search) edges() []results.Edge {
	var edges []results.Edge
	for option := range s.values {
		for side, name := range sides {
			if n, ok := s.neighbor(option, side); ok && (n.edge || n.new) {
				setting := s.winner().Tuned[option]
				edges = append(edges,
					results.Edge{Key: setting.Key, Value: setting.Value, Side: name, Reason: n.reason})
			}
		}
	}
	return edges
}

// neighbor is the candidate next to the winner in one option, on one side.
type neighbor struct {
	run    scenario.RunSpec
	value  float64
	new    bool   // the value is not in the list
	edge   bool   // the range of the option ends at the winner
	reason string // for the edge
}

// neighbor returns the neighbor of the winner. ok is false if the winner's value has no
// order, and so neither neighbors nor edges. If the method refuses the next value, the
// neighbor has the last value that the method accepts, or a value nearer to a bound that
// the method excludes.
func (s *search) neighbor(option, side int) (n neighbor, ok bool) {
	o, list := &s.job.Options[option], s.values[option]
	x, err := strconv.ParseFloat(s.winner().Tuned[option].Value, 64)
	at := slices.Index(list, x)
	if err != nil || at < 0 {
		return n, false
	}
	scale := newScale(list, at, side, o.Integer)
	n = neighbor{value: scale.next, new: scale.beyond}
	if n.value == x {
		return neighbor{edge: true, reason: "no smaller whole number is positive"}, true
	}
	vary := func(value float64) (err error) {
		n.run, err = s.job.Vary(s.winner(), option, value)
		return err
	}
	refused := vary(n.value)
	if refused == nil {
		return n, true
	}
	last, first := bound(x, n.value, o.Integer, func(value float64) bool { return vary(value) == nil })
	if !o.Integer && shorter(first, last) {
		last = scale.toward(first)
	}
	if last == x {
		return neighbor{edge: true, reason: reason(refused)}, true
	}
	n.value, n.new = last, !slices.Contains(list, last)
	if err := vary(n.value); err != nil {
		return neighbor{edge: true, reason: reason(err)}, true
	}
	return n, true
}

// reason returns why a method refuses a value, without key and value.
func reason(err error) string {
	text := err.Error()
	if list := config.Errors(nil); errors.As(err, &list) && len(list) > 0 {
		text = list[0].Text
	}
	if _, want, ok := strings.Cut(text, ": "); ok {
		return want
	}
	return text
}
