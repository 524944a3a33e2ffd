package experiment

import (
	"strings"
	"testing"

	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
)

// Seeds that are added until results are certain are not taken for a list of all that may be added.
func TestSeedsUntilCertainAreNoList(t *testing.T) {
	s := expect.Value(scenario.Load("quickstart", []string{`run.seeds="until-certain"`}))(t)
	_, plan := Items(t.Context(), s, 0, nil)
	for name, err := range map[string]error{"items": plan, "runs": Run(t.Context(), s.Experiments, Options{})} {
		expect.That(t, err != nil && strings.Contains(err.Error(), "run.seeds = "), "%s: %v", name, err)
	}
	listed := expect.Value(scenario.Load("quickstart", []string{"run.seeds=[1,2,3,4,5,6,7]"}))(t)
	got, want := FigureSeconds(s.Experiments), FigureSeconds(listed.Experiments)
	expect.That(t, got == want, "figures take %v s, those of seven seeds %v s", got, want)
	expect.That(t, Total(s.Experiments) == 0, "%d runs", Total(s.Experiments))
}
