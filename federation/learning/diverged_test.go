package learning

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/federation"
	"fedsim/internal/tools/state"
	"fedsim/results"
)

// A resumed run warns of a training loss that was infinite before its checkpoint, as the
// uninterrupted run does.
func TestResumedRunsWarnOfDivergence(t *testing.T) {
	setup := func() Setup {
		return world(t, "mb-sgd", federation.WaitForAll, func(s *Setup) {
			s.Config.NonFinite = federation.TakeUpdate
			o := s.Options.(*algorithms.MbSGDOptions)
			o.Step, o.Delay, o.Project = 1e12, 1e12, false
			s.Schedule.Rounds = 40
		})
	}
	s := setup()
	checkpoints := withCheckpoints(&s)
	whole := run(t, s)
	last := whole.Rounds[len(whole.Rounds)-1]
	if !slices.ContainsFunc(whole.Warnings, func(w results.Warning) bool { return w.About == "diverged" }) ||
		!math.IsNaN(last.Primal) && !math.IsInf(last.Primal, 0) {
		t.Fatalf("the loss is %g, warnings %v: the test shows nothing", last.Primal, whole.Warnings)
	}
	s = setup()
	s.Resume = state.Reading(bytes.NewReader((*checkpoints)[35]))
	if again := run(t, s); !slices.Equal(again.Warnings, whole.Warnings) {
		t.Errorf("a resumed run warns %v, want %v", again.Warnings, whole.Warnings)
	}
}
