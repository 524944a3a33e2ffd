package calibration

import (
	"cmp"
	"math"
	"math/cmplx"
	"slices"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/orderstat"
	"fedsim/internal/tools/rng"
)

// launch is a start of training of a client that may look for messages once in a period, whose phase it keeps. The
// durations of its attempts follow each other without gaps, so that they have one clock.
type launch struct {
	row     int     // of the table
	round   int     // likewise
	phase   int     // launches with one clock
	arrived float64 // last byte of the message on this clock, s
	wait    float64 // from there to the start of training, s
}

const (
	mostInPhase  = 32  // launches that share a phase, and the seconds until then: over more, clocks and periods drift,
	mostSeconds  = 300 // and the search takes long
	mostSearched = 256 // launches that are searched for a period
	permutations = 99  // of waits, none of which may be as regular: by chance with probability 0.01
	refinements  = 20  // points on either side of a period in the search for a better one

	leastSpreads, mostSpreads = 0.9, 2.5 // of the period, as a multiple of the range of 80 % of the waits

	lobe = 8 // steps to frequencies that are others
	// of the best period to others: about e^3 = 20 times as likely, twice the logarithm being chi-squared
	leastAhead = 6
)

// launches returns the starts of training by phase, and the number of phases. The first one of a client is a cold
// start.
func (t *table) launches() (found []launch, phases int) {
	type clock struct {
		at        float64 // end of the last reply; NaN: not known
		phase, n  int
		blockFrom int // first of the rounds without a gap
	}
	clocks, trains := map[[2]int]clock{}, t.onlyTrains()
	from := 0
	for i := range t.rows {
		r := &t.rows[i]
		if k := r.round; k > 0 && t.rounds[k].round != t.rounds[k-1].round+1 {
			from = k
		}
		c, ok := clocks[[2]int{r.run, r.client}]
		if !ok || math.IsNaN(c.at) || c.n == mostInPhase || c.at > mostSeconds || c.blockFrom != from {
			c = clock{phase: phases, blockFrom: from}
			phases++
		}
		arrived := c.at + r.Idle + r.Receive
		if starts := arrived + r.Wait; !r.first && starts > arrived && trains[r.run] {
			found = append(found, launch{i, r.round, c.phase, arrived, r.Wait})
			c.n++
		}
		c.at = arrived + r.Wait + r.Compute + r.Reply
		clocks[[2]int{r.run, r.client}] = c
	}
	slices.SortStableFunc(found, func(a, b launch) int { return cmp.Compare(a.phase, b.phase) })
	return found, phases
}

// onlyTrains reports by run whether all its attempts train: others may come between two that do.
func (t *table) onlyTrains() []bool {
	trains := make([]bool, len(t.runs))
	for i, r := range t.runs {
		trains[i] = !slices.ContainsFunc(r.Attempts,
			func(a attemptlog.Attempt) bool { return a.Kind != attemptlog.Train })
	}
	return trains
}

// launchPoll is the grid of the polls for launches.
type launchPoll struct {
	launches []launch
	phases   int
	period   float64         // s
	step     float64         // of frequencies in the search, 1/s
	waits    map[int]float64 // for a poll, by row, s
}

// regularity returns Rayleigh's statistic of starts of training at a frequency, 2 |sum exp(2 pi i f t)|^2/n, summed
// over phases; about chi-squared with two degrees of freedom for each if they do not keep to them.
func (l *launchPoll) regularity(launches []launch, weight []float64, f float64) float64 {
	sums := make([]complex128, l.phases)
	n := make([]float64, l.phases)
	for i := range launches {
		v := &launches[i]
		w := weightOf(weight, v.round)
		sin, cos := math.Sincos(2 * math.Pi * f * (v.arrived + v.wait))
		sums[v.phase] += complex(w*cos, w*sin)
		n[v.phase] += w
	}
	total := 0.0
	for k, s := range sums {
		if n[k] > 0 {
			total += 2 * (real(s)*real(s) + imag(s)*imag(s)) / n[k]
		}
	}
	return total
}

