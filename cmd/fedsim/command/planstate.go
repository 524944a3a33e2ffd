package command

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"fedsim/internal/rooms/clusters/work"
	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/quote"
)

// planState is the status of a plan (docs/json.md).
type planState struct {
	*work.State
	Next string `json:"next"`
}

// What to do next.
const (
	nextWait   = "wait"
	nextSubmit = "submit"
	nextMerge  = "merge"
)

// newPlanState says what to do next.
func newPlanState(s *work.State) planState {
	switch {
	case s.Complete():
		return planState{s, nextMerge}
	case s.Workers > 0:
		return planState{s, nextWait}
	default:
		return planState{s, nextSubmit}
	}
}

func (s planState) ended() (bool, error) {
	switch {
	case s.Complete():
		return true, nil
	case s.Stuck():
		return true, fmt.Errorf("%s: %d of %s left: all have failed: read the reasons with fedsim status, then submit again",
			s.Directory, s.Groups.Total-s.Groups.Done, count(s.Groups.Total, "group"))
	default:
		return false, nil
	}
}

func countsText(c work.Counts) string {
	text := fmt.Sprintf("%d of %d done", c.Done, c.Total)
	for _, part := range []struct {
		n    int
		what string
	}{{c.Failed, "failed"}, {c.Running, "running"}, {c.Stopped, "stopped"}, {c.Waiting, "waiting"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}

func (s planState) line() (counts, more string) {
	counts = "groups: " + countsText(s.Groups)
	if s.Needs.Done < s.Needs.Total {
		counts += "; prerequisites: " + countsText(s.Needs)
	}
	if known(s.LeftS) && !s.Complete() {
		more = "; about " + secondsText(s.LeftS) + " left"
	}
	return counts, more
}

func known(n float64) bool { return !math.IsNaN(n) }

// secondsText formats seconds; "-" if they are not known.
func secondsText(n float64) string {
	if !known(n) {
		return "-"
	}
	text := rounded(n).String()
	if n >= 10*60 {
		text = strings.TrimSuffix(text, "0s") // it is rounded to minutes
	}
	return text
}

func (s planState) left() string {
	switch {
	case s.Complete():
		return "none"
	case s.Stuck():
		return "not known; all that is left has failed"
	case known(s.LeftS):
		return fmt.Sprintf("about %s with %s", secondsText(s.LeftS), count(s.Workers, "worker"))
	case known(s.WorkS):
		return fmt.Sprintf("about %s of work for one worker; nobody works", secondsText(s.WorkS))
	default:
		return "not known before something is done"
	}
}

// advice says in a line what to do next.
func (s planState) advice() string {
	submit := "fedsim submit " + quote.Shell(s.Directory) + " --engine ENGINE"
	switch s.Next {
	case nextMerge:
		return "fedsim merge " + quote.Shell(s.Directory)
	case nextSubmit:
		return submit
	case nextWait:
		if s.Groups.Failed+s.Groups.Stopped > 0 {
			return "wait; then " + submit
		}
	}
	return "wait; fedsim serve " + quote.Shell(s.Directory) + " shows the curves"
}

// mostShown is the most rows of a list.
const mostShown = 30

func (s planState) text(width int) string {
	var b strings.Builder
	names := []string{"scenario:", "groups:", "prerequisites:", "runs:", "time left:"}
	texts := []string{s.Scenario, countsText(s.Groups), countsText(s.Needs), fmt.Sprintf("%d of %d done", s.RunsDone, s.Runs), s.left()}
	b.WriteString(columns.Entries(names, texts, width) + "next:           " + s.advice() + "\n") // a command is in one line
	if list := s.of(work.Failed); len(list) > 0 {
		b.WriteString("\nfailed\n")
		for _, item := range list[:min(len(list), mostShown)] {
			by := "" // nobody has tried what needs a prerequisite that failed
			if item.Host != "" {
				by = fmt.Sprintf(", on %s, %s ago", item.Host, secondsText(item.AgeS))
			}
			b.WriteString(columns.Wrap(fmt.Sprintf("%s %s%s: %s", shortID(item), what(item), by, quote.Line(item.Reason)), width, 2) + "\n")
		}
		more(&b, len(list))
	}
	s.running(&b, width)
	return b.String()
}

// of returns the items of a condition.
func (s planState) of(c work.Condition) (list []*work.Item) {
	for i := range s.Items {
		if s.Items[i].Condition == c {
			list = append(list, &s.Items[i])
		}
	}
	return list
}

// more says how many of n items a list does not show.
func more(b *strings.Builder, n int) {
	if n > mostShown {
		fmt.Fprintf(b, "  and %d more (--json has all)\n", n-mostShown)
	}
}

// shortID returns the start of an ID, which is enough to find its files.
func shortID(item *work.Item) string { return item.ID[:min(len(item.ID), 8)] }

// what names the runs of a group, or another item.
func what(item *work.Item) string {
	if item.Runs > 0 {
		return item.Title()
	}
	return item.Kind + " " + item.Title()
}

func (s planState) running(b *strings.Builder, width int) {
	list := s.of(work.Running)
	if len(list) == 0 {
		return
	}
	t := columns.Table{Label: "running", Groups: []columns.Group{{Heads: []string{"runs", "host", "process"}, Left: true}, {Heads: []string{"progress", "time", "seen"}}}, Blocks: []columns.Block{{}}}
	const host, others = 14, 45 // columns of the host, and of all others but the runs
	for _, item := range list[:min(len(list), mostShown)] {
		progress := "-"
		if known(item.Progress) {
			progress = fmt.Sprintf("%.0f %%", 100*item.Progress)
		}
		t.Blocks[0].Rows = append(t.Blocks[0].Rows, []string{
			shortID(item), middle(what(item), max(width-host-others, 10)), middle(cmp.Or(item.Host, "-"), host), fmt.Sprint(item.PID), progress, secondsText(item.TookS), secondsText(item.AgeS),
		})
	}
	b.WriteByte('\n')
	t.Write(b, width)
	more(b, len(list))
}

// middle cuts the middle of a text that is longer than a width.
func middle(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	head := (width - 1) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(width-1-head):])
}
