package algorithms

import (
	"slices"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/state"
)

// The mean of (1, 2) and (3, 4) is (2, 3); (2, 3) is 0 from it, (5, 7) is 9 + 16.
func TestDeviationsFromTheMean(t *testing.T) {
	f := &fedAvg{globalModel: globalModel{w: data.NewMatrix(1, 2), changes: &slots{size: 2, of: make([]*vector, 4), places: make([]state.Place, 4)}}}
	for device, change := range [][]float64{{1, 2}, {5, 7}, {3, 4}, {2, 3}} {
		f.changes.store(device, change)
	}
	into := make([]float64, 2)
	Deviations(f, []int32{0, 2}, []int32{1, 3}, into)
	if !slices.Equal(into, []float64{25, 0}) {
		t.Errorf("deviations %v, want 25 and 0", into)
	}
}
