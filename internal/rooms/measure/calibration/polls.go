package calibration

import (
	"math"
	"slices"
)

// instant is a time that polls may have caused.
type instant struct {
	seconds float64 // since the polls began
	client  int
	round   int
}

// clientInstants returns the times from the end of a client's reply to its next message.
func (t *table) clientInstants() []instant {
	var found []instant
	for i := range t.rows {
		if r := &t.rows[i]; !r.first && r.Idle > 0 {
			found = append(found, instant{r.Idle, r.client, r.round})
		}
	}
	return found
}

// serverInstants returns the times from the first message of a round to its responses.
func (t *table) serverInstants() []instant {
	start := make([]float64, len(t.rounds))
	for i := range start {
		start[i] = math.Inf(1)
	}
	for i := range t.rows {
		r := &t.rows[i]
		start[r.round] = min(start[r.round], r.Sent)
	}
	var found []instant
	for i := range t.rows {
		if r := &t.rows[i]; r.Seen > start[r.round] {
			found = append(found, instant{r.Seen - start[r.round], r.client, r.round})
		}
	}
	return found
}

const (
	leastPeriod    = 0.2  // s
	mostPolls      = 100  // in the longest wait
	window         = 0.08 // of the period: instants this close to a poll are on the grid
	leastOnGrid    = 0.8  // share of instants that are that close
	mostPolled     = 4000 // instants that are searched
	leastOff       = 0.01 // distance from the grid that counts as none
	gridConfidence = 0.01 // probability that a grid is found by chance
)

// findGrid returns the period of a grid k P, k = 1, 2, ..., on which instants are; ok is false if
// there is none, or if chance finds one as good with a probability above gridConfidence.
//
// It maximizes the mean of cos(2 pi t/P) over P, up to half of the longest time. A multiple of the
// period misses odd k; a fraction makes the same deviations larger.
func findGrid(instants []instant) (period float64, ok bool) {
	if len(instants) > mostPolled {
		instants = instants[:mostPolled]
	}
	longest := 0.0
	for _, i := range instants {
		longest = max(longest, i.seconds)
	}
	least := max(leastPeriod, longest/mostPolls)
	best, candidates := 0.0, 0
	for p := longest / 1.9; p >= least; p /= 1 + 0.02*p/longest {
		candidates++
		sum := 0.0
		for _, i := range instants {
			sum += math.Cos(2 * math.Pi * i.seconds / p)
		}
		if sum > best {
			best, period = sum, p
		}
	}
	if period == 0 {
		return 0, false
	}
	type cell struct{ client, k int }
	seen := map[cell]bool{}
	var off []float64 // distances from the grid, as shares of the period
	for _, i := range instants {
		k := math.Round(i.seconds / period)
		seen[cell{i.client, int(math.Round(20 * i.seconds / period))}] = true
		d := 1.0
		if k > 0 {
			d = math.Abs(i.seconds/period - k)
		}
		off = append(off, d)
	}
	slices.Sort(off)
	most := off[int(leastOnGrid*float64(len(off)-1))]
	chance := float64(candidates) * math.Pow(2*max(most, leastOff), leastOnGrid*float64(len(seen)))
	return period, most <= window && chance < gridConfidence
}

// gridModel returns the model of instants on a grid: seconds = lag + k P; nil: there is no grid.
func gridModel(instants []instant) *model {
	period, ok := findGrid(instants)
	if !ok {
		return nil
	}
	m := &model{clients: 1}
	for _, i := range instants {
		k := math.Round(i.seconds / period)
		if k > 0 && math.Abs(i.seconds/period-k) <= window {
			m.samples = append(m.samples, sample{y: i.seconds, round: i.round, x: []float64{k, 1}})
		}
	}
	if m.terms = identify(m.samples, 1, []int{0, 1}); !slices.Contains(m.terms, 1) {
		return nil
	}
	return m
}
