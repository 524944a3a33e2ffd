package experiment

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/crossval"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// SetName names a data set of a table of prediction errors, and its state.
func SetName(table, label string) string { return fmt.Sprintf("table %s, data set %q", table, label) }

// tableItems returns the items of a table: its data sets.
func tableItems(t *scenario.PredictionTable) (items []Item) {
	for i := range t.Sets {
		set := &t.Sets[i]
		items = append(items, Item{
			Kind: KindTable, Of: []string{t.Name, set.Label},
			States: []string{SetName(t.Name, set.Label)}, Cost: setCost(t, set),
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

// Tables makes tables of prediction errors, in their order, for a problem with other values of lambda.
// made receives each. It looks for the data files of all tables before it reads any. When ctx ends, the
// error wraps that of ctx.
func Tables(
	ctx context.Context, tables []scenario.PredictionTable, problem mtl.Config, o Options, made func(*crossval.Result) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := newRunner(ctx, cancel, o, mostRecorded)
	defer r.endLearners()
	return r.tables(tables, problem, made)
}

func (r *runner) tables(
	tables []scenario.PredictionTable, problem mtl.Config, made func(*crossval.Result) error,
) error {
	problem.Loss = cmp.Or(problem.Loss, mtl.LossHinge)
	var sources []crossval.Source
	for i := range tables {
		t := &tables[i]
		for k := range t.Sets {
			from, err := t.Sets[k].Locate(r.options.DataFolder)
			if err != nil {
				return err
			}
			sources = append(sources, from)
		}
		r.total += len(t.Sets) * len(t.Models) * t.Shuffles * (t.Folds + 1)
	}
	for i := range tables {
		t := &tables[i]
		result := &crossval.Result{Name: t.Name, Config: t.Config}
		for k := range t.Sets {
			column, err := r.column(t, &t.Sets[k], sources[k], problem)
			if err != nil {
				return fmt.Errorf("%s: %w", SetName(t.Name, t.Sets[k].Label), err)
			}
			result.Columns = append(result.Columns, column)
		}
		sources = sources[len(t.Sets):]
		if err := made(result); err != nil {
			return err
		}
	}
	return nil
}

// makeSet makes a data set of a table, which stores its state.
func (r *runner) makeSet(s *scenario.Scenario, of []string) error {
	for _, t := range s.Tables {
		for i := range t.Sets {
			if slices.Equal(of, []string{t.Name, t.Sets[i].Label}) {
				t.Sets = t.Sets[i : i+1]
				only := []scenario.PredictionTable{t}
				return r.tables(only, s.Settings.Problem, func(*crossval.Result) error { return nil })
			}
		}
	}
	return noItem(of, "a table of the scenario and one of its data sets")
}

// column makes the column of a data set in a table: the folds of all shuffles, then the tests.
func (r *runner) column(
	t *scenario.PredictionTable, set *scenario.PredictionSet, from crossval.Source, problem mtl.Config,
) (column crossval.Column, err error) {
	trial, err := parallel.Await(r.ctx, func() (*crossval.Trial, error) {
		return crossval.NewTrial(t, set, from, problem, r.pool)
	})
	if err != nil {
		return column, err
	}
	saved, err := r.newStepSaver(SetName(t.Name, set.Label), func(c *state.Coder) {
		trial.State(c)
		sameRows(c, trial.Rows())
	})
	if err != nil {
		return column, err
	}
	for part := range trial.Parts() {
		r.add(0, trial.Trained(part))
	}
	train := func(part int) error {
		return trial.Train(r.ctx, part, func(model string) error {
			r.report(set.Label+", "+model, PhaseTables, math.NaN(), 1, 1)
			return saved.step()
		})
	}
	err = r.each(0, trial.Folds(), train)
	if err == nil {
		err = r.each(trial.Folds(), trial.Parts(), train)
	}
	if err = cmp.Or(saved.end(), err); err != nil {
		return column, err
	}
	return trial.Column(), nil
}

// each works on first, ..., end-1 in parallel until one fails, and returns the error of the lowest.
func (r *runner) each(first, end int, work func(i int) error) error {
	failed := make([]error, end-first)
	r.pool.For(len(failed), func(i, _ int) {
		if failed[i] = context.Cause(r.ctx); failed[i] == nil {
			if failed[i] = work(first + i); failed[i] != nil && r.ctx.Err() == nil {
				r.cancel(failed[i])
			}
		}
	})
	for _, err := range failed {
		if err != nil && !Interrupted(err) {
			return err
		}
	}
	return context.Cause(r.ctx)
}
