package explain

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"fedsim/internal/columns"
	"fedsim/results"
)

// shown is how many devices and rounds WriteText lists.
const shown = 10

// WriteText writes the report in words and tables, of so many characters a line: all of
// it but the rounds and the devices that matter less than ten others.
func (r *Report) WriteText(w io.Writer, width int) error {
	b := text{width: width}
	all := r.All()
	b.say("run %s under %s: %d rounds of %d devices in %s%s\n",
		r.Run.ID, r.Run.Settings.Federation.Protocol, len(r.Rounds), len(r.Devices), r.time(r.TimeS), results.RelativeNote(r.Relative()))
	rounds := float64(len(r.Rounds))
	b.say("a round asked %.3g devices and took the answers of %.3g; devices waited %s of their time\n",
		float64(all.Selected)/rounds, float64(all.Taken)/rounds, percent(all.WaitShare()))
	r.textTargets(&b)
	r.textPath(&b)
	r.textDevices(&b)
	r.textClasses(&b)
	r.textRounds(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// Relative reports whether the times of the run are relative units, not seconds.
func (r *Report) Relative() bool { return r.Run.Settings.Federation.Relative() }

func (r *Report) time(t float64) string { return results.TimeText(t, r.Relative()) }

// textTargets writes what the targets took.
func (r *Report) textTargets(b *text) {
	if len(r.Targets) == 0 {
		return
	}
	b.say("\nthe way to each target\n\n")
	lines := [][]string{{"target", "rounds", "time", "sent", "energy", "mostly"}}
	for i := range r.Targets {
		x := &r.Targets[i]
		line := []string{x.Text(x.real), "-", "-", "-", "-", "-"}
		if c := x.Cost; x.Reached {
			line = append(line[:1], fmt.Sprint(c.Rounds), r.time(c.TimeS), results.Scaled(c.Bytes, "B"), results.Scaled(c.EnergyJ, "J"), x.Path.mostly(c.TimeS))
		}
		lines = append(lines, line)
	}
	b.table(lines)
}

// Parts are the parts of a path, each with its name.
func (p *Path) Parts() []Part {
	return []Part{
		{"downlink", p.DownlinkS}, {"compute", p.ComputeS}, {"uplink", p.UplinkS}, {"waiting", p.WaitS},
		{"away", p.UnavailableS}, {"battery empty", p.DepletedS}, {"clock", p.ClockS}, {"server", p.ServerS},
	}
}

// Part is a part of a path: what time was spent on, and how much.
type Part struct {
	Name string
	S    float64
}

// textPath writes what the time was spent on.
func (r *Report) textPath(b *text) {
	b.say("\nwhere the time went, on the way of the answers that ended the rounds\n\n")
	lines := [][]string{{"part", "time", "share"}}
	for _, part := range r.Path.Parts() {
		if part.S > 0 {
			lines = append(lines, []string{part.Name, r.time(part.S), percent(share(part.S, r.TimeS))})
		}
	}
	b.table(lines)
}

// textDevices writes who held the rounds up.
func (r *Report) textDevices(b *text) {
	order := r.Stragglers()
	order = order[:min(shown, len(order))]
	heading := "who held it up"
	if all := r.All(); all.Ended == 0 {
		heading = "no answer ended a round, the slowest"
	}
	b.say("\n%s: %d of %d devices\n\n", heading, len(order), len(r.Devices))
	lines := [][]string{append([]string{"device"}, heads...)}
	classes := len(r.Classes) > 0
	if classes {
		lines[0] = slices.Insert(lines[0], 1, "class")
	}
	for _, t := range order {
		d := &r.Devices[t]
		line := append([]string{fmt.Sprint(d.Device)}, r.cells(&d.Total)...)
		if classes {
			line = slices.Insert(line, 1, d.Class)
		}
		lines = append(lines, line)
	}
	b.table(lines)
}

// textClasses writes the same by class.
func (r *Report) textClasses(b *text) {
	if len(r.Classes) == 0 {
		return
	}
	b.WriteString("\nby class\n\n")
	lines := [][]string{append([]string{"class", "devices"}, heads...)}
	for i := range r.Classes {
		c := &r.Classes[i]
		lines = append(lines, append([]string{c.Name, fmt.Sprint(c.Devices)}, r.cells(&c.Total)...))
	}
	b.table(lines)
}

// heads are the columns of cells.
var heads = []string{"ended", "later by", "answer", "taken", "late", "dropped", "waited"}

func (r *Report) cells(t *Total) []string {
	later := "-"
	if t.Ended > 0 {
		later = r.time(t.ExcessS)
	}
	return []string{
		fmt.Sprint(t.Ended), later, r.time(t.ResponseS()),
		fmt.Sprint(t.Taken), fmt.Sprint(t.Late), fmt.Sprint(t.Dropped), percent(t.WaitShare()),
	}
}

// textRounds writes the longest rounds.
func (r *Report) textRounds(b *text) {
	longest := slices.Clone(r.Rounds)
	slices.SortStableFunc(longest, func(x, y Round) int { return cmp.Compare(y.LengthS, x.LengthS) })
	longest = longest[:min(shown, len(longest))]
	b.say("\nthe longest rounds: %d of %d\n\n", len(longest), len(r.Rounds))
	lines := [][]string{{"round", "took", "ended by", "later by", "taken", "mostly"}}
	for i := range longest {
		x := &longest[i]
		by, later := string(x.Cause), "-"
		if x.Device >= 0 {
			by, later = fmt.Sprintf("device %d", x.Device), r.time(x.ExcessS)
		}
		lines = append(lines, []string{
			fmt.Sprint(x.Round), r.time(x.LengthS), by, later, fmt.Sprint(x.Taken),
			x.Path.mostly(x.LengthS),
		})
	}
	b.table(lines)
}

// mostly names the largest part of a path of so many seconds.
func (p *Path) mostly(seconds float64) string {
	most := slices.MaxFunc(p.Parts(), func(p, q Part) int { return cmp.Compare(p.S, q.S) })
	return fmt.Sprintf("%s %s", most.Name, percent(share(most.S, seconds)))
}

// WriteText writes what would have been of the run of a report in a sentence, in lines
// of so many characters.
func (w *WhatIf) WriteText(out io.Writer, r *Report, width int) error {
	with := fmt.Sprintf("with a deadline of %s", r.time(w.DeadlineS))
	if w.Removed != nil {
		with = "without the slowest device, "
		if len(w.Removed) > 1 {
			with = fmt.Sprintf("without the %d slowest devices, ", len(w.Removed))
		}
		with += listed(w.Removed)
	}
	line := fmt.Sprintf("%s, under %s: %s in place of %s, %s of it; %d answers in place of %d",
		with, w.Protocol, r.time(w.TimeS), r.time(r.TimeS), percent(share(w.TimeS, r.TimeS)), w.Responses, w.Baseline)
	_, err := io.WriteString(out, columns.Wrap(line, width, 2)+"\n")
	return err
}

// listed names devices, the first ones when they are many.
func listed(devices []int) string {
	text := ""
	for i, t := range devices {
		if i == shown {
			return fmt.Sprintf("%s and %d more", text, len(devices)-shown)
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprint(t)
	}
	return text
}

// share returns a part of a whole, 0 of nothing.
func share(part, whole float64) float64 {
	if whole > 0 {
		return part / whole
	}
	return 0
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

// text is text of lines of so many characters.
type text struct {
	strings.Builder
	width int
}

// say writes a sentence, in several lines where it is longer than one.
func (b *text) say(format string, args ...any) {
	b.WriteString(columns.Wrap(fmt.Sprintf(format, args...), b.width, 0))
}

// table writes lines with their columns below each other, the first being their heads.
func (b *text) table(lines [][]string) {
	t := columns.Table{Label: lines[0][0], Groups: []columns.Group{{Heads: lines[0][1:]}}, Blocks: []columns.Block{{Rows: lines[1:]}}}
	t.Write(&b.Builder, b.width)
}
