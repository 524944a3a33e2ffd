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
