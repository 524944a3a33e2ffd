package crossval

import (
	"context"
	"errors"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/parallel"
	"fedsim/mtl"
)

// tiny returns a table that takes milliseconds: 5 related tasks with 6 features and a few
// rows each.
func tiny() TableSpec {
	cfg := data.Defaults()
	cfg.Bias, cfg.Standardize = true, true
	cfg.Synthetic.Clients, cfg.Synthetic.Features, cfg.Synthetic.Factors = 5, 6, 4
	cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax = 14, 26
	cfg.Synthetic.Noise = 0.05
	t := TableSpec{Name: "tiny", Config: Defaults(), Sets: []Set{{Label: "tiny", Data: cfg}}}
	t.Shuffles, t.Folds, t.Lambdas = 3, 3, []float64{1e-3, 1e-2, 0.1, 1}
	return t
}

func run(t *testing.T, table TableSpec, problem mtl.Config, workers int) *Result {
	t.Helper()
	r := &Result{Name: table.Name, Config: table.Config}
	for i := range table.Sets {
		from, err := table.Sets[i].Locate("")
		if err != nil {
			t.Fatal(err)
		}
		trial, err := NewTrial(&table, &table.Sets[i], from, problem, parallel.NewPool(workers))
		if err != nil {
			t.Fatal(err)
		}
		if err := trainAll(t.Context(), trial, workers); err != nil {
			t.Fatal(err)
		}
		r.Columns = append(r.Columns, trial.Column())
	}
	return r
}

// trainAll trains all parts of a trial on some workers.
func trainAll(ctx context.Context, trial *Trial, workers int) error {
	failed := make([]error, trial.Parts())
	train := func(part int) {
		failed[part] = trial.Train(ctx, part, func(string) error { return nil })
	}
	pool := parallel.NewPool(workers)
	pool.For(trial.Folds(), func(i, _ int) { train(i) })
	pool.For(trial.Parts()-trial.Folds(), func(i, _ int) { train(trial.Folds() + i) })
	return errors.Join(failed...)
}
