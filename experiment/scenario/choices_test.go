package scenario

import (
	"strings"
	"testing"

	"fedsim/scenarios"
)

// No shipped scenario chooses options or ends runs by test rows.
func TestShippedScenariosChooseByValidationRows(t *testing.T) {
	for _, info := range scenarios.Shipped() {
		s := loaded(t, info.Name)
		for i := range s.Experiments {
			e := &s.Experiments[i]
			for k := range e.Jobs {
				of := e.Jobs[k].Candidates
				if target := e.Tuning.Target; len(of) > 1 && strings.HasPrefix(target.Metric, "test_") {
					t.Errorf("%s, experiment %s: %s is tuned by %s", info.Name, e.Name, of[0].Label, target)
				}
				if stop := of[0].Settings.Run.StopAt; strings.HasPrefix(stop.Metric, "test_") {
					t.Errorf("%s, experiment %s: %s stops at %s", info.Name, e.Name, of[0].Label, stop)
				}
			}
		}
	}
}
