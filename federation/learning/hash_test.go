package learning

import (
	"math"
	"testing"

	"fedsim/data"
)

// Processors differ in the sign and the bits of the NaN that they make.
func TestAllNaNHashAlike(t *testing.T) {
	w := data.NewMatrix(1, 2)
	w.Row(0)[0], w.Row(0)[1] = 1, math.NaN()
	want := HashWeights(&w, 1)
	w.Row(0)[1] = math.Float64frombits(0xfff8000000000000)
	if got := HashWeights(&w, 1); got != want {
		t.Errorf("the hash is %x with one NaN, %x with another", want, got)
	}
	w.Row(0)[1] = 2
	if HashWeights(&w, 1) == want {
		t.Error("2 and NaN hash alike")
	}
}
