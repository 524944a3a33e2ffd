package elementary

import "math"

// Log returns the natural logarithm of x, -Inf for 0 and NaN for negative x.
func Log(x float64) float64 {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 1):
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	k, f := split(x)
	return log(k, f, 0)
}

// Log1p returns the logarithm of 1 + x, with full relative precision for small x.
func Log1p(x float64) float64 {
	switch {
	case x == 0 || math.IsNaN(x) || math.IsInf(x, 1):
		return x // -0 stays
	case x <= -1:
		return Log(1 + x)
	}
	u := 1 + x
	lost := x - (u - 1) // 1 + x = u + lost
	if x > 1 {
		lost = 1 - (u - x)
	}
	k, f := split(u)
	return log(k, f, lost/u)
}

// split returns k and f with x = 2^k (1 + f) and 1/2 <= (1 + f)^2 < 2, for a
// positive finite x.
func split(x float64) (k int, f float64) {
	const (
		halfRoot2 = 0x3FE6A09E667F3BCD // the bits of sqrt(1/2)
		mantissa  = 52
	)
	if x < 0x1p-1022 {
		x *= 0x1p54
		k = -54
	}
	bits := math.Float64bits(x)
	steps := int64(bits-halfRoot2) >> mantissa
	return k + int(steps), math.Float64frombits(bits-uint64(steps)<<mantissa) - 1
}

// log returns k ln 2 + log(1 + f) + c for a c that is small beside the rest.
func log(exponent int, f, c float64) float64 {
	const (
		l1 = 6.666666666666735130e-01
		l2 = 3.999999999940941908e-01
		l3 = 2.857142874366239149e-01
		l4 = 2.222219843214978396e-01
		l5 = 1.818357216161805012e-01
		l6 = 1.531383769920937332e-01
		l7 = 1.479819860511658591e-01
	)
	k := float64(exponent)
	s := f / (2 + f)
	s2 := float64(s * s)
	s4 := float64(s2 * s2)
	odd := float64(s2 * (l1 + float64(s4*(l3+float64(s4*(l5+float64(s4*l7)))))))
	even := float64(s4 * (l2 + float64(s4*(l4+float64(s4*l6)))))
	half := float64(float64(0.5*f) * f)
	return float64(k*ln2High) - ((half - (float64(s*(half+(odd+even))) + (float64(k*ln2Low) + c))) - f)
}
