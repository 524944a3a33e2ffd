package experiment

import (
	"context"
	"fmt"

	"fedsim/experiment/scenario"
	"fedsim/results"
)

// Again makes one run of a scenario again, for what Options.Journal records of it. The error says when its rounds
// differ from those that were recorded: the program or the data are others.
func Again(ctx context.Context, s *scenario.Scenario, run *scenario.RunSpec, recorded *results.Run, o Options) error {
	only := scenario.Experiment{Name: run.Experiment}
	for i := range s.Experiments {
		if e := &s.Experiments[i]; e.Name == run.Experiment {
			only.Tuning.Refit = e.Tuning.Refit
		}
	}
	only.Jobs = []scenario.Job{{Candidates: []scenario.RunSpec{*run}, Seeds: []uint64{run.Seed}}}
	o.Recorder = &again{id: run.ID, rounds: recorded.Rounds}
	return Run(ctx, []scenario.Experiment{only}, o)
}

// again is a recorder that compares the rounds of a run with those of an earlier one.
type again struct {
	id     string
	rounds []results.Round
	at     int
}

func (a *again) Begin(int, results.Run) (results.Rows, error) { return a, nil }

func (a *again) Done(string) bool { return false }

func (a *again) Round(r *results.Round) error {
	if a.at < len(a.rounds) && a.rounds[a.at].TimeS != r.TimeS {
		return fmt.Errorf("run %s: round %d ends at %v s, and at %v s in the run directory: "+
			"this program or the data are not those of the run", a.id, r.Round, r.TimeS, a.rounds[a.at].TimeS)
	}
	a.at++
	return nil
}

func (a *again) Devices([]results.DeviceRow) error { return nil }

func (a *again) Model(int, int, func(int) []float64) error { return nil }

func (a *again) State(*results.Coder) {}

func (a *again) End(results.Run) error { return nil }
