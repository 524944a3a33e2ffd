package results

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A warning tells how many repetitions have its kind, also where one has the kind twice.
func TestWarningsOfCountRepetitions(t *testing.T) {
	seeds := []Run{
		{Warnings: []Warning{{About: "scaled", Text: "scaled times"}, {About: "scaled", Text: "scaled bytes"}}},
		{Warnings: []Warning{{About: "late", Text: "late work"}, {About: "scaled", Text: "scaled times"}}},
		{},
	}
	want := []string{"scaled times (2 of 3 seeds)", "late work (1 of 3 seeds)"}
	if diff := cmp.Diff(want, WarningsOf(seeds)); diff != "" {
		t.Error(diff)
	}
}

// A row says why its runs stalled, where their results are: the first reason, and how many
// runs stalled, with whatever else there is to warn of.
func TestWarningsOfStalledRuns(t *testing.T) {
	seeds := []Run{
		{Status: Done},
		{Status: Stalled, Reason: "no battery", Rounds: []Round{{}, {Round: 3}}, Warnings: []Warning{{About: "late", Text: "late work"}}},
		{Status: Stalled, Reason: "no link", Rounds: []Round{{}, {Round: 1}}},
	}
	want := []string{"stalled after round 3: no battery (2 of 3 seeds)", "late work (1 of 3 seeds)"}
	if diff := cmp.Diff(want, WarningsOf(seeds)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"stalled after round 1: no link"}, WarningsOf(seeds[2:])); diff != "" {
		t.Error(diff)
	}
}
