package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/columns"
	"fedsim/results"
)

// shown is the number of devices and of rounds that Sections lists.
const shown = 10

// Sections returns the report. It lists the ten longest rounds and the ten worst stragglers.
func (r *Report) Sections() columns.Sections {
	list := append(columns.Sections{r.about(), r.targets()}, r.costs()...)
	list = append(list, r.path(), r.shared(), r.devices(), r.classes(), r.rounds())
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
	list := columns.Sections{r.about(), r.shared(), r.devices(), r.classes()}
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

// Parts returns the parts of a path with their names. Computing is three: the FLOPs, those at less than the usual
// speed, and the overheads. A transfer is two: alone, and what it shares links longer.
func (p *Path) Parts() []Part {
	flops := max(0, p.ComputeS-p.OverheadS)
	throttled := float64(flops * share(p.ThrottledS, p.ComputeS))
	return []Part{
		{"downlink", p.DownlinkS - p.DownSharedS}, {"downlink shared", p.DownSharedS},
		{"compute", flops - throttled}, {"throttled", throttled}, {"overhead", p.OverheadS},
		{"uplink", p.UplinkS - p.UpSharedS}, {"uplink shared", p.UpSharedS}, {"polls", p.PollS},
		{"waiting", p.WaitS}, {"unavailable", p.UnavailableS}, {"depleted", p.DepletedS}, {"clock", p.ClockS},
		{"server", p.ServerS},
	}
}

// Part is a named part of a path.
type Part struct {
	Name string
	S    float64 // seconds
}

// Where returns the parts of the time along the responses that ended the rounds. If deadlines ended them all, which
// says nothing, it returns those of the time of the devices, in the mean.
func (r *Report) Where() (parts []Part, devices bool) {
	if !r.ends(Deadline) {
		return r.Path.Parts(), false
	}
	parts = (&Path{Activities: r.All.Activities}).Parts()
	for i := range parts {
		parts[i].S /= float64(len(r.Devices))
	}
	return parts, true
}

func (r *Report) path() columns.Section {
	parts, devices := r.Where()
	title := "time along the responses that ended the rounds"
	if devices {
		title = "time of the devices, mean"
	}
	lines := [][]string{{"part", "time", "share"}}
	for _, part := range parts {
		if part.S > 0 {
			lines = append(lines, []string{part.Name, r.time(part.S), percent(share(part.S, r.TimeS))})
		}
	}
	return section(title, lines)
}

// shared names the shared links that delayed rounds.
func (r *Report) shared() columns.Section {
	if len(r.Shared) == 0 {
		return columns.Section{}
	}
	lines := [][]string{{"shared link", "Mbit/s", "busy", "rounds", "longer by", "share"}}
	for _, l := range r.Shared[:min(shown, len(r.Shared))] {
		mbps := "their own"
		if l.Mbps > 0 {
			mbps = fmt.Sprintf("%.3g", l.Mbps)
		}
		lines = append(lines, []string{l.Link, mbps, percent(l.Busy), fmt.Sprint(l.Rounds),
			r.time(l.LongerS), percent(share(l.LongerS, r.TimeS))})
	}
	s := section("shared links that delayed the responses which ended rounds", lines)
	way, of, _ := strings.Cut(r.Shared[0].Link, " of ")
	s.Notes = []string{fmt.Sprintf("%s of the %s are %s's", r.time(r.Shared[0].LongerS), way, of)}
	return s
}

// ends reports whether every round ended for a reason.
func (r *Report) ends(with Cause) bool {
	other := func(x RoundAnalysis) bool { return x.Cause != with }
	return len(r.Rounds) > 0 && !slices.ContainsFunc(r.Rounds, other)
}

func (r *Report) devices() columns.Section {
	order := r.Stragglers()
	order = order[:min(shown, len(order))]
	heading, title := "stragglers", ""
	switch of := columns.Count(len(r.Devices), "device"); {
	case r.ends(Deadline) && r.All.Missed == 0:
		heading = "slowest devices (none missed a deadline)"
	case r.ends(Deadline):
		missed := 0
		for i := range r.Devices {
			missed += min(1, r.Devices[i].Missed)
		}
		deadline, some := "the deadline", &r.Run.Settings.Federation
		if some.Quantile == 0 {
			deadline += " of " + r.time(some.DeadlineS)
		}
		title = fmt.Sprintf("%d of %s missed %s, in %d of %s", missed, of, deadline, r.All.Missed,
			columns.Count(r.All.Selected, "attempt"))
	case r.All.Ended == 0:
		heading = "slowest devices (no round ended with a response)"
		if slices.ContainsFunc(r.Rounds, func(x RoundAnalysis) bool { return x.Cause == Unknown }) {
			heading = "slowest devices (no round is known to have ended with a response)"
		}
	}
	heads := r.heads()
	lines := [][]string{{"device"}}
	classes := len(r.Classes) > 0
	if classes {
		lines[0] = append(lines[0], "class")
	}
	for _, h := range heads {
		lines[0] = append(lines[0], h.name)
	}
	for _, client := range order {
		d := &r.Devices[client]
		line := []string{d.label()}
		if classes {
			line = append(line, d.Class)
		}
		lines = append(lines, append(line, r.cells(heads, &d.Total)...))
	}
	title = cmp.Or(title,
		fmt.Sprintf("%s: %d of %s", heading, len(order), columns.Count(len(r.Devices), "device")))
	return section(title, lines)
}

func (r *Report) classes() columns.Section {
	if len(r.Classes) == 0 {
		return columns.Section{}
	}
	heads := r.heads()
	lines := [][]string{{"class", "devices"}}
	for _, h := range heads {
		lines[0] = append(lines[0], h.name)
	}
	for i := range r.Classes {
		c := &r.Classes[i]
		lines = append(lines, append([]string{c.Name, fmt.Sprint(c.Devices)}, r.cells(heads, &c.Total)...))
	}
	return section("by class", lines)
}

// head is a column of totals.
type head struct {
	name string
	text func(*Total) string
}

// heads returns the columns of totals that say something of the run.
func (r *Report) heads() []head {
	all := &r.All
	count := func(name string, of func(*Total) int) head {
		return head{name, func(t *Total) string { return fmt.Sprint(of(t)) }}
	}
	deadline := all.Missed > 0 || r.ends(Deadline)
	var list []head
	add := func(says bool, h ...head) {
		if says {
			list = append(list, h...)
		}
	}
	add(all.Ended > 0 || !deadline, count("ended", func(t *Total) int { return t.Ended }),
		head{"later by", func(t *Total) string {
			if t.Ended == 0 {
				return "-"
			}
			return r.time(t.ExcessS)
		}})
	add(deadline, count("asked", func(t *Total) int { return t.Selected }),
		count("missed", func(t *Total) int { return t.Missed }),
		head{"late by", func(t *Total) string {
			switch {
			case t.lates == 0:
				return "-"
			case t.LateAtLeast:
				return "> " + r.time(t.LateByS)
			}
			return r.time(t.LateByS)
		}})
	add(true, head{"response", func(t *Total) string { return r.time(t.ResponseS) }},
		count("used", func(t *Total) int { return t.Taken }))
	add(all.Late > 0 && !deadline, count("late", func(t *Total) int { return t.Late }))
	add(all.Dropped > 0, count("dropped", func(t *Total) int { return t.Dropped }))
	add(true, head{"waited", func(t *Total) string { return percent(t.WaitShare) }})
	return list
}

func (r *Report) cells(heads []head, t *Total) (texts []string) {
	for _, h := range heads {
		texts = append(texts, h.text(t))
	}
	return texts
}

func (r *Report) rounds() columns.Section {
	worst := slices.Clone(r.Rounds)
	title, deadline := "longest rounds", r.All.Missed > 0 && r.ends(Deadline)
	slices.SortStableFunc(worst, func(x, y RoundAnalysis) int {
		if deadline {
			return cmp.Compare(y.Missed, x.Missed)
		}
		return cmp.Compare(y.LengthS, x.LengthS)
	})
	if deadline && worst[0].Missed == worst[len(worst)-1].Missed {
		return columns.Section{}
	}
	worst = worst[:min(shown, len(worst))]
	lines := [][]string{{"round", "length", "ended by", "later by", "used", "largest part"}}
	if deadline {
		title, lines[0] = "rounds that most devices missed", []string{"round", "length", "asked", "missed", "used"}
	}
	for i := range worst {
		x := &worst[i]
		by, later := string(x.Cause), "-"
		if x.Device >= 0 {
			by, later = r.Devices[x.Device].label(), r.time(x.ExcessS)
			if r.Devices[x.Device].Name == "" {
				by = "device " + by
			}
		}
		line := []string{fmt.Sprint(x.Round), r.time(x.LengthS)}
		if deadline {
			line = append(line, fmt.Sprint(x.Selected), fmt.Sprint(x.Missed), fmt.Sprint(x.Taken))
		} else {
			part := x.Path.largest(x.LengthS)
			name, _, _ := strings.Cut(part, " ")
			if at, shared := strings.CutPrefix(x.Link, name+" of "); shared {
				part += ", " + at
			}
			line = append(line, by, later, fmt.Sprint(x.Taken), part)
		}
		lines = append(lines, line)
	}
	return section(fmt.Sprintf("%s: %d of %d", title, len(worst), len(r.Rounds)), lines)
}

// largest returns the name of the largest part of a path and its share.
func (p *Path) largest(seconds float64) string {
	most := slices.MaxFunc(p.Parts(), func(p, q Part) int { return cmp.Compare(p.S, q.S) })
	return fmt.Sprintf("%s %s", most.Name, percent(share(most.S, seconds)))
}

// sentence describes an estimate for the run.
func (r *Report) sentence(w *WhatIf) string {
	change := fmt.Sprintf("with a deadline of %s", r.time(w.DeadlineS))
	if w.Unshared {
		change = "with every transfer alone on its links"
	}
	if len(w.Removed) > 0 {
		change = "without the slowest device, "
		if len(w.Removed) > 1 {
			change = fmt.Sprintf("without the %d slowest devices, ", len(w.Removed))
		}
		change += r.listed(w.Removed)
	}
	return fmt.Sprintf("%s, protocol %s: %s instead of %s (%s); %d responses instead of %d",
		change, w.Protocol, r.time(w.TimeS), r.time(r.TimeS), percent(share(w.TimeS, r.TimeS)), w.Responses, w.Baseline)
}

// listed lists devices, at most the first ten.
func (r *Report) listed(devices []int) string {
	text := ""
	for i, client := range devices {
		if i == shown {
			return fmt.Sprintf("%s and %d more", text, len(devices)-shown)
		}
		if i > 0 {
			text += ", "
		}
		text += r.label(client)
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

// percent formats a share: small ones to two digits, others to one decimal.
func percent(share float64) string {
	if share > 0 && share < 0.001 {
		return fmt.Sprintf("%.2g %%", 100*share)
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}
