package into

import (
	"slices"

	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/ranking"
	"fedsim/results"
)

func init() { ofRooms, hasRanks = append(ofRooms, ranks), true }

// ranks returns the ranks of methods in the experiments of a scenario that ask for them.
func ranks(s *scenario.Scenario, runs []results.Run) (list results.Sections) {
	for i := range s.Experiments {
		if e := &s.Experiments[i]; e.Ranks {
			if own := of(e, runs); len(own) > 0 {
				list = append(list,
					ranking.New(own, e.Jobs[0].Candidates[0].Settings.Run.Targets, overlapIn(e)).Section())
			}
		}
	}
	return list
}

// overlapIn returns the overlap of the runs of an experiment whose seeds split given rows: t/((1-t)(1-v)) for shares t
// of test rows and v of validation rows in the others, on which winners train with experiment.tuning.refit.
func overlapIn(e *scenario.Experiment) ranking.Overlap {
	return func(r *results.Run) float64 {
		at := slices.IndexFunc(e.Jobs, func(j scenario.Job) bool {
			return j.Candidates[0].Label == r.Method && slices.Equal(j.Candidates[0].Point, r.Point)
		})
		s := &e.Jobs[at].Candidates[0].Settings
		given, _ := s.Data.OrFallback()
		if s.Run.Vary == results.VarySystem || s.Run.Vary == results.VaryAll && given.Generates() {
			return 0
		}
		training := 1 - s.Data.TestFraction
		if !e.Tuning.Refit {
			training *= 1 - s.Data.Validation
		}
		return s.Data.TestFraction / training
	}
}
