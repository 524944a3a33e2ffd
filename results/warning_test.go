package results

import (
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

// told returns the messages of runs as lines, those about kinds only; all without one.
func told(runs []Run, targets Targets, kinds ...string) (lines []string) {
	s := Summarize(runs, targets)
	for _, m := range s.Messages() {
		if len(kinds) == 0 || slices.Contains(kinds, m.About) {
			lines = append(lines, m.String())
		}
	}
	return lines
}

// A message tells in how many runs it is, also where one has the kind twice, and that runs differ in it.
func TestRecordedWarningsCountRuns(t *testing.T) {
	runs := []Run{
		{Method: "a", Seed: 1,
			Warnings: []Warning{{About: "scaled", Text: "scaled times", Note: true},
				{About: "scaled", Text: "scaled times", Note: true}}},
		{Method: "a", Seed: 2,
			Warnings: []Warning{{About: "late", Text: "late work"},
				{About: "scaled", Text: "scaled times", Note: true}}},
		{Method: "a", Seed: 3},
		{Method: "b", Seed: 1, Warnings: []Warning{{About: "late", Text: "later work"}}},
	}
	want := []string{"warning: late work (2 of 4 runs); numbers of the first", "note: a: scaled times (2 of 3 runs)"}
	diff := cmp.Diff(want, told(runs, nil))
	expect.That(t, diff == "", "%v", diff)
}

// The table says why runs stalled, where their results are: the last round, and the last that was
// evaluated where it is another.
func TestStalledRunsNameTheLastRound(t *testing.T) {
	stalled := func(seed uint64, rounds ...Round) Run {
		return Run{Method: "a", Seed: seed, Status: Stalled, Reason: "no battery", Rounds: rounds}
	}
	unknown := NewRound()
	unknown.Round = 42
	for want, runs := range map[string][]Run{
		"warning: a: stalled after round 3: no battery (1 of 2 runs)": {
			stalled(1, Round{}, Round{Round: 3}), {Method: "a", Seed: 2},
		},
		"warning: a: stalled after round 42 (last evaluated after round 3): no battery": {
			stalled(1, Round{}, Round{Round: 3}, unknown),
		},
		// timing mode
		"warning: a: stalled after round 42: no battery": {stalled(1, unknown)},
	} {
		got := told(runs, nil, "stalled")
		expect.That(t, slices.Equal(got, []string{want}), "%q, want %q", got, want)
	}
	timing := stalled(1, unknown)
	if last, ok := timing.Last(); !ok || last.Round != 42 {
		t.Errorf("the last round is %d, %t", last.Round, ok)
	}
	if _, ok := timing.LastEvaluated(); ok {
		t.Error("a round without a metric was evaluated")
	}
}

// Experiments share a message that both have, and name one that only one has.
func TestMessagesOnce(t *testing.T) {
	note := []Warning{{About: "scaled", Text: "scaled times", Note: true}}
	runs := []Run{
		{Experiment: "wifi", Method: "a", Seed: 1, Warnings: note},
		{Experiment: "wifi", Method: "a", Seed: 2, Warnings: note},
		{Experiment: "lte", Method: "a", Warnings: append([]Warning{{About: "late", Text: "late work"}}, note...)},
	}
	want := []string{"warning: lte: a: late work", "note: scaled times"}
	diff := cmp.Diff(want, told(runs, nil))
	expect.That(t, diff == "", "%v", diff)
	s := Summarize(runs, nil)
	if text := s.Sections().Text(80); strings.Count(text, "scaled times") != 1 {
		t.Errorf("the text has the note %d times", strings.Count(text, "scaled times"))
	}
}
