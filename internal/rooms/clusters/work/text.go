package work

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"fedsim/internal/tools/columns"
	"fedsim/internal/tools/quote"
)

// String returns how many there are of each condition.
func (c Counts) String() string {
	text := fmt.Sprintf("%d of %d done", c.Done, c.Total)
	for _, part := range []struct {
		n    int
		what Condition
	}{{c.Failed, Failed}, {c.Running, Running}, {c.Stopped, Stopped}, {c.Waiting, Waiting}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text
}

// Left says how much time is left.
func (s *State) Left() string {
	switch {
	case s.Complete():
		return "none"
	case s.Stuck():
		return "not known; all that is left has failed"
	case !math.IsNaN(s.LeftS):
		return fmt.Sprintf("about %s with %s", columns.Span(s.LeftS), columns.Count(s.Workers, "worker"))
	case !math.IsNaN(s.WorkS):
		return fmt.Sprintf("about %s of work for one worker; nobody works", columns.Span(s.WorkS))
	default:
		return "not known before something is done"
	}
}

// Sections lists the first items of conditions. Names of runs are cut for lines of a width.
func (s *State) Sections(width int, of ...Condition) (all columns.Sections) {
	for _, condition := range of {
		var list []*Item
		for i := range s.Items {
			if s.Items[i].Condition == condition {
				list = append(list, &s.Items[i])
			}
		}
		section := columns.Section{Title: string(condition)}
		if condition == Running {
			section.Title, section.Table = "",
				columns.Table{Label: "running", Groups: []columns.Group{
					{Heads: []string{"runs", "host", "process"}, Left: true},
					{Heads: []string{"progress", "time", "seen"}},
				}}
		}
		for _, item := range list[:min(len(list), columns.MostShown)] {
			if condition == Running {
				section.Table.Add(item.row(width)...)
				continue
			}
			by := "" // nobody has tried what needs a prerequisite that failed
			if item.Host != "" {
				by = fmt.Sprintf(", on %s, %s ago", item.Host, columns.Span(item.AgeS))
			}
			text := fmt.Sprintf("%s %s%s: %s", item.shortID(), item.What(), by, quote.Line(item.Reason))
			if len(item.WaitsFor) > 0 {
				text += "waits for " + strings.Join(item.WaitsFor, ", ")
			}
			section.Notes = append(section.Notes, strings.TrimSuffix(text, ": "))
		}
		if section.Notes = append(section.Notes, columns.More(len(list), "fedsim show --json")...); len(list) > 0 {
			all = append(all, section)
		}
	}
	return all
}

// row returns the cells of an item that runs.
func (i *Item) row(width int) []string {
	const host, others = 14, 45 // columns of the host, and of all others but the runs
	progress := "-"
	if !math.IsNaN(i.Progress) {
		progress = fmt.Sprintf("%.0f %%", 100*i.Progress)
	}
	return []string{
		i.shortID(), columns.Middle(i.What(), max(width-host-others, 10)), columns.Middle(cmp.Or(i.Host, "-"), host),
		fmt.Sprint(i.PID), progress, columns.Span(i.TookS), columns.Span(i.AgeS),
	}
}

// shortID returns the start of an ID, which is enough to find its files.
func (i *Item) shortID() string { return i.ID[:min(len(i.ID), 8)] }

// What names the runs of a group, or another item.
func (i *Item) What() string {
	if i.Runs > 0 {
		return i.Title()
	}
	return i.Kind + " " + i.Title()
}
