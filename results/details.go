package results

import (
	"fmt"
	"slices"

	"fedsim/internal/tools/quote"
)

// Details returns the errors at the end of runs with their uncertainty, what tuning searched and found at an edge,
// and which rows of data files are left out. Without all it is brief: errors are not of experiments that P
// compares, there is nothing of what was searched, and many edges are counted.
func Details(runs []Run, all bool) (list Sections) {
	if all {
		for _, t := range ErrorTables(runs) {
			list = append(list, t.section())
		}
		list = append(list, searched(runs))
	}
	list = append(list, edges(runs, all), dropped(runs), limited(runs))
	return slices.DeleteFunc(list, func(s Section) bool { return len(s.Notes) == 0 })
}

// limited counts the clients that lack memory, by method.
func limited(runs []Run) Section {
	s := Section{Title: "clients lack memory (data.memory_mb)"}
	noted := map[string]bool{}
	for i := range runs {
		r := &runs[i]
		if r.Data == nil || r.Data.ShortClients+r.Data.UnfitClients == 0 {
			continue
		}
		note := fmt.Sprintf("%s: %d cannot hold their models and take no part, %d train on some of their rows",
			r.Method, r.Data.UnfitClients, r.Data.ShortClients)
		if !noted[note] {
			noted[note] = true
			s.Notes = append(s.Notes, note)
		}
	}
	return s
}

// dropped names the rows of data files that the runs are without, since values were missing.
func dropped(runs []Run) Section {
	s := Section{Title: "rows with missing values are left out (\"fedsim data describe\" counts them by column)"}
	noted := map[string]bool{}
	for i := range runs {
		if d := runs[i].Data; d != nil && d.DroppedRows > 0 && !noted[d.Name] {
			noted[d.Name] = true
			s.Notes = append(s.Notes, fmt.Sprintf("%d rows of %s", d.DroppedRows, quote.Text(d.Name)))
		}
	}
	return s
}
