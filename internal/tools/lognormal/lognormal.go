// Package lognormal provides random factors of rates and durations: log-normal numbers
// of mean one with a given coefficient of variation.
//
// It must not know the quantities that it multiplies.
package lognormal

import (
	"math"

	"fedsim/internal/tools/elementary"
)

// Multiplier is the distribution exp(sigma z - sigma^2/2), z standard normal. Its
// mean is 1 and its coefficient of variation sqrt(exp(sigma^2) - 1). The zero
// value is the constant 1.
type Multiplier struct{ sigma float64 }

// Of returns the multiplier with the coefficient of variation cv (standard
// deviation over mean), which must not be negative.
func Of(cv float64) Multiplier { return Multiplier{sigma: math.Sqrt(elementary.Log1p(cv * cv))} }

// At returns the factor for the standard normal number z. It is exactly 1 if the
// coefficient of variation is 0.
func (m Multiplier) At(z float64) float64 { return elementary.Exp(m.sigma * (z - float64(m.sigma/2))) }

// Above returns the probability that the factor is above x.
func (m Multiplier) Above(x float64) float64 {
	switch {
	case m.sigma > 0 && x > 0:
		return elementary.Erfc((elementary.Log(x)/m.sigma+float64(m.sigma/2))/math.Sqrt2) / 2
	case x < 1:
		return 1
	default:
		return 0
	}
}
