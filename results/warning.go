package results

import (
	"fmt"
	"slices"
	"strings"
)

// Warning is a reason to doubt the numbers of a run. The summary, the report and the
// manifest show it.
type Warning struct {
	About string `json:"about"` // its kind in a word: a row shows one warning of each
	Text  string `json:"text"`  // a sentence without its full stop
}

// WarningsOf returns the warnings of repetitions in order, one of each kind: the first, and
// in how many of them the kind occurs. The reason of a stalled run is one.
func WarningsOf(seeds []Run) []string {
	var kinds, texts []string
	count := map[string]int{}
	for i := range seeds {
		warnings := seeds[i].Warnings
		if r := &seeds[i]; r.Status == Stalled {
			last, _ := r.Last()
			stall := Warning{"stalled", fmt.Sprintf("stalled after round %d: %s", last.Round, r.Reason)}
			warnings = slices.Insert(slices.Clone(warnings), 0, stall)
		}
		for k, w := range warnings {
			if slices.ContainsFunc(warnings[:k], func(before Warning) bool { return before.About == w.About }) {
				continue
			}
			if count[w.About]++; !slices.Contains(kinds, w.About) {
				kinds, texts = append(kinds, w.About), append(texts, w.Text)
			}
		}
	}
	for i, kind := range kinds {
		if len(seeds) > 1 {
			texts[i] += fmt.Sprintf(" (%d of %d seeds)", count[kind], len(seeds))
		}
	}
	return texts
}

// Unreported warns of declared metrics of which no round has a value, nor a statistic over
// clients.
func Unreported(declared []NamedMetric, rounds []Round) []Warning {
	there := (&Run{Rounds: rounds}).namedValues()
	var names []string
	for i := range declared {
		m := &declared[i]
		has := there[NamedValue{Split: m.Split, Name: m.Name}]
		for _, s := range statistics {
			has = has || there[NamedValue{Split: m.Split, Name: m.Name + "_" + s.name}]
		}
		if !has {
			names = append(names, m.FullName())
		}
	}
	if len(names) == 0 || len(rounds) == 0 || rounds[len(rounds)-1].Round == 0 {
		return nil
	}
	return []Warning{{About: "metric", Text: "the learner declares " + strings.Join(names, ", ") + " and never reports it"}}
}

// warnings returns the warnings of a block, one for each text with the labels of its rows.
func (e *ExperimentSummary) warnings(block *Block) []string {
	var texts []string
	labels := map[string][]string{}
	for i := range block.Rows {
		r := &block.Rows[i]
		for _, text := range r.Warnings {
			if labels[text] == nil {
				texts = append(texts, text)
			}
			labels[text] = append(labels[text], e.labelOf(r))
		}
	}
	for i, text := range texts {
		texts[i] = fmt.Sprintf("warning: %s: %s", strings.Join(labels[text], ", "), text)
	}
	return texts
}

// labelOf names a row in a remark.
func (e *ExperimentSummary) labelOf(r *Row) string {
	if e.RowKey == "method" {
		return r.Label
	}
	return e.RowKey + " = " + r.Label
}