// best returns the most regular of the frequencies from low to high in steps.
func (l *launchPoll) best(launches []launch, weight []float64, low, high, step float64) (f, regularity float64) {
	for at := low; at <= high; at += step {
		if r := l.regularity(launches, weight, at); r > regularity {
			f, regularity = at, r
		}
	}
	return f, regularity
}

// findLaunchPoll returns the grid on which clients start training; nil: there is none. Waits for polls spread over a
// period, so that it is at least about the range of 80 % of them, and fractions of the period do not count. The grid
// counts if no permutation of the waits of each phase is as regular: then starts depend on when messages arrive, as
// polls make them; and if no other period is nearly as regular.
func (t *table) findLaunchPoll() *launchPoll {
	all, phases := t.launches()
	l := &launchPoll{launches: all, phases: phases}
	searched := slices.Clone(all[:min(len(all), mostSearched)])
	if len(searched) < 2 {
		return nil
	}
	waits, span := make([]float64, len(searched)), 0.0
	for i, v := range searched {
		waits[i] = v.wait
		span = max(span, v.arrived+v.wait)
	}
	spread := orderstat.Quantile(waits, 0.9) - orderstat.Quantile(waits, 0.1)
	low, high := 1/(mostSpreads*spread), min(1/(leastSpreads*spread), 1/leastPeriod)
	l.step = 1 / (4 * span)
	if !(low < high) {
		return nil
	}
	f, regularity := l.best(searched, nil, low, high, l.step)
	_, below := l.best(searched, nil, low, f-lobe*l.step, l.step)
	_, above := l.best(searched, nil, f+lobe*l.step, high, l.step)
	if regularity < max(below, above)+leastAhead {
		return nil
	}
	for k := range permutations {
		permute(searched, rng.New(0, rng.Resample, 0, k))
		if _, r := l.best(searched, nil, low, high, l.step); r >= regularity {
			return nil
		}
	}
	l.period = 1 / f
	l.period = l.estimate(nil)
	l.waits = l.pollWaits()
	return l
}

// permute permutes the waits of each phase.
func permute(launches []launch, s rng.Stream) {
	for from := 0; from < len(launches); {
		to := from
		for to < len(launches) && launches[to].phase == launches[from].phase {
			to++
		}
		for i := to - 1; i > from; i-- {
			j := from + s.IntN(i-from+1)
			launches[i].wait, launches[j].wait = launches[j].wait, launches[i].wait
		}
		from = to
	}
}

// estimate returns the most regular period near the one that was found, with a weight of each round.
func (l *launchPoll) estimate(weight []float64) float64 {
	f, _ := l.best(l.launches, weight, 1/l.period-l.step, 1/l.period+l.step, l.step/refinements)
	return 1 / f
}

// pollWaits splits the waits: by row, what is waiting for a poll. Starts at phases of the period have waits that differ
// from those of the polls by a launch, which takes between the longest wait less a period and the shortest.
func (l *launchPoll) pollWaits() map[int]float64 {
	sums := make([]complex128, l.phases)
	for _, v := range l.launches {
		sums[v.phase] += cmplx.Rect(1, 2*math.Pi*(v.arrived+v.wait)/l.period)
	}
	onGrid := make([]float64, len(l.launches)) // the wait on the grid that is nearest to the measured one
	for i, v := range l.launches {
		off := cmplx.Phase(sums[v.phase])/(2*math.Pi) - (v.arrived+v.wait)/l.period
		onGrid[i] = v.wait + (off-math.Round(off))*l.period
	}
	sorted := slices.Sorted(slices.Values(onGrid))
	least, most := 0.0, 0
	for from, to := 0, 0; from < len(sorted); from++ {
		for to < len(sorted) && sorted[to] < sorted[from]+l.period {
			to++
		}
		if to-from > most {
			least, most = (sorted[from]+sorted[to-1]-l.period)/2, to-from
		}
	}
	waits := make(map[int]float64, len(onGrid))
	for i, v := range l.launches {
		over := math.Mod(onGrid[i]-least, l.period)
		if over < 0 {
			over += l.period
		}
		waits[v.row] = over
	}
	return waits
}
