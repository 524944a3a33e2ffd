package algorithms

import (
	"slices"
	"testing"

	"fedsim/internal/tools/expect"
)

// updates are the tentative updates of devices.
type updates struct {
	Algorithm
	of [][]float64
}

func (u updates) Update(device int) Update { return Update{Values: u.of[device]} }

// The mean of (1, 2) and (3, 4) is (2, 3); (2, 3) is 0 from it, (5, 7) is 9 + 16.
func TestDeviationsFromTheMean(t *testing.T) {
	into := make([]float64, 2)
	Deviations(updates{of: [][]float64{{1, 2}, {5, 7}, {3, 4}, {2, 3}}}, []int32{0, 2}, []int32{1, 3}, into)
	expect.That(t, slices.Equal(into, []float64{25, 0}), "deviations %v, want 25 and 0", into)
}
