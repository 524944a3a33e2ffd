package experiment

import (
	"fmt"
	"slices"

	"fedsim/config"
	"fedsim/experiment/scenario"
	"fedsim/internal/crossval"
)

// tableItems returns the items of a table: its data sets.
func tableItems(t *scenario.PredictionTable) (items []Item) {
	for i := range t.Sets {
		set := &t.Sets[i]
		items = append(items, Item{
			Kind: KindTable, Of: []string{t.Name, set.Label}, States: []string{crossval.StateName(t.Name, set.Label)}, Cost: setCost(t, set),
		})
	}
	return items
}

// setCost estimates a data set of a table. A set from a file has the sizes of the generated one
// that replaces it if the file is missing.
func setCost(t *scenario.PredictionTable, set *scenario.PredictionSet) Cost {
	of := &set.Data
	if set.Fallback != nil {
		of = set.Fallback
	}
	return fitsCost(*of, len(t.Models)*t.Shuffles*(t.Folds*len(t.Lambdas)+t.OmegaUpdates))
}

// makeSet computes a data set of a table.
func (r *runner) makeSet(s *scenario.Scenario, of []string) error {
	i := slices.IndexFunc(s.Tables, func(t scenario.PredictionTable) bool { return len(of) == 2 && t.Name == of[0] })
	if i < 0 {
		return config.Problem{Key: "item", Value: fmt.Sprint(of), Want: "must be a table of the scenario and one of its data sets"}
	}
	table, ok := s.Tables[i].Only(of[1])
	if !ok {
		return config.Problem{Key: "item", Value: of[1], Want: "must be a data set of table " + of[0]}
	}
	_, err := table.Run(r.ctx, s.Settings.Problem, crossval.Options{
		Workers: r.options.Workers, Folder: r.options.DataFolder, Checkpoint: r.options.Checkpoints, Shared: r.shared(),
		Progress: func(p crossval.Progress) {
			if r.options.Progress != nil {
				r.options.Progress(Progress{Done: p.Done, Total: p.Total, Share: float64(p.Done) / float64(p.Total), Run: p.Set + ", " + p.Model, Phase: PhaseTables})
			}
		},
	})
	return err
}
