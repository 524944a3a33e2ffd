package prediction

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Spread is the distribution of relative errors, predicted/measured - 1.
type Spread struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"` // with sign
	MAPE float64 `json:"mape"` // mean of absolute values: the mean absolute percentage error, as a share
	P50  float64 `json:"p50"`  // quantiles of absolute values
	P95  float64 `json:"p95"`
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
	Makespan  float64 `json:"makespan"` // relative, with sign
	Response  Spread  `json:"response"` // of the responses that both have
	Compute   Spread  `json:"compute"`
	Transfer  Spread  `json:"transfer"`     // of downlink and uplink together
	Energy    Spread  `json:"energy"`       // of the attempts that responded
	EnergySum float64 `json:"energy_total"` // relative, with sign: of all these attempts
	Round     Spread  `json:"round"`        // of the lengths of rounds
	Equal     float64 `json:"equal"`        // share of the rounds in which the same responses were taken
	// mean over rounds: responses taken in both, as a share of those taken in one
	Jaccard float64 `json:"jaccard"`
	// Kendall's tau of the order of arrival, mean over rounds; over the run without rounds
	Order     float64 `json:"order"`
	Staleness float64 `json:"staleness"` // mean difference of the staleness of responses, predicted - measured
}

// Compare returns the errors of a prediction.
func Compare(measured, predicted *Played) Errors {
	e := Errors{Makespan: predicted.Makespan/measured.Makespan - 1, EnergySum: energySum(measured, predicted)}
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
	e.Energy = of(func(a *Attempt) float64 { return a.Energy })
	e.compareRounds(measured, predicted)
	e.Staleness = math.NaN()
	if len(measured.Rounds) == 0 {
		sum, n := 0.0, 0.0
		for i := range measured.Attempts {
			if d := predicted.Attempts[i].Staleness - measured.Attempts[i].Staleness; !math.IsNaN(d) {
				sum, n = sum+d, n+1
			}
		}
		e.Staleness = sum / n
	}
	return e
}

// energySum returns the error of the energy of all attempts for which both have one; NaN: there are
// none.
func energySum(measured, predicted *Played) float64 {
	m, p := 0.0, 0.0
	for i := range measured.Attempts {
		if a, b := measured.Attempts[i].Energy, predicted.Attempts[i].Energy; !math.IsNaN(a) && !math.IsNaN(b) {
			m, p = m+a, p+b
		}
	}
	return p/m - 1
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
		both := 0
		for _, k := range r.Taken {
			if _, found := slices.BinarySearch(p.Taken, k); found {
				both++
			}
		}
		either := len(r.Taken) + len(p.Taken) - both
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
// others. It is what no model can be below. There must be two at least. Where repetitions ask
// different clients, the attempts count that all have, by round and client.
func Floor(repeats []*Played) (makespan []float64, response Spread) {
	all := make([]map[place]float64, len(repeats))
	for i, p := range repeats {
		all[i] = map[place]float64{}
		for k, at := range p.places() {
			all[i][at] = p.Attempts[k].Response()
		}
	}
	var errors []float64
	for i, left := range repeats {
		others := func(of func(j int) float64) float64 {
			sum := 0.0
			for j := range repeats {
				if j != i {
					sum += of(j)
				}
			}
			return sum / float64(len(repeats)-1)
		}
		makespan = append(makespan, others(func(j int) float64 { return repeats[j].Makespan })/left.Makespan-1)
		for k, at := range left.places() {
			mean := others(func(j int) float64 {
				if response, ok := all[j][at]; ok {
					return response
				}
				return math.NaN()
			})
			errors = append(errors, mean/left.Attempts[k].Response()-1)
		}
	}
	return makespan, spread(errors)
}

// place identifies an attempt among those of repetitions.
type place struct {
	round  int
	client string
	number int // among the attempts of the client in the round
}

func (p *Played) places() []place {
	all, next := make([]place, len(p.Attempts)), map[place]int{}
	for i := range p.Attempts {
		at := place{round: p.Attempts[i].Round, client: p.Attempts[i].Client}
		next[at]++
		all[i] = place{at.round, at.client, next[at]}
	}
	return all
}
