package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fedsim/results"
)

// Ranges returns the values of each option that were tried.
func (g *Grid) Ranges() []results.Range {
	var ranges []results.Range
	for option := range g.Trials[0].Options {
		var values []string
		for i := range g.Trials {
			values = append(values, g.Trials[i].Options[option].Value)
		}
		ranges = append(ranges, results.RangeOf(g.Trials[0].Options[option].Key, values))
	}
	return ranges
}

// Curve is the trials that differ from the winner in one option at most.
type Curve struct {
	Key    string `json:"key"`
	Trials []int  `json:"trials"` // indices into Grid.Trials, by increasing value
	Optima []int  `json:"optima"` // indices of the local optima beside the winner
}

// Curves returns the curves that have local optima beside the winner. A local optimum is better
// than the next trials on both sides, or on the one that it has; trials as good as each other
// count as one. Trials that were given up are only known to be slower than they were.
func (g *Grid) Curves() []Curve {
	var found []Curve
	for option := range g.Trials[0].Options {
		if c, ok := g.along(option); ok {
			if c.Optima = g.optima(c.Trials); len(c.Optima) > 0 {
				found = append(found, c)
			}
		}
	}
	return found
}

// along returns the curve along an option, without its optima; ok is false for values without
// an order.
func (g *Grid) along(option int) (c Curve, ok bool) {
	winner := g.Trials[g.Winner].Options
	c.Key = winner[option].Key
	var values []float64
	for i := range g.Trials {
		same := true
		for k, o := range g.Trials[i].Options {
			same = same && (k == option || o.Value == winner[k].Value)
		}
		if !same {
			continue
		}
		x, err := strconv.ParseFloat(g.Trials[i].Options[option].Value, 64)
		if err != nil {
			return c, false
		}
		at, _ := slices.BinarySearchFunc(values, x, cmp.Compare[float64])
		values, c.Trials = slices.Insert(values, at, x), slices.Insert(c.Trials, at, i)
	}
	return c, true
}

// optima returns the local optima of trials in order, without that of the winner.
func (g *Grid) optima(trials []int) (found []int) {
	for from, to := 0, 0; from < len(trials); from = to {
		for to = from + 1; to < len(trials) && g.equal(trials[from], trials[to]); {
			to++
		}
		left := from == 0 || g.better(trials[from], trials[from-1])
		right := to == len(trials) || g.better(trials[from], trials[to])
		if left && right && to-from < len(trials) && !slices.Contains(trials[from:to], g.Winner) {
			found = append(found, trials[from])
		}
	}
	return found
}

// better reports whether trial i is known to be better than trial k.
func (g *Grid) better(i, k int) bool {
	a, b := &g.Trials[i], &g.Trials[k]
	switch {
	case a.Reached && b.Reached:
		return a.TimeS < b.TimeS
	case a.Reached && b.GivenUp:
		return a.TimeS <= b.TimeS
	case a.Reached || b.Reached || a.GivenUp || b.GivenUp:
		return a.Reached
	}
	metric := g.Metric()
	return metric.Better(a.Last, b.Last)
}

// equal reports whether two trials are as good as each other.
func (g *Grid) equal(i, k int) bool {
	a, b := &g.Trials[i], &g.Trials[k]
	return a.Reached == b.Reached && !a.GivenUp && !b.GivenUp && !g.better(i, k) && !g.better(k, i)
}

// Text describes a curve: each value with the time to the target, or else the metric at the end.
func (c *Curve) Text(g *Grid) string {
	metric := g.Metric()
	var points []string
	for _, i := range c.Trials {
		t := &g.Trials[i]
		value := ""
		for _, o := range t.Options {
			if o.Key == c.Key {
				value = o.Value
			}
		}
		text := metric.Format(t.Last, g.Real)
		switch {
		case t.Reached:
			text = results.TimeText(t.TimeS, g.Relative)
		case t.GivenUp:
			text = "over " + results.TimeText(t.TimeS, g.Relative)
		}
		if i == g.Winner {
			text += " *"
		} else if slices.Contains(c.Optima, i) {
			text += " (local)"
		}
		points = append(points, value+": "+text)
	}
	return fmt.Sprintf("%s by %s; a better value may lie elsewhere (docs/methods.md#tuning)", metric.LabelFor(g.Real),
		strings.Join(points, ", "))
}
