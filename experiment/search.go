package experiment

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/config"
	"fedsim/results"
	"fedsim/scenarios"
)

// search looks for the winner of a grid: all of its candidates first, then the
// neighbors of the winner, those beyond the grid among them.
type search struct {
	job    *job
	tried  []scenarios.Run
	values [][]float64 // by option, in increasing order: those of the grid and those that were added
	added  [][2]int    // by option: how many were added below and above the grid
	metric results.Metric
	best   float64 // least virtual time to the target; infinite until it is reached
	last   float64 // best value of the metric at the end of those that did not reach it; NaN until there is one
}

func newSearch(j *job) *search {
	s := &search{
		job: j, values: make([][]float64, len(j.Options)), added: make([][2]int, len(j.Options)),
		best: math.Inf(1), last: math.NaN(),
	}
	s.metric, _ = results.MetricNamed(j.Target.Metric)
	for i := range j.Options {
		s.values[i] = slices.Clone(j.Options[i].Values)
	}
	return s
}

// winner returns the best candidate so far.
func (s *search) winner() *scenarios.Run { return &s.tried[s.job.Winner] }

// note takes how a candidate did. Of two that are as good the one tried first wins.
func (s *search) note(run scenarios.Run, x Trial) {
	s.tried = append(s.tried, run)
	switch {
	case x.Reached:
		if x.TimeS < s.best {
			s.best, s.job.Winner = x.TimeS, len(s.tried)-1
		}
	case !x.GivenUp && math.IsInf(s.best, 1) && s.metric.Better(x.Last, s.last):
		s.last, s.job.Winner = x.Last, len(s.tried)-1
	}
}

// sides are the ends of the values of an option, by 0 and 1.
var sides = [2]results.Side{results.Lowest, results.Highest}

// next returns a neighbor of the winner that was not tried: in one option it has the
// next value on a side, all else is the same. ok is false when there is none, or none
// that the limit of the grid allows.
func (s *search) next() (run scenarios.Run, ok bool) {
	for option := range s.values {
		for side := range sides {
			n, ok := s.neighbor(option, side)
			if !ok || n.edge || n.new && s.added[option][side] >= s.job.extend {
				continue
			}
			if slices.ContainsFunc(s.tried, func(run scenarios.Run) bool { return run.ID == n.run.ID }) {
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
				edges = append(edges, results.Edge{Key: setting.Key, Value: setting.Value, Side: name, Reason: n.reason})
			}
		}
	}
	return edges
}

// neighbor is what lies beside the winner in one option, on one side.
type neighbor struct {
	run    scenarios.Run
	value  float64
	new    bool   // the value is none that was tried
	edge   bool   // there is no neighbor:
	reason string // why
}

// neighbor returns what lies beside the winner; ok is false for a value that is none
// of the option's order, and so has neither neighbors nor edges. Where the method refuses the next
// value, it is the last one that it takes, or one closer to a bound that it comes
// close to and never takes.
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
