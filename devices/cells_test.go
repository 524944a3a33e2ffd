package devices

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
)

// A stored cell can be loaded again, and no other cell changes.
func TestCellsLoadAsStored(t *testing.T) {
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
				left: rapid.Float64().Draw(t, "left"), due: engine.Time(rapid.Int64().Draw(t, "due")),
				change: engine.Never, plugged: rapid.Bool().Draw(t, "plugged"), depleted: rapid.Bool().Draw(t, "flat"),
				certain: rapid.Bool().Draw(t, "certain"),
			}
			if chargers {
				x.change = engine.Time(rapid.Int64().Draw(t, "change"))
			}
			c.put(k, &x)
			twin[k] = x
			for k, want := range twin {
				if got := c.at(k); got != want || c.depleted(k) != want.depleted || c.left(k) != want.left ||
					c.due(k) != want.due {
					t.Fatalf("cell %d is %+v, want %+v", k, got, want)
				}
			}
		}
	})
}

// The sum of a million numbers is exact to the last digit but one. Plain addition loses
// four more digits.
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
	off := math.Abs(s.value()-want) / want
	expect.That(t, off <= 3e-16, "relative error %g of the sum, %g of plain addition", off, math.Abs(plain-want)/want)
	expect.That(t, math.Abs(plain-want) != 0, "plain addition is exact: the test is void")
}
