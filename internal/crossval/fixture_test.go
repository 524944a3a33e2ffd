package crossval

import (
	"context"
	"testing"

	"fedsim/data"
	"fedsim/mtl"
)

// tiny returns a table that takes milliseconds: 5 related tasks with 6 features and a few
// rows each.
func tiny() Table {
	cfg := data.Defaults()
	cfg.Bias, cfg.Standardize = true, true
	cfg.Synthetic.Tasks, cfg.Synthetic.Features, cfg.Synthetic.Factors = 5, 6, 4
	cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax = 14, 26
	cfg.Synthetic.Noise = 0.05
	t := Table{Name: "tiny", Config: Defaults(), Sets: []Set{{Label: "tiny", Data: cfg}}}
	t.Shuffles, t.Folds, t.Lambdas = 3, 3, []float64{1e-3, 1e-2, 0.1, 1}
	return t
}

func run(t *testing.T, table Table, problem mtl.Config, workers int) *Result {
	t.Helper()
	r, err := table.Run(context.Background(), problem, Options{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
