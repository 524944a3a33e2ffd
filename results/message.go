package results

import (
	"fmt"
	"slices"
	"strings"
)

// Level says what a message means for the numbers that it is about.
type Level string

const (
	IsWarning Level = "warning" // a number may be wrong or empty
	IsNote    Level = "note"    // a number is right and means less than it seems
)

// Message is what a reader of the numbers must know. Terminal, report, JSON and manifest show the
// same messages, each once.
type Message struct {
	Level       Level    `json:"level"`
	About       string   `json:"about"`       // its kind in a word (docs/results.md)
	Experiments []string `json:"experiments"` // that it is of; empty: all
	Text        string   `json:"text"`        // a sentence without its full stop
}

// String returns the level and the text, with the experiments that the message is of unless it is of all.
func (m Message) String() string {
	text := string(m.Level) + ": "
	if len(m.Experiments) > 0 {
		text += strings.Join(m.Experiments, ", ") + ": "
	}
	return text + m.Text
}

// Messages returns the messages of all experiments, warnings first. Experiments with the same
// message share it.
func (s *Summary) Messages() []Message {
	all := []Message{}
	for i := range s.Experiments {
		e := &s.Experiments[i]
		for _, m := range e.messages {
			at := slices.IndexFunc(all,
				func(x Message) bool { return x.Level == m.Level && x.About == m.About && x.Text == m.Text })
			if at < 0 {
				at, all = len(all), append(all, m)
			}
			all[at].Experiments = append(all[at].Experiments, e.Experiment)
		}
	}
	for i := range all {
		if len(all[i].Experiments) == len(s.Experiments) {
			all[i].Experiments = []string{}
		}
	}
	slices.SortStableFunc(all, func(a, b Message) int { return strings.Compare(string(b.Level), string(a.Level)) })
	return all
}

// said returns the messages as a section, if there are any.
func (s *Summary) said() Sections {
	var section Section
	for _, m := range s.Messages() {
		section.Notes = append(section.Notes, m.String())
	}
	if section.Notes == nil {
		return nil
	}
	return Sections{section}
}

// inform collects the messages of an experiment, given the runs of its rows, and takes the star from
// rows that they doubt.
func (e *ExperimentSummary) inform(runs [][][]Run) {
	of := &examined{e, runs}
	e.messages = of.recorded()
	for _, m := range findings {
		for _, text := range m.find(of) {
			e.messages = append(e.messages, Message{Level: m.level, About: m.about, Text: text})
		}
	}
	for i := range e.Blocks {
		for k := range e.Blocks[i].Rows {
			r := &e.Blocks[i].Rows[k]
			r.Best = r.Best && !r.doubted && !r.endDoubted
		}
	}
}

// affected are rows that a message is about.
type affected struct {
	labels   []string
	runs, of int // so many of the runs of these rows
}

// add adds a row, of whose runs n are meant.
func (a *affected) add(label string, n, of int) {
	if !slices.Contains(a.labels, label) {
		a.labels = append(a.labels, label)
	}
	a.runs, a.of = a.runs+n, a.of+of
}

// share says in how many runs it is, if not in all.
func (a *affected) share() string {
	if a.runs == a.of {
		return ""
	}
	return fmt.Sprintf(" (%d of %d runs)", a.runs, a.of)
}

// names lists labels, or the first of many.
func names(labels []string) string {
	const most = 6
	if more := len(labels) - most; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(labels[:most], ", "), more)
	}
	return strings.Join(labels, ", ")
}

// both lists labels in a sentence: "a, b and c".
func both(labels []string) string {
	n := len(labels)
	if n == 1 {
		return labels[0]
	}
	return strings.Join(labels[:n-1], ", ") + " and " + labels[n-1]
}

// recorded returns the warnings that runs record, and why runs stalled: one message of each kind, with
// the text of the first run that has it, and the labels of its rows unless it is of all.
func (e *examined) recorded() []Message {
	type kind struct {
		Warning
		affected
		others bool // it has another text in another run
	}
	var kinds []*kind
	for i := range e.runs {
		for k, seeds := range e.runs[i] {
			row := &e.Blocks[i].Rows[k]
			counts := map[*kind]int{}
			for s := range seeds {
				seen := map[string]bool{}
				for _, w := range warningsOf(&seeds[s]) {
					if seen[w.About] {
						continue
					}
					seen[w.About] = true
					row.doubted = row.doubted || w.About == AboutDiverged
					at := slices.IndexFunc(kinds, func(x *kind) bool { return x.About == w.About })
					if at < 0 {
						at, kinds = len(kinds), append(kinds, &kind{Warning: w})
					}
					counts[kinds[at]]++
					kinds[at].others = kinds[at].others || kinds[at].Text != w.Text
				}
			}
			for _, x := range kinds {
				if counts[x] > 0 {
					x.add(e.labelOf(row), counts[x], len(seeds))
				}
			}
		}
	}
	var list []Message
	for _, x := range kinds {
		m := Message{Level: x.Level(), About: x.About, Text: x.Text + x.share()}
		if e.some(func(r *Row) bool { return !slices.Contains(x.labels, e.labelOf(r)) }) ||
			len(x.labels) == 1 && !x.Note {
			m.Text = names(x.labels) + ": " + m.Text
		}
		if x.others {
			m.Text += "; numbers of the first"
		}
		list = append(list, m)
	}
	return list
}
