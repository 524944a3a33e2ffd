package data

import (
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The validation rows of a fold are those that Fold holds out of the training rows; the test rows are those of a run
// without folds. Rows that were loaded once give the same parts.
func TestFoldsAreValidationRows(t *testing.T) {
	cfg := Defaults()
	cfg.Bias, cfg.Skew, cfg.Split = true, 3, 3
	cfg.Synthetic.Clients, cfg.Synthetic.Features, cfg.Synthetic.Factors, cfg.Synthetic.RowsMax = 4, 3, 2, 20
	cfg.Synthetic.RowsMin = 8
	set := loaded(t, cfg)
	divide := cfg
	for _, pool := range []bool{false, true} {
		for fold := range 5 {
			cfg.Folds, cfg.Fold, cfg.Pool = 5, fold, pool
			plain := expect.Value(divide.Divide(set, cfg.SplitSeed()))(t)
			parts := expect.Value(Fold(plain.Train, 5, fold, cfg.SplitSeed()))(t)
			want := &Split{Train: parts.Train, Validation: parts.Test, Test: plain.Test}
			expect.NoError(t, cfg.Transform(want))
			if pool {
				want.each(Pool)
			}
			got := expect.Value(Prepare(cfg))(t)
			once := expect.Value(PrepareLoaded(set, cfg))(t)
			ignored := cmpopts.IgnoreUnexported(Set{}, Client{})
			diff := cmp.Diff(want, got, ignored)
			expect.That(t, diff == "", "fold %d: prepared (+):\n%s", fold, diff)
			diff = cmp.Diff(want, once, ignored)
			expect.That(t, diff == "", "fold %d: of loaded rows (+):\n%s", fold, diff)
		}
	}
	if diff := cmp.Diff(loaded(t, cfg), set, cmpopts.IgnoreUnexported(Set{}, Client{})); diff != "" {
		t.Errorf("the loaded rows have changed:\n%s", diff)
	}
}
