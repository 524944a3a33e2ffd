package results

import (
	"fmt"
	"strings"
)

// Edge is an option whose tuned value is the lowest or the highest value tried. A better
// value may lie beyond, unless Reason says why not.
type Edge struct {
	Key    string `json:"key"` // as in Run.Tuned
	Value  string `json:"value"`
	Side   Side   `json:"side"`
	Reason string `json:"reason,omitempty"` // why the range of the option ends there; empty: it continues
}

// Side is an end of the values of an option.
type Side string

const (
	Lowest  Side = "lowest"
	Highest Side = "highest"
)

// String returns the option, its value and the side.
func (e Edge) String() string {
	text := fmt.Sprintf("%s = %s, the %s ", strings.TrimPrefix(e.Key, "options."), e.Value, e.Side)
	if e.Reason == "" {
		return text + "that was tried"
	}
	return text + "there is: " + e.Reason
}

// TunedEdges are the edges of a tuned method at a point of an experiment.
type TunedEdges struct {
	Experiment string    `json:"experiment"`
	Method     string    `json:"method"`
	Point      []Setting `json:"point"`
	Edges      []Edge    `json:"edges"`
}

// EdgesOf lists the methods and points with edges, in the order of the runs.
func EdgesOf(runs []Run) []TunedEdges {
	var found []TunedEdges
	of := func(r *Run) string { return r.Experiment + "\n" + r.Method + "\n" + SettingsText(r.Point) }
	for _, seeds := range groupBy(runs, of) {
		if r := &seeds[0]; len(r.Edges) > 0 {
			found = append(found, TunedEdges{r.Experiment, r.Method, r.Point, r.Edges})
		}
	}
	return found
}

// edges lists the tuned values at an edge, or counts many of them.
func edges(runs []Run, all bool) Section {
	s, n := Section{Title: "tuned to an edge of the values tried (docs/methods.md#tuning)"}, 0
	for _, x := range EdgesOf(runs) {
		of := x.Experiment + ", " + x.Method
		if len(x.Point) > 0 {
			of += ", " + SettingsText(x.Point)
		}
		var edges []string
		for _, e := range x.Edges {
			edges = append(edges, e.String())
			n++
		}
		s.Notes = append(s.Notes, of+": "+strings.Join(edges, "; "))
	}
	if n > 3 && !all {
		s.Notes = []string{fmt.Sprintf("%d options (--all)", n)}
	}
	return s
}
