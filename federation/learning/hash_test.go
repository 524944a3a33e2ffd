package learning

import (
	"math"
	"testing"

	"fedsim/data"
)

// Rows that are made have the hash of those in memory.
func TestMadeRowsHashAlike(t *testing.T) {
	w := data.NewMatrix(3, 2)
	for i := range 3 {
		w.Row(i)[0], w.Row(i)[1] = float64(i), -0.5
	}
	made := data.Matrix{Rows: 3, Cols: 2, Make: func(i, _ int, into []float64) { copy(into, w.Row(i)) }}
	if got, want := HashWeights(&made, 3), HashWeights(&w, 3); got != want {
		t.Errorf("the hash is %x, in memory %x", got, want)
	}
}

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
