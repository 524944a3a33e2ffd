package privacy

import (
	"math"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// The accountant agrees with Google's dp-accounting 0.6.0 (RdpAccountant with its default
// orders) to 1e-9 relative. Opacus 1.6.0 has the signs of the binomial coefficients in the
// series of fractional orders, of which dp-accounting takes the sizes, and no bound of 0: its
// epsilon is lower by at most 2 %. The accountants of privacy loss distributions have the exact
// epsilon, which is below.
func TestEpsilonIsThatOfPublishedAccountants(t *testing.T) {
	for _, row := range filetest.Rows(t, "testdata/epsilon.csv")[1:] {
		x := make([]float64, len(row))
		for i := 1; i < len(row); i++ {
			if x[i] = math.NaN(); row[i] != "" {
				x[i] = filetest.Number(t, row[i])
			}
		}
		rate, noise, rounds, delta, google, opacus, exact := x[1], x[2], x[3], x[4], x[5], x[6], x[7]
		a := NewAccountant(delta, row[0])
		for range int(rounds) {
			a.Add(rate, noise)
		}
		got := a.Epsilon()
		expect.That(t, math.Abs(got-google) <= 1e-9*google,
			"%v: epsilon = %.15g, dp-accounting has %.15g", row[:5], got, google)
		expect.That(t, !(got < opacus-1e-9 || got > max(0, opacus)*1.02),
			"%v: epsilon = %.15g, Opacus has %.15g", row[:5], got, opacus)
		expect.That(t, !(got < exact), "%v: epsilon = %g is below the exact %g", row[:5], got, exact)
	}
}

// erfc at 40 digits (mpmath 1.4.1).
func TestLogErfc(t *testing.T) {
	for _, c := range [...][2]float64{
		{-7, 0.6931471805599453},
		{-5, 0.6931471805591766},
		{-2, 0.6908055736465877},
		{-0.3, 0.28414589714140825},
		{0, 0.0},
		{1e-9, -1.1283791677321324e-09},
		{0.5, -0.7350111298370844},
		{1.9, -4.932345862780269},
		{2, -5.364941264616638},
		{2.1, -5.816010968867555},
		{6, -38.37756117322339},
		{30, -903.9741171106439},
	} {
		if got := logErfc(c[0]); math.Abs(got-c[1]) > 1e-13*max(math.Abs(c[1]), 1e-3) {
			t.Errorf("logErfc(%g) = %.17g, want %.17g", c[0], got, c[1])
		}
	}
}
