package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Range is the values of an option that tuning tried.
type Range struct {
	Key    string `json:"key"` // as in Run.Tuned
	Low    string `json:"low"` // empty, as High, for values without an order, such as names
	High   string `json:"high"`
	Values int    `json:"values"` // number of different values
}

// String returns the option with its range: "step 0.001 to 1 (4 values)".
func (r Range) String() string {
	text := strings.TrimPrefix(r.Key, "options.")
	if r.Values == 1 {
		return text + " " + r.Low
	}
	if r.Low != r.High {
		text += " " + r.Low + " to " + r.High
	}
	return fmt.Sprintf("%s (%d values)", text, r.Values)
}

// RangeOf returns the range of an option over values as in Run.Tuned.
func RangeOf(key string, values []string) Range {
	r, ordered := Range{Key: key}, true
	var least, most float64
	var seen []string
	for _, text := range values {
		if slices.Contains(seen, text) {
			continue
		}
		seen = append(seen, text)
		x, err := strconv.ParseFloat(text, 64)
		ordered = ordered && err == nil
		if r.Values == 0 || x < least {
			least, r.Low = x, text
		}
		if r.Values == 0 || x > most {
			most, r.High = x, text
		}
		r.Values++
	}
	if !ordered && r.Values > 1 {
		r.Low, r.High = "", ""
	}
	return r
}

// Searched is what tuning tried for a method of an experiment, over all points.
type Searched struct {
	Experiment string  `json:"experiment"`
	Method     string  `json:"method"`
	Trials     [2]int  `json:"trials"` // fewest and most at a point
	Ranges     []Range `json:"ranges"`
}

// SearchedOf lists what tuning tried, in the order of the runs.
func SearchedOf(runs []Run) []Searched {
	var found []Searched
	for _, group := range groupBy(runs, func(r *Run) string { return r.Experiment + "\n" + r.Method }) {
		s := Searched{Experiment: group[0].Experiment, Method: group[0].Method,
			Trials: [2]int{group[0].Trials, group[0].Trials}}
		for i := range group {
			r := &group[i]
			s.Trials = [2]int{min(s.Trials[0], r.Trials), max(s.Trials[1], r.Trials)}
			for _, x := range r.Searched {
				at := slices.IndexFunc(s.Ranges, func(y Range) bool { return x.Key == y.Key })
				if at < 0 {
					s.Ranges = append(s.Ranges, x)
					continue
				}
				both := RangeOf(x.Key, []string{s.Ranges[at].Low, s.Ranges[at].High, x.Low, x.High})
				both.Values = max(s.Ranges[at].Values, x.Values)
				s.Ranges[at] = both
			}
		}
		if len(s.Ranges) > 0 {
			found = append(found, s)
		}
	}
	return found
}

// searched lists the ranges that tuning searched.
func searched(runs []Run) Section {
	section := Section{Title: "searched by tuning (docs/methods.md#tuning)"}
	for _, s := range SearchedOf(runs) {
		var ranges []string
		for _, r := range s.Ranges {
			ranges = append(ranges, r.String())
		}
		trials := strconv.Itoa(s.Trials[0])
		if s.Trials[1] > s.Trials[0] {
			trials += fmt.Sprintf(" to %d", s.Trials[1])
		}
		section.Notes = append(section.Notes,
			fmt.Sprintf("%s, %s: %s; %s trials", s.Experiment, s.Method, strings.Join(ranges, ", "), trials))
	}
	return section
}
