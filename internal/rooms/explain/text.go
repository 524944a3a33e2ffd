package explain

import (
	"cmp"
	"fmt"
	"slices"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/columns"
	"fedsim/results"
)

// shown is the number of devices and of rounds that Sections lists.
const shown = 10

// Sections returns the report. It lists the ten longest rounds and the ten worst stragglers.
func (r *Report) Sections() columns.Sections {
	list := append(columns.Sections{r.about(), r.targets()}, r.costs()...)
	list = append(list, r.path(), r.devices(), r.classes(), r.rounds())
	whatIf := columns.Section{Title: "what if"}
	for _, w := range r.WhatIf {
		whatIf.Notes = append(whatIf.Notes, r.sentence(w))
	}
	list = append(list, whatIf)
	return slices.DeleteFunc(list,
		func(s columns.Section) bool { return s.Title == "" || s.Title == whatIf.Title && s.Notes == nil })
}

// Brief returns which devices were stragglers.
func (r *Report) Brief() columns.Sections {
	list := columns.Sections{r.about(), r.devices(), r.classes()}
	return slices.DeleteFunc(list, func(s columns.Section) bool { return s.Title == "" })
}

// about sums up the run.
func (r *Report) about() columns.Section {
	all := &r.All
	ends := "protocol " + r.Protocol
	if r.Run.Algorithm == scenario.Driven {
		ends = "whose driver ends the rounds"
	}
	rounds := float64(len(r.Rounds))
	return columns.Section{
		Title: fmt.Sprintf("run %s, %s: %s, %s, %s%s\nmean round: %.3g devices selected, %.3g responses used; "+
			"devices waited %s of their time",
			r.ID, ends, columns.Count(len(r.Rounds), "round"), columns.Count(len(r.Devices), "device"), r.time(r.TimeS),
			results.RelativeNote(r.Relative), float64(all.Selected)/rounds, float64(all.Taken)/rounds,
			percent(all.WaitShare))}
}

// section returns a table; the first line holds the headings.
func section(title string, lines [][]string) columns.Section {
	return columns.Section{Title: title, Table: columns.Table{
		Label: lines[0][0], Groups: []columns.Group{{Heads: lines[0][1:]}}, Blocks: []columns.Block{{Rows: lines[1:]}},
	}}
}

func (r *Report) time(t float64) string { return results.TimeText(t, r.Relative) }

func (r *Report) targets() columns.Section {
	if len(r.Targets) == 0 {
		return columns.Section{}
	}
	lines := [][]string{{"target", "rounds", "time", "sent", "energy"}}
	heads := slices.DeleteFunc(results.Heads(),
		func(c *results.Column[results.Round]) bool { return !r.counts(c.Name) })
	for _, c := range heads {
		lines[0] = append(lines[0], c.Head)
	}
	lines[0] = append(lines[0], "largest part")
	for i := range r.Targets {
		x := &r.Targets[i]
		at, largest := &x.AtLeast, "-"
		if x.Reached {
			largest = x.Path.largest(x.TimeS)
		}
		line := []string{x.text, x.Format(results.CountText(at.Rounds)), x.Format(r.time(at.TimeS)),
			x.Format(results.Scaled(at.Bytes, "B")),
			x.Format(results.EnergyText(at.EnergyJ, r.Relative))}
		for _, c := range heads {
			line = append(line, x.Format(results.AmountText(at.Declared[c.Name], c.Unit)))
		}
		lines = append(lines, append(line, largest))
	}
	return section("cost of each target", lines)
}

// counts reports whether the run has a declared cost.
func (r *Report) counts(column string) bool {
	for _, list := range r.Costs {
		if slices.ContainsFunc(list, func(c Cost) bool { return c.Column == column }) {
			return true
		}
	}
	return false
}

// costs returns declared costs by column, the total first.
func (r *Report) costs() (all columns.Sections) {
	for _, d := range results.AllDeclared() {
		list := r.Costs[d.Field]
		if len(list) == 0 {
			continue
		}
		lines := [][]string{{"part", d.Amount, "share"}}
		for _, c := range list {
			lines = append(lines,
				[]string{c.label, results.AmountText(c.value, d.Columns[0].Unit),
					percent(share(c.value, list[0].value))})
		}
		all = append(all, section(d.Title, lines))
	}
	return all
}

// Parts returns the parts of a path with their names. Computing is two: the FLOPs, and the
// overheads.
func (p *Path) Parts() []Part {
	return []Part{
		{"downlink", p.DownlinkS}, {"compute", max(0, p.ComputeS-p.OverheadS)}, {"overhead", p.OverheadS},
		{"uplink", p.UplinkS}, {"polls", p.PollS}, {"waiting", p.WaitS}, {"unavailable", p.UnavailableS},
		{"depleted", p.DepletedS}, {"clock", p.ClockS}, {"server", p.ServerS},
	}
}

