package data

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The validation rows of a fold are those that Fold holds out of the training rows; the test rows are those of a run
// without folds. Rows that were loaded once give the same parts.
func TestFoldsAreValidationRows(t *testing.T) {
	cfg := Defaults()
	cfg.Bias, cfg.Skew, cfg.Split = true, true, 3
	cfg.Synthetic.Clients, cfg.Synthetic.Features, cfg.Synthetic.Factors, cfg.Synthetic.RowsMax = 4, 3, 2, 20
	cfg.Synthetic.RowsMin = 8
	set := loaded(t, cfg)
	divide := cfg
	for _, pool := range []bool{false, true} {
		for fold := range 5 {
			cfg.Folds, cfg.Fold, cfg.Pool = 5, fold, pool
			plain, err := divide.Divide(set, cfg.SplitSeed())
			if err != nil {
				t.Fatal(err)
			}
			parts, err := Fold(plain.Train, 5, fold, cfg.SplitSeed())
			if err != nil {
				t.Fatal(err)
			}
			want := &Split{Train: parts.Train, Validation: parts.Test, Test: plain.Test}
			if err := cfg.Transform(want); err != nil {
				t.Fatal(err)
			}
			if pool {
				want.each(Pool)
			}
			got, err := Prepare(cfg)
			if err != nil {
				t.Fatal(err)
			}
			once, err := PrepareLoaded(set, cfg)
			if err != nil {
				t.Fatal(err)
			}
			ignored := cmpopts.IgnoreUnexported(Set{}, Client{})
			if diff := cmp.Diff(want, got, ignored); diff != "" {
				t.Errorf("fold %d: prepared (+):\n%s", fold, diff)
			}
			if diff := cmp.Diff(want, once, ignored); diff != "" {
				t.Errorf("fold %d: of loaded rows (+):\n%s", fold, diff)
			}
		}
	}
	if diff := cmp.Diff(loaded(t, cfg), set, cmpopts.IgnoreUnexported(Set{}, Client{})); diff != "" {
		t.Errorf("the loaded rows have changed:\n%s", diff)
	}
}
