package scenario

import (
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// A run.stop_at that gives way to the target of run.certain is noted; one that does not is not.
func TestStopAtOfRunsUntilCertain(t *testing.T) {
	const source = mocha + "[methods.cocoa]\n[run]\nseeds = \"until-certain\"\ntargets = { suboptimality = [0.01] }\n"
	for set, noted := range map[string]bool{
		"run.stop_at.suboptimality=0.1": true, "run.stop_at.suboptimality=0.01": false, "run.stop_at=": false,
	} {
		s := expect.Value(Parse("x.toml", []byte(source), []string{set}))(t)
		got := slices.ContainsFunc(s.Notes, func(note string) bool {
			return strings.Contains(note, "run.stop_at = ") && strings.HasSuffix(note,
				"target of run.certain, {suboptimality = 0.01}")
		})
		expect.That(t, got == noted, "%s: notes %q", set, s.Notes)
		stop := s.Experiments[0].Jobs[0].Candidates[0].Settings.Run.StopAt
		expect.That(t, stop.Value == 0.01, "%s: runs end at %v", set, stop)
	}
	set := []string{"run.stop_at.suboptimality=0.1", `run.certain={ by = "error" }`}
	s := expect.Value(Parse("x.toml", []byte(source), set))(t)
	expect.That(t, len(s.Notes) == 0 && s.Experiments[0].Jobs[0].Candidates[0].Settings.Run.StopAt.Value == 0.1,
		"errors are those where runs end: notes %q", s.Notes)
}
