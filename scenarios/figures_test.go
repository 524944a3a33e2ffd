package scenarios

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// lte-high-var.toml holds all three figures, and each has its own file:
// both must run the same.
func TestEachFigureEqualsItsPartOfTheWhole(t *testing.T) {
	whole, err := Load("lte-high-var", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(whole.Experiments) != 3 {
		t.Fatalf("lte-high-var has %d experiments, want those of three figures", len(whole.Experiments))
	}
	for _, part := range whole.Experiments {
		single, err := Load(part.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(single.Experiments) != 1 {
			t.Fatalf("%s has %d experiments, want 1", part.Name, len(single.Experiments))
		}
		own := single.Experiments[0]
		if diff := cmp.Diff(part.Figure, own.Figure); diff != "" {
			t.Errorf("%s: figures differ (-whole +own):\n%s", part.Name, diff)
		}
		if diff := cmp.Diff(part.Tuning, own.Tuning); diff != "" {
			t.Errorf("%s: tuning differs (-whole +own):\n%s", part.Name, diff)
		}
		if len(part.Jobs) != len(own.Jobs) {
			t.Fatalf("%s: %d jobs in the whole, %d in its own file", part.Name, len(part.Jobs), len(own.Jobs))
		}
		for i := range part.Jobs {
			for k, a := range part.Jobs[i].Candidates {
				b := own.Jobs[i].Candidates[k]
				// A run depends on the options of its method only.
				a.Settings.Methods, b.Settings.Methods = nil, nil
				if diff := cmp.Diff(a, b); diff != "" {
					t.Fatalf("%s: run %s differs (-whole +own):\n%s", part.Name, a.ID, diff)
				}
			}
		}
	}
}
