package data

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
)

// All of the weights have all rows, however many there are.
func TestSharesOfManyRows(t *testing.T) {
	for i := range 1000 {
		total := 1 + math.Sqrt(float64(i))
		for _, rest := range []int{7, 1<<26 - 1, 1<<30 - 1} {
			got := shareOf(rest, total, total)
			expect.Must(t, got == rest, "%d of %d rows with all of %v", got, rest, total)
		}
	}
}
