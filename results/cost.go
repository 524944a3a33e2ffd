package results

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"fedsim/internal/tools/certainty"
	"fedsim/internal/tools/orderstat"
)

// Amounts are what a run costs up to a round, or what several cost in the mean.
type Amounts struct {
	Rounds   float64            `json:"rounds"`
	TimeS    float64            `json:"time_s"`   // virtual seconds
	Bytes    float64            `json:"bytes"`    // downlink and uplink
	EnergyJ  float64            `json:"energy_j"` // of all devices
	Declared map[string]float64 `json:",embed"`   // of Heads by column; NaN: not counted
}

// all returns amounts that are all the same.
func all(x float64) Amounts {
	return Amounts{x, x, x, x, costs(func(*Column[Round]) float64 { return x })}
}

// add adds a multiple of other amounts.
func (a *Amounts) add(b Amounts, n float64) {
	a.Rounds += b.Rounds / n
	a.TimeS += b.TimeS / n
	a.Bytes += b.Bytes / n
	a.EnergyJ += b.EnergyJ / n
	for name, x := range b.Declared {
		a.Declared[name] += x / n
	}
}

// least returns the lower of two amounts each.
func (a Amounts) least(b Amounts) Amounts {
	return Amounts{min(a.Rounds, b.Rounds), min(a.TimeS, b.TimeS), min(a.Bytes, b.Bytes), min(a.EnergyJ, b.EnergyJ),
		costs(func(c *Column[Round]) float64 { return min(a.Declared[c.Name], b.Declared[c.Name]) })}
}

// Cost is the cost of reaching a target: of a run, or the mean over several.
type Cost struct {
	Reached bool `json:"reached"` // every run reached the target; otherwise the amounts are NaN
	Amounts
}

// State says what is known of the cost of a run to a target.
type State int

const (
	Uncounted State = iota // the run was interrupted, or does not record the metric
	Reached                // the cost is known
	Ended                  // the run ended before the target: its cost is above that of the last evaluation
	Never                  // the run stalled before the target: its cost is infinite
)

// String returns the state in a word; empty for an uncounted run.
func (s State) String() string { return [...]string{"", "reached", "ended", "never"}[s] }

// Reached returns the first round after which the model was as good as a target, or
// ok = false without one.
func (r *Run) Reached(t Target) (round Round, ok bool) {
	m, _ := r.Metric(t.Metric)
	for i := range r.Rounds {
		if x := &r.Rounds[i]; m.Reached(m.Of(x), t.Value) {
			return *x, true
		}
	}
	return Round{}, false
}

// Spent returns what a run cost up to the first evaluation that reaches a target, or else up to the last
// one of the metric, and what that says of the cost of the target. A run under way counts as ended.
func (r *Run) Spent(t Target) (Amounts, State) {
	m, _ := r.Metric(t.Metric)
	n, reached := 0, false
	for i := range r.Rounds {
		v := m.Of(&r.Rounds[i])
		if !math.IsNaN(v) {
			n = i + 1
		}
		if reached = m.Reached(v, t.Value); reached {
			break
		}
	}
	switch {
	case reached:
		return amountsOf(r.Rounds[:n]), Reached
	case r.Status == Stalled:
		return all(math.Inf(1)), Never
	case r.Status == Interrupted || n == 0:
		return all(math.NaN()), Uncounted
	default:
		return amountsOf(r.Rounds[:n]), Ended
	}
}

// amountsOf returns what rounds cost together.
func amountsOf(rounds []Round) Amounts {
	last := &rounds[len(rounds)-1]
	sum := Amounts{Rounds: float64(last.Round), TimeS: last.TimeS}
	for i := range rounds {
		sum.Bytes += rounds[i].BytesDown + rounds[i].BytesUp
		sum.EnergyJ += rounds[i].EnergyJ
	}
	sum.Declared = costs(func(c *Column[Round]) (total float64) {
		for i := range rounds {
			total += c.Get(&rounds[i]).Real()
		}
		return total
	})
	return sum
}

// Bounds are what is known of a cost.
type Bounds = certainty.Bounds

// TimeOf returns what is known of the time to a target, of what Run.Spent returns for a counted run.
func TimeOf(spent Amounts, state State) Bounds {
	if state == Ended {
		return certainty.Bounds{Low: spent.TimeS, High: math.Inf(1)}
	}
	return certainty.Bounds{Low: spent.TimeS, High: spent.TimeS}
}

// CostTo returns the cost of reaching a target.
func (r *Run) CostTo(t Target) Cost {
	if spent, state := r.Spent(t); state == Reached {
		return Cost{true, spent}
	}
	return Cost{false, all(math.NaN())}
}