// Part is a named part of a path.
type Part struct {
	Name string
	S    float64 // seconds
}

func (r *Report) path() columns.Section {
	lines := [][]string{{"part", "time", "share"}}
	for _, part := range r.Path.Parts() {
		if part.S > 0 {
			lines = append(lines, []string{part.Name, r.time(part.S), percent(share(part.S, r.TimeS))})
		}
	}
	return section("time along the responses that ended the rounds", lines)
}

func (r *Report) devices() columns.Section {
	order := r.Stragglers()
	order = order[:min(shown, len(order))]
	heading := "stragglers"
	if r.All.Ended == 0 {
		heading = "slowest devices (no round ended with a response)"
		if slices.ContainsFunc(r.Rounds, func(x RoundAnalysis) bool { return x.Cause == Unknown }) {
			heading = "slowest devices (no round is known to have ended with a response)"
		}
	}
	lines := [][]string{append([]string{"device"}, heads...)}
	classes := len(r.Classes) > 0
	if classes {
		lines[0] = slices.Insert(lines[0], 1, "class")
	}
	for _, client := range order {
		d := &r.Devices[client]
		line := append([]string{d.label()}, r.cells(&d.Total)...)
		if classes {
			line = slices.Insert(line, 1, d.Class)
		}
		lines = append(lines, line)
	}
	return section(fmt.Sprintf("%s: %d of %s", heading, len(order), columns.Count(len(r.Devices), "device")), lines)
}

func (r *Report) classes() columns.Section {
	if len(r.Classes) == 0 {
		return columns.Section{}
	}
	lines := [][]string{append([]string{"class", "devices"}, heads...)}
	for i := range r.Classes {
		c := &r.Classes[i]
		lines = append(lines, append([]string{c.Name, fmt.Sprint(c.Devices)}, r.cells(&c.Total)...))
	}
	return section("by class", lines)
}

// heads are the headings of cells.
var heads = []string{"ended", "later by", "response", "used", "late", "dropped", "waited"}

func (r *Report) cells(t *Total) []string {
	later := "-"
	if t.Ended > 0 {
		later = r.time(t.ExcessS)
	}
	return []string{
		fmt.Sprint(t.Ended), later, r.time(t.ResponseS),
		fmt.Sprint(t.Taken), fmt.Sprint(t.Late), fmt.Sprint(t.Dropped), percent(t.WaitShare),
	}
}

func (r *Report) rounds() columns.Section {
	longest := slices.Clone(r.Rounds)
	slices.SortStableFunc(longest, func(x, y RoundAnalysis) int { return cmp.Compare(y.LengthS, x.LengthS) })
	longest = longest[:min(shown, len(longest))]
	lines := [][]string{{"round", "length", "ended by", "later by", "used", "largest part"}}
	for i := range longest {
		x := &longest[i]
		by, later := string(x.Cause), "-"
		if x.Device >= 0 {
			by, later = "device "+r.Devices[x.Device].label(), r.time(x.ExcessS)
		}
		lines = append(lines, []string{
			fmt.Sprint(x.Round), r.time(x.LengthS), by, later, fmt.Sprint(x.Taken),
			x.Path.largest(x.LengthS),
		})
	}
	return section(fmt.Sprintf("longest rounds: %d of %d", len(longest), len(r.Rounds)), lines)
}

// largest returns the name of the largest part of a path and its share.
func (p *Path) largest(seconds float64) string {
	most := slices.MaxFunc(p.Parts(), func(p, q Part) int { return cmp.Compare(p.S, q.S) })
	return fmt.Sprintf("%s %s", most.Name, percent(share(most.S, seconds)))
}

// sentence describes an estimate for the run.
func (r *Report) sentence(w *WhatIf) string {
	change := fmt.Sprintf("with a deadline of %s", r.time(w.DeadlineS))
	if len(w.Removed) > 0 {
		change = "without the slowest device, "
		if len(w.Removed) > 1 {
			change = fmt.Sprintf("without the %d slowest devices, ", len(w.Removed))
		}
		change += listed(w.Removed)
	}
	return fmt.Sprintf("%s, protocol %s: %s instead of %s (%s); %d responses instead of %d",
		change, w.Protocol, r.time(w.TimeS), r.time(r.TimeS), percent(share(w.TimeS, r.TimeS)), w.Responses, w.Baseline)
}

// listed lists device numbers, at most the first ten.
func listed(devices []int) string {
	text := ""
	for i, client := range devices {
		if i == shown {
			return fmt.Sprintf("%s and %d more", text, len(devices)-shown)
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(client)
	}
	return text
}

// share returns part / whole, or 0 if whole is 0.
func share(part, whole float64) float64 {
	if whole > 0 {
		return part / whole
	}
	return 0
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }
