package twin

import (
	"math"
	"slices"

	"fedsim/internal/tools/elementary"
)

// Round is a round that asks clients drawn uniformly from all.
type Round struct {
	Laws     []Law   // of the response times of all clients
	Asked    int     // clients
	Needed   int     // responses that end the round
	Fails    float64 // probability that an attempt fails, which the server notices when the response was due
	Deadline float64 // the round ends then at the latest; +Inf: it does not
	Least    int     // responses that a round needs; with fewer it is void
}

// equal reports whether all clients have the same law.
func (r *Round) equal() bool {
	return !slices.ContainsFunc(r.Laws, func(l Law) bool { return l != r.Laws[0] })
}

// Exact reports whether the form is exact; otherwise it takes the cohort as drawn one by one, with repetition.
func (r *Round) Exact() bool {
	return r.equal() || float64(len(r.Laws))*float64(r.Asked)*float64(r.Needed) <= 1e6
}

// counts returns the probabilities of 0, 1, ... responses until t, up to most of them.
func (r *Round) counts(t float64, most int) []float64 {
	arrive := func(i int) float64 {
		if math.IsInf(t, 1) {
			return 1 - r.Fails
		}
		return float64((1 - r.Fails) * r.Laws[i].CDF(t))
	}
	if r.equal() {
		return binomial(r.Asked, arrive(0), most)
	}
	if !r.Exact() {
		mean := 0.0
		for i := range r.Laws {
			mean += arrive(i) / float64(len(r.Laws))
		}
		return binomial(r.Asked, mean, most)
	}
	// by[a][j]: j of a clients, drawn uniformly from the first i, have responded
	by := make([][]float64, r.Asked+1)
	for a := range by {
		by[a] = make([]float64, most+1)
	}
	by[0][0] = 1
	for i := range r.Laws {
		p := arrive(i)
		for a := min(i+1, r.Asked); a > 0; a-- {
			with := float64(a) / float64(i+1)
			for j := min(a, most); j >= 0; j-- {
				x := float64((1 - p) * by[a-1][j])
				if j > 0 {
					x += float64(p * by[a-1][j-1])
				}
				by[a][j] = float64((1-with)*by[a][j]) + float64(with*x)
			}
		}
	}
	return by[r.Asked]
}

// allDue returns the probability that all responses were due until t.
func (r *Round) allDue(t float64) float64 {
	if r.equal() || !r.Exact() {
		mean := 0.0
		for _, l := range r.Laws {
			mean += l.CDF(t) / float64(len(r.Laws))
		}
		return binomial(r.Asked, mean, r.Asked)[r.Asked]
	}
	by := make([]float64, r.Asked+1) // the mean over the ways to draw a of the first i clients
	by[0] = 1
	for i := range r.Laws {
		for a := min(i+1, r.Asked); a > 0; a-- {
			with := float64(a) / float64(i+1)
			by[a] = float64((1-with)*by[a]) + float64(with*r.Laws[i].CDF(t)*by[a-1])
		}
	}
	return by[r.Asked]
}

// Seconds returns the mean length: the integral of the probability that fewer responses have arrived than end the
// round, and that not all were due.
func (r *Round) Seconds() float64 {
	few := sum(binomial(r.Asked, 1-r.Fails, r.Needed-1))
	distinct := slices.Clone(r.Laws)
	slices.SortFunc(distinct, func(a, b Law) int {
		switch {
		case a.Expected() < b.Expected():
			return -1
		case a.Expected() > b.Expected():
			return 1
		}
		return 0
	})
	const mostCuts = 30 // laws at whose places the integral is cut
	laws := slices.Compact(distinct)
	if len(laws) > mostCuts && !slices.ContainsFunc(laws, Law.Fixed) {
		laws = []Law{laws[0], laws[len(laws)/2], laws[len(laws)-1]}
	}
	return integral(laws, r.Deadline, func(t float64) float64 {
		open := sum(r.counts(t, r.Needed-1))
		if r.Fails > 0 {
			open -= float64(few * r.allDue(t))
		}
		return open
	})
}

// Participants returns the mean number of responses that the server takes.
func (r *Round) Participants() (mean float64) {
	counts := r.counts(r.Deadline, r.Needed-1)
	rest := 1.0
	for j, p := range counts {
		if rest -= p; j >= r.Least {
			mean += float64(float64(j) * p)
		}
	}
	return mean + float64(max(0, rest)*float64(r.Needed)) // rounded below 0 where none arrives
}

// Void returns the probability that a round has too few responses.
func (r *Round) Void() float64 {
	if r.Least == 0 {
		return 0
	}
	return sum(r.counts(r.Deadline, r.Least-1))
}

// Depletion returns the mean number of the round in which a battery of some joules is empty, of rounds that take
// independent amounts of such a mean and variance, for a battery of many rounds: the mean overshoot of a renewal
// process (Feller, An Introduction to Probability Theory and Its Applications II, XI.3).
func Depletion(battery, mean, variance float64) float64 {
	return battery/mean + 0.5 + variance/(2*mean*mean)
}

// binomial returns the probabilities of 0..most successes of n.
func binomial(n int, p float64, most int) []float64 {
	counts := make([]float64, max(0, most+1))
	switch {
	case most < 0:
	case p <= 0:
		counts[0] = 1
	case p >= 1:
		if most >= n {
			counts[n] = 1
		}
	default:
		odds := elementary.Log(p) - elementary.Log1p(-p)
		at := float64(n) * elementary.Log1p(-p)
		for j := range min(most, n) + 1 {
			counts[j] = elementary.Exp(at)
			at += elementary.Log(float64(n-j)/float64(j+1)) + odds
		}
	}
	return counts
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}
