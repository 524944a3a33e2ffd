package results

import (
	"encoding/json"
	"math"
)

// Number is a number in JSON: null when it is not known (NaN) or not finite.
type Number float64

// MarshalJSON writes the shortest digits that read back to the same bits, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if x := float64(n); math.IsNaN(x) || math.IsInf(x, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}
