package results

import (
	"fmt"
	"slices"
	"strings"
)

// Warning is what a reader of the numbers of one run must know. A Message of its experiment says it.
type Warning struct {
	About string `json:"about"`          // its kind in a word: an experiment shows one message of each
	Text  string `json:"text"`           // a sentence without its full stop
	Note  bool   `json:"note,omitempty"` // the numbers are right and mean less than they seem
}

// Level returns whether the warning is one, or a note.
func (w Warning) Level() Level {
	if w.Note {
		return IsNote
	}
	return IsWarning
}

// AboutDiverged is Warning.About of a run whose training loss is not finite, or grew.
const AboutDiverged = "diverged"

// warningsOf returns why the run stalled, if it did, and its warnings.
func warningsOf(r *Run) []Warning {
	if r.Status != Stalled {
		return r.Warnings
	}
	last, _ := r.Last()
	text := fmt.Sprintf("stalled after round %d", last.Round)
	if at, ok := r.LastEvaluated(); ok && at.Round != last.Round {
		text += fmt.Sprintf(" (last evaluated after round %d)", at.Round)
	}
	return slices.Insert(slices.Clone(r.Warnings), 0, Warning{About: "stalled", Text: text + ": " + r.Reason})
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
	return []Warning{
		{About: "metric", Text: "the learner declares " + strings.Join(names, ", ") + " and never reports it"},
	}
}

// labelOf names a row in a remark.
func (e *ExperimentSummary) labelOf(r *Row) string {
	if e.RowKey == "method" {
		return r.Label
	}
	return e.RowKey + " = " + r.Label
}
