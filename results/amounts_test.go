package results

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
)

// One unit fits all amounts of a column, however they differ.
func TestUnitOfAColumn(t *testing.T) {
	for _, c := range []struct {
		in      amountUnits
		amounts []float64
		unit    string
		texts   []string
	}{
		{timeUnits, []float64{59.8, 151}, "min", []string{"1.00 min", "2.52 min"}},
		{timeUnits, []float64{0.247, 0.383, 6}, "s", []string{"0.25 s", "0.38 s", "6.00 s"}},
		{timeUnits, []float64{0.002, 30}, "ms", []string{"2.00 ms", "30000 ms"}},
		{byteUnits, []float64{186e3, 55.7e6, math.NaN()}, "MB", []string{"0.19 MB", "55.7 MB", "-"}},
		{energyUnits, []float64{0, 11.4}, "J", []string{"0 J", "11.4 J"}},
		{energyUnits, nil, "J", nil},
	} {
		u := c.in.of(c.amounts...)
		expect.That(t, u.name == c.unit, "%v: unit %s, must be %s", c.amounts, u.name, c.unit)
		for i, v := range c.amounts {
			got := u.text(v)
			expect.That(t, got == c.texts[i], "%v is %q, must be %q", v, got, c.texts[i])
		}
	}
	if got := EnergyText(8.41, true); got != "-" {
		t.Errorf("relative units of energy are %q, must be none", got)
	}
}
