package report

import (
	"html/template"
	"math"

	"fedsim/internal/rooms/clusters/work"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/quote"
)

// SetPlan makes the report that of a plan. Plan is its state without its items.
func (r *Report) SetPlan(s *work.State) {
	brief := *s
	brief.Items, r.Plan = nil, &brief
	r.plan = planned{condition: "no worker", facts: [][2]string{{"groups", s.Groups.String()}},
		html: s.Sections(math.MaxInt, work.Failed, work.Running, work.Stopped, work.Waiting).HTML()}
	switch {
	case s.Complete():
		r.plan.condition = "done, not merged"
		r.plan.html = "<p>All groups are done: <code>fedsim plan merge " +
			template.HTMLEscapeString(quote.Shell(s.Directory)) + "</code> makes the run directory.</p>"
	case s.Workers > 0:
		r.plan.condition = columns.Count(s.Workers, "worker")
	}
	if s.Needs.Total > 0 {
		r.plan.facts = append(r.plan.facts, [2]string{"prerequisites", s.Needs.String()})
	}
	r.plan.facts = append(r.plan.facts, [2]string{"time left", s.Left()})
}