// MeanCost is the cost of reaching a target over runs that differ in their seeds. Those that are Uncounted
// have no part in it.
type MeanCost struct {
	Cost                 // the mean, if every run reached the target
	ReachedSeeds int     `json:"reached_seeds"` // the number of runs that reached it
	EndedSeeds   int     `json:"ended_seeds"`   // that ended before
	NeverSeeds   int     `json:"never_seeds"`   // that stalled before
	AtLeast      Amounts `json:"at_least"`      // the mean, with the cost at the end of the run for each unknown one
	// The median of the times lies between two values; they are one if the median is known.
	MedianLowS  float64 `json:"median_low_s"`
	MedianHighS float64 `json:"median_high_s"`
	// The mean of the times up to a horizon, the least end of an ended run of the block: it is known for
	// every row. NaN: without an ended run there is no horizon, and with a stalled one no mean.
	RestrictedMeanS float64 `json:"restricted_mean_s"`
	HorizonS        float64 `json:"horizon_s"`

	spent []Amounts                   // of the runs that are counted
	times map[uint64]certainty.Bounds // by seed
	fair  map[uint64]bool             // seeds that did not choose options of the method
}

// MeanCostOf returns the cost of a target over runs; see Restrict.
func MeanCostOf(runs []Run, t Target) MeanCost {
	c := MeanCost{
		Cost: Cost{Amounts: all(math.NaN())}, AtLeast: all(math.NaN()), RestrictedMeanS: math.NaN(),
		HorizonS: math.NaN(), times: map[uint64]certainty.Bounds{}, fair: map[uint64]bool{},
	}
	var low, high []float64
	for i := range runs {
		x, state := runs[i].Spent(t)
		switch state {
		case Uncounted:
			continue
		case Reached:
			c.ReachedSeeds++
		case Ended:
			c.EndedSeeds++
		case Never:
			c.NeverSeeds++
		}
		bounds := TimeOf(x, state)
		low, high, c.spent = append(low, bounds.Low), append(high, bounds.High), append(c.spent, x)
		c.times[runs[i].Seed], c.fair[runs[i].Seed] = bounds, !runs[i].Chosen
	}
	if len(c.spent) > 0 {
		c.AtLeast = all(0)
	}
	for _, x := range c.spent {
		c.AtLeast.add(x, float64(len(c.spent)))
	}
	if c.Reached = len(c.spent) > 0 && c.ReachedSeeds == len(c.spent); c.Reached {
		c.Amounts, c.RestrictedMeanS = c.AtLeast, c.AtLeast.TimeS
	}
	c.MedianLowS, c.MedianHighS = orderstat.Median(low), orderstat.Median(high)
	return c
}

// Seeds returns the number of runs that are counted.
func (c *MeanCost) Seeds() int { return c.ReachedSeeds + c.EndedSeeds + c.NeverSeeds }

// Restrict sets the horizon and the restricted means of rows that are compared.
func Restrict(costs []*MeanCost) {
	horizon := math.Inf(1)
	for _, c := range costs {
		for _, t := range c.times {
			if t.Low != t.High {
				horizon = min(horizon, t.Low)
			}
		}
	}
	if math.IsInf(horizon, 1) {
		return
	}
	for _, c := range costs {
		if c.Seeds() == 0 {
			continue
		}
		c.HorizonS, c.RestrictedMeanS = horizon, 0
		for _, seed := range slices.Sorted(maps.Keys(c.times)) {
			c.RestrictedMeanS += min(c.times[seed].Low, horizon) / float64(len(c.times))
		}
	}
}

// Format completes the text of an amount of AtLeast for people: as it is if every run reached the target, "> 1.13 s"
// where some ended before, "never (1 of 5)" where some stalled, and "-" if no run is counted.
func (c *MeanCost) Format(atLeast string) string {
	switch n := c.Seeds(); {
	case n == 0 || atLeast == none:
		return none
	case c.NeverSeeds == 1 && n == 1:
		return "never"
	case c.NeverSeeds > 0:
		return fmt.Sprintf("never (%d of %d)", c.NeverSeeds, n)
	case !c.Reached:
		return "> " + atLeast
	default:
		return atLeast
	}
}

// median formats the median time, or its bound.
func (c *MeanCost) median(relative bool) string {
	switch {
	case math.IsNaN(c.MedianLowS):
		return none
	case math.IsInf(c.MedianLowS, 1):
		return "never"
	case c.MedianLowS < c.MedianHighS:
		return "> " + TimeText(c.MedianLowS, relative)
	default:
		return TimeText(c.MedianLowS, relative)
	}
}
