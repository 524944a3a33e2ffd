package twin

import (
	"math"

	"fedsim/internal/tools/elementary"
)

// OnOff is a client that is available for exponential times of mean Up seconds, and not for those of mean Down.
type OnOff struct{ Up, Down float64 }

// Share returns the share of time that a client is available.
func (o OnOff) Share() float64 { return o.Up / (o.Up + o.Down) }

// Relaxation returns the seconds in which a client forgets by a factor of e whether it was available.
func (o OnOff) Relaxation() float64 { return 1 / (1/o.Up + 1/o.Down) }

// Completed returns the probability that work of a law, which begins while the client is available, ends within a
// deadline before it is not: the mean of exp(-X/Up), X at most the deadline. By parts it is an integral of the law.
func (o OnOff) Completed(l Law, deadline float64) float64 {
	late := float64(l.CDF(deadline) * elementary.Exp(-deadline/o.Up))
	return late + integral([]Law{l}, deadline, func(t float64) float64 {
		return l.CDF(t) * elementary.Exp(-t/o.Up) / o.Up
	})
}

// Wait returns the mean seconds until k of n clients are available, from any instant on: 0 if they are.
func (o OnOff) Wait(n, k int) (mean float64) {
	available := binomial(n, o.Share(), k-1)
	// climb: the seconds from j available to j+1, of a birth and death process
	climb, rest := 0.0, 0.0
	until := make([]float64, k+1)
	for j := range k {
		up := float64(n-j) / o.Down
		climb = (1 + float64(float64(j)/o.Up*climb)) / up
		until[j] = climb
	}
	for j := k - 1; j >= 0; j-- {
		rest += until[j]
		mean += float64(available[j] * rest)
	}
	return mean
}

// Alone returns the mean seconds of rounds of one client whose work takes w seconds. It continues behind an
// interruption, or begins anew, when the response was due, or as soon as the client is available then.
func (o OnOff) Alone(w float64, resume bool) float64 {
	if resume {
		return w * (1 + o.Down/o.Up)
	}
	off := o.Down / (o.Up + o.Down) * -elementary.Expm1(-w/o.Relaxation())
	return elementary.Exp(w/o.Up) * (w + float64(off*o.Down))
}

// Unbounded is the deadline of a round without one.
var Unbounded = math.Inf(1)
