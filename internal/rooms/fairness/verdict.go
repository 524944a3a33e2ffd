package fairness

import (
	"fmt"
	"math"
	"strings"

	"fedsim/internal/tools/columns"
)

// clientsWith describes the clients that are worse if a trait has a positive or a negative
// correlation.
var clientsWith = map[string]struct{ more, less string }{
	compute:  {"the slow (compute %s)", "the fast (compute %s)"},
	rows:     {"the large (rows %s)", "the small (rows %s)"},
	transfer: {"the far away (transfer %s)", "the near (transfer %s)"},
	updates:  {"those with more updates (updates %s)", "those with fewer updates (updates %s)"},
	class:    {"class %[2]s (%[1]s)", ""},
}

// verdict returns a sentence about the clients with the worst values: the traits whose
// correlation reaches the threshold.
func (r *Report) verdict(m *Method) string {
	gap := fmt.Sprintf("%s of the worst 10 %%: %s, of the others: %s", r.Label, r.value(m.Worst.Value),
		r.value(m.Rest.Value))
	if m.Unknown > 0 {
		gap += fmt.Sprintf(" (%s not known)", columns.Count(m.Unknown, "value"))
	}
	switch {
	case m.Clients < 1:
		return fmt.Sprintf("no client of a run has a known %s", r.Label)
	case m.Clients < fewest:
		return fmt.Sprintf("%s; too few clients to say who is left behind", gap)
	case m.Worst.Value == m.Rest.Value: // no trait has a correlation
		return fmt.Sprintf("nobody is left behind: all clients have the same %s", r.Label)
	}
	var found []string
	for _, t := range m.Traits {
		words := clientsWith[t.Name].more
		if t.Rho < 0 {
			words = clientsWith[t.Name].less
		}
		if words != "" && math.Abs(t.Rho) >= m.Threshold {
			if t.Name == class {
				words = fmt.Sprintf(words, signed(t.Rho), t.Class)
			} else {
				words = fmt.Sprintf(words, signed(t.Rho))
			}
			found = append(found, words)
		}
	}
	if len(found) == 0 {
		return fmt.Sprintf("%s; none of these traits explains it: each rank correlation is below %.2f", gap,
			m.Threshold)
	}
	return fmt.Sprintf("%s; left behind are %s", gap, strings.Join(found, ", "))
}

func (r *Report) value(v float64) string { return r.metric.Format(v, r.real) }

func signed(rho float64) string { return fmt.Sprintf("%+.2f", rho) }
