package twin

import (
	"math"

	"fedsim/internal/tools/elementary"
)

// Asynchronous is a server without rounds, of whose clients so many are at work: it takes each response when it
// arrives, and asks a client drawn uniformly from the idle ones, the same one among them.
type Asynchronous struct {
	Rate      float64   // updates per second
	Each      []float64 // of each client
	Staleness []float64 // by client, the updates between the message to it and its own
	Exact     bool      // false: for many clients
}

// mostSums is the largest number of additions that the exact form may take.
const mostSums = 200_000_000

// NewAsynchronous returns the form for mean response times tau in seconds and m clients at work, whatever the laws
// of times (docs/theory.md). With e_j the elementary symmetric polynomials of tau, and e_j(-i) those without tau_i,
//
//	rate = (n-m+1) e_(m-1)/e_m,  rate_i = e_(m-1)(-i)/e_m,  staleness_i = tau_i (n-m+1) e_(m-2)(-i)/e_(m-1)(-i).
//
// Where they are too many sums, rate_i = y/(1 + y tau_i) with the y for which sum_i tau_i rate_i = m.
func NewAsynchronous(tau []float64, m int) Asynchronous {
	n := len(tau)
	a := Asynchronous{Each: make([]float64, n), Staleness: make([]float64, n)}
	distinct := map[float64][2]float64{} // rate and staleness by tau; never iterated
	for _, t := range tau {
		distinct[t] = [2]float64{}
	}
	if a.Exact = float64(len(distinct)+1)*float64(n)*float64(m) <= mostSums; !a.Exact {
		a.many(tau, m)
		return a
	}
	all := symmetric(tau, m, -1)
	free := float64(n - m + 1)
	a.Rate = free * elementary.Exp(all[m-1]-all[m])
	clear(distinct)
	for i, t := range tau {
		of, known := distinct[t]
		if !known {
			rest := symmetric(tau, m-1, i)
			of[0] = elementary.Exp(rest[m-1] - all[m])
			if m > 1 {
				of[1] = t * free * elementary.Exp(rest[m-2]-rest[m-1])
			}
			distinct[t] = of
		}
		a.Each[i], a.Staleness[i] = of[0], of[1]
	}
	return a
}

// many sets the form for many clients.
func (a *Asynchronous) many(tau []float64, m int) {
	low, high := -700.0, 700.0 // log y
	for range 200 {
		middle, sum := (low+high)/2, 0.0
		for _, t := range tau {
			x := float64(elementary.Exp(middle) * t)
			sum += x / (1 + x)
		}
		if sum < float64(m) {
			low = middle
		} else {
			high = middle
		}
	}
	y := elementary.Exp(low)
	for i, t := range tau {
		a.Each[i] = y / (1 + float64(y*t))
		a.Rate += a.Each[i]
	}
	for i, t := range tau {
		a.Staleness[i] = t * (a.Rate - a.Each[i])
	}
}

// symmetric returns the logarithms of e_0..e_most of all numbers but one; -1: of all.
func symmetric(x []float64, most, but int) []float64 {
	e := make([]float64, most+1)
	for j := 1; j <= most; j++ {
		e[j] = math.Inf(-1)
	}
	for i, v := range x {
		if i == but {
			continue
		}
		v = elementary.Log(v)
		for j := min(i+1, most); j > 0; j-- {
			e[j] = logSum(e[j], v+e[j-1])
		}
	}
	return e
}

// logSum returns the logarithm of a sum of two numbers with such logarithms.
func logSum(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + elementary.Log1p(elementary.Exp(b-a))
}

// Station returns the updates per second of Asynchronous with a station through which all responses pass, and the
// mean number that are there: a link that they share alike, each of which alone takes s seconds, or a server that
// takes them in order, each for an exponential time of mean s. The numbers tau are the mean times until then. The
// probability of j responses at the station is proportional to
//
//	e_(m-j) (n-m+j)!/(n-m)! s^j.
func Station(tau []float64, m int, s float64) (rate, there float64) {
	e, n := symmetric(tau, m, -1), len(tau)
	weights, most, factor := make([]float64, m+1), math.Inf(-1), 0.0
	for j := range weights {
		if j > 0 {
			factor += elementary.Log(float64(float64(n-m+j) * s))
		}
		weights[j] = factor + e[m-j]
		most = max(most, weights[j])
	}
	sum, busy := 0.0, 0.0
	for j, w := range weights {
		p := elementary.Exp(w - most)
		sum += p
		there += float64(float64(j) * p)
		if j > 0 {
			busy += p
		}
	}
	return busy / sum / s, there / sum
}
