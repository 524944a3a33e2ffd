package devices

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"fedsim/engine"
)

// What is put into the cells is taken out, and no other is touched.
func TestCellsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		chargers := rapid.Bool().Draw(t, "chargers")
		c := newCells(3, chargers)
		var twin [3]cell
		if !chargers {
			for k := range twin {
				twin[k].change = engine.Never
			}
		}
		for range rapid.IntRange(1, 20).Draw(t, "puts") {
			k := rapid.IntRange(0, 2).Draw(t, "device")
			x := cell{
				left: rapid.Float64().Draw(t, "left"), due: engine.Time(rapid.Int64().Draw(t, "due")), change: engine.Never,
				plugged: rapid.Bool().Draw(t, "plugged"), flat: rapid.Bool().Draw(t, "flat"), certain: rapid.Bool().Draw(t, "certain"),
			}
			if chargers {
				x.change = engine.Time(rapid.Int64().Draw(t, "change"))
			}
			c.put(k, &x)
			twin[k] = x
			for k, want := range twin {
				if got := c.at(k); got != want || c.flat(k) != want.flat || c.left(k) != want.left || c.due(k) != want.due {
					t.Fatalf("cell %d is %+v, want %+v", k, got, want)
				}
			}
		}
	})
}

// Of a million numbers the sum has the last digit but one, where adding them up one by
// one has lost four more.
func TestSumKeepsItsDigits(t *testing.T) {
	var s sum
	plain, exact := 0.0, new(big.Float).SetPrec(200)
	for k := range 1_000_000 {
		x := 0.1 + float64(k%7)*1e-3
		s.add(x)
		plain += x
		exact.Add(exact, new(big.Float).SetFloat64(x))
	}
	want, _ := exact.Float64()
	if off := math.Abs(s.value()-want) / want; off > 3e-16 {
		t.Errorf("the sum is off by %g of itself, adding up by %g", off, math.Abs(plain-want)/want)
	}
	if math.Abs(plain-want) == 0 {
		t.Error("adding up loses nothing: nothing is tested")
	}
}
