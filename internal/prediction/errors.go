package prediction

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Spread is the distribution of relative errors, predicted/measured - 1.
type Spread struct {
	N              int
	Mean           float64 // with sign
	MAPE, P50, P95 float64 // of absolute values: mean absolute percentage error, as a share, and quantiles
}

// spread returns the distribution of errors; those that are NaN do not count.
func spread(errors []float64) Spread {
	var s Spread
	var sizes []float64
	for _, e := range errors {
		if !math.IsNaN(e) {
			s.Mean += e
			sizes = append(sizes, math.Abs(e))
		}
	}
	s.N = len(sizes)
	if s.N == 0 {
		nan := math.NaN()
		return Spread{Mean: nan, MAPE: nan, P50: nan, P95: nan}
	}
	slices.Sort(sizes)
	s.Mean /= float64(s.N)
	s.MAPE = stat.Mean(sizes, nil)
	s.P50, s.P95 = stat.Quantile(.5, stat.LinInterp, sizes, nil), stat.Quantile(.95, stat.LinInterp, sizes, nil)
	return s
}

// Errors say how far a prediction is from a measured run. A value that the log does not give is
// NaN.
type Errors struct {
	Makespan  float64 // relative, with sign
	Response  Spread  // of the responses that both have
	Compute   Spread
	Transfer  Spread  // of downlink and uplink together
	Round     Spread  // of the lengths of rounds
	Equal     float64 // share of the rounds in which the same responses were taken
	Jaccard   float64 // mean over rounds: responses taken in both, as a share of those taken in one
	Order     float64 // Kendall's tau of the order of arrival, mean over rounds; over the run without rounds
	Staleness float64 // mean difference of the staleness of responses, predicted - measured
}

// Compare returns the errors of a prediction.
func Compare(measured, predicted *Played) Errors {
	e := Errors{Makespan: predicted.Makespan/measured.Makespan - 1}
	of := func(value func(*Attempt) float64) Spread {
		var errors []float64
		for i := range measured.Attempts {
			m := value(&measured.Attempts[i])
			if m > 0 {
				errors = append(errors, value(&predicted.Attempts[i])/m-1)
			}
		}
		return spread(errors)
	}
	e.Response = of((*Attempt).Response)
	e.Compute = of(func(a *Attempt) float64 { return a.Compute })
	e.Transfer = of(func(a *Attempt) float64 { return a.Downlink + a.Uplink })
	e.compareRounds(measured, predicted)
	e.Staleness = math.NaN()
	if len(measured.Rounds) == 0 {
		e.compareStaleness(measured, predicted)
	}
	return e
}

// compareRounds compares lengths, the responses taken and the order of arrival.
func (e *Errors) compareRounds(measured, predicted *Played) {
	rounds := measured.Rounds
	e.Equal, e.Jaccard = math.NaN(), math.NaN()
	if len(rounds) == 0 {
		all := make([]int, len(measured.Attempts))
		for i := range all {
			all[i] = i
		}
		e.Round = spread(nil)
		e.Order = order(all, measured, predicted)
		return
	}
	var lengths, taus []float64
	e.Equal, e.Jaccard = 0, 0
	for i := range rounds {
		r, p := &rounds[i], &predicted.Rounds[i]
		lengths = append(lengths, p.Length()/r.Length()-1)
		if tau := order(r.Attempts, measured, predicted); !math.IsNaN(tau) {
			taus = append(taus, tau)
		}
		both, either := 0, 0
		for _, k := range r.Attempts {
			m, p := measured.Attempts[k].Taken, predicted.Attempts[k].Taken
			if m && p {
				both++
			}
			if m || p {
				either++
			}
		}
		if both == either {
			e.Equal++
		}
		if either == 0 {
			e.Jaccard++ // equal sets
		} else {
			e.Jaccard += float64(both) / float64(either)
		}
	}
	n := float64(len(rounds))
	e.Round, e.Equal, e.Jaccard = spread(lengths), e.Equal/n, e.Jaccard/n
	e.Order = stat.Mean(taus, nil)
}

// order returns Kendall's tau between the instants of the responses that both have; NaN for fewer
// than two.
func order(attempts []int, measured, predicted *Played) float64 {
	var m, p []float64
	for _, k := range attempts {
		a, b := measured.Attempts[k].Seen, predicted.Attempts[k].Seen
		if !math.IsNaN(a) && !math.IsNaN(b) {
			m, p = append(m, a), append(p, b)
		}
	}
	if len(m) < 2 {
		return math.NaN()
	}
	return stat.Kendall(m, p, nil)
}

// compareStaleness sets the mean difference of staleness.
func (e *Errors) compareStaleness(measured, predicted *Played) {
	sum, n := 0.0, 0.0
	for i := range measured.Attempts {
		if d := predicted.Attempts[i].Staleness - measured.Attempts[i].Staleness; !math.IsNaN(d) {
			sum += d
			n++
		}
	}
	e.Staleness = sum / n
}

// Speed returns how many times as fast as predicted the computations of a run were, in the
// median: the speed of that day. It is 1 without computations.
func Speed(measured, predicted *Played) float64 {
	var ratios []float64
	for i := range measured.Attempts {
		if r := predicted.Attempts[i].Compute / measured.Attempts[i].Compute; r > 0 && !math.IsInf(r, 1) {
			ratios = append(ratios, r)
		}
	}
	if len(ratios) == 0 {
		return 1
	}
	slices.Sort(ratios)
	return stat.Quantile(.5, stat.LinInterp, ratios, nil)
}

// Floor returns how well repetitions of one run predict each other: each from the mean of the
// others. It is what no model can be below. There must be two at least.
func Floor(repeats []*Played) (makespan []float64, response Spread) {
	var errors []float64
	for i, left := range repeats {
		sum, n := 0.0, float64(len(repeats)-1)
		for j, other := range repeats {
			if j != i {
				sum += other.Makespan
			}
		}
		makespan = append(makespan, sum/n/left.Makespan-1)
		for k := range left.Attempts {
			sum := 0.0
			for j, other := range repeats {
				if j != i {
					sum += other.Attempts[k].Response()
				}
			}
			errors = append(errors, sum/n/left.Attempts[k].Response()-1)
		}
	}
	return makespan, spread(errors)
}
