package command

import (
	"fmt"
	"io"
	"strings"

	"fedsim/internal/clusters/plan"
	"fedsim/internal/columns"
	"fedsim/internal/plainjson"
)

// planJSON is a plan with its totals in JSON (docs/json.md).
type planJSON struct {
	TimeS       float64    `json:"time_s"`
	MemoryBytes float64    `json:"memory_bytes"`
	Plan        *plan.Plan `json:"plan"`
}

// showPlan prints prerequisites, groups and totals of a plan.
func showPlan(out io.Writer, p *plan.Plan, asJSON bool) error {
	total := p.Total()
	if asJSON {
		return plainjson.Print(out, planJSON{total.TimeS, total.MemoryBytes, p})
	}
	var b strings.Builder
	table := func(label, last string, rows [][]string) {
		if len(rows) == 0 {
			return
		}
		t := columns.Table{Label: label, Groups: []columns.Group{{Heads: []string{"runs", "time", "memory", "needs"}}, {Heads: []string{last}, Left: true}}, Blocks: []columns.Block{{Rows: rows}}}
		t.Write(&b, columns.Width)
		b.WriteByte('\n')
	}
	row := func(id string, runs int, c plan.Cost, needs int, name string) []string {
		const width = 26 // of the names in a line of 80 characters
		cells := []string{id, fmt.Sprint(runs), planTime(c.TimeS), humanBytes(c.MemoryBytes), fmt.Sprint(needs), strings.TrimSpace(fit("", name, width))}
		if runs == 0 { // a prerequisite or a table
			cells[1] = ""
		}
		if c == (plan.Cost{}) {
			cells[2], cells[3] = "", ""
		}
		return cells
	}
	var needs, groups [][]string
	for _, n := range p.Needs() {
		needs = append(needs, row(n.ID, 0, n.Cost, len(n.Needs), n.Kind+" "+strings.Join(n.Of, " ")))
	}
	for _, g := range p.Groups() {
		groups = append(groups, row(g.ID, len(g.Runs()), g.Cost, len(g.Needs), g.Subject()))
	}
	table("prerequisite", "of", needs)
	table("group", "of", groups)
	fmt.Fprintf(&b, "%s: %s in %s, %s\n", p.Name, count(p.Runs, "run"), count(len(p.Groups()), "group"), count(len(p.Needs()), "prerequisite"))
	fmt.Fprintf(&b, "estimate: %s on one core, at most %s of memory for a process\n", planTime(total.TimeS), humanBytes(total.MemoryBytes))
	_, err := io.WriteString(out, b.String())
	return err
}

// planTime formats an estimated time.
func planTime(seconds float64) string {
	if seconds < 10 {
		return fmt.Sprintf("%.2g s", seconds)
	}
	return rounded(seconds).String()
}
