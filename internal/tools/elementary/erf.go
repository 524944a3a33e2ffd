package elementary

// Erfc returns 1 minus the error function of x, to within 1e-14 of it: by its Taylor series about 0 where |x| is
// small, and by its continued fraction elsewhere (Abramowitz, Stegun, 7.1.6 and 7.1.14).
func Erfc(x float64) float64 {
	const small, terms = 2.5, 60
	square := float64(x * x)
	switch {
	case x < -small:
		return 2 - Erfc(-x)
	case x <= small:
		term, sum := x, x
		for n := 1; n < terms; n++ {
			term = float64(term * (2 * square / float64(2*n+1)))
			sum += term
		}
		return 1 - float64(2*sum*Exp(-square))/sqrtPi
	}
	rest := x
	for n := terms; n > 0; n-- {
		rest = x + float64(n)/2/rest
	}
	return Exp(-square) / (rest * sqrtPi)
}

const sqrtPi = 1.77245385090551602729816748334114518
