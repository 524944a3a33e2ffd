package elementary

import "math"

// Sin returns the sine of x for |x| < 2^29, NaN beyond. Near its zeros except 0, the
// error is that of 107 bits of pi.
func Sin(x float64) float64 { return math.Copysign(1, x) * octants(math.Abs(x), 0) }

// Cos returns the cosine of x, with the accuracy of Sin.
func Cos(x float64) float64 { return octants(math.Abs(x), 2) }

// octants returns the sine of x + shift pi/4, for an x that is not negative and an
// even shift.
func octants(x float64, shift uint64) float64 {
	if !(x < 1<<29) {
		return math.NaN()
	}
	n := uint64(x * (4 / math.Pi))
	n += n & 1
	// pi/4
	const first, second, third = 7.85398125648498535156e-1, 3.77489470793079817668e-8, 2.69515142907905952645e-15
	y := float64(n)
	part, last := (x-float64(y*first))-float64(y*second), float64(y*third)
	z := part - last
	tail := (part - z) - last // x less a multiple of pi/4 is z + tail
	zz := float64(z * z)
	half := float64(0.5 * zz)
	n += shift
	sine := 0.0
	if n&2 == 0 {
		sine = z + (float64(float64(z*zz)*horner(zz, sinCoefficients[:])) + float64(tail*(1-half)))
	} else {
		near := 1 - half
		sine = near + (((1 - near) - half) + (float64(float64(zz*zz)*horner(zz, cosCoefficients[:])) - float64(z*tail)))
	}
	if n&4 != 0 {
		return -sine
	}
	return sine
}

var sinCoefficients = [6]float64{
	1.58962301576546568060e-10, -2.50507477628578072866e-8, 2.75573136213857245213e-6,
	-1.98412698295895385996e-4, 8.33333333332211858878e-3, -1.66666666666666307295e-1,
}

var cosCoefficients = [6]float64{
	-1.13585365213876817300e-11, 2.08757008419747316778e-9, -2.75573141792967388112e-7,
	2.48015872888517045348e-5, -1.38888888888730564116e-3, 4.16666666666665929218e-2,
}

// horner returns the value at x of the polynomial with the coefficients c, that of
// the highest power first.
func horner(x float64, c []float64) float64 {
	value := 0.0
	for _, a := range c {
		value = float64(value*x) + a
	}
	return value
}
