package fairness

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// spearman returns Spearman's rank correlation of two lists of the same length: Pearson's
// correlation of the ranks, where equal values have the mean of their ranks. It is NaN if all
// values of a list are equal. Pairs with NaN are left out.
func spearman(x, y []float64) float64 {
	var a, b []float64
	for i := range x {
		if !math.IsNaN(x[i]) && !math.IsNaN(y[i]) {
			a, b = append(a, x[i]), append(b, y[i])
		}
	}
	a, b = ranks(a), ranks(b)
	middle := float64(float64(len(a)+1) / 2) // the mean of the ranks
	var xy, xx, yy float64
	for i := range a {
		u, v := a[i]-middle, b[i]-middle
		xy += float64(u * v)
		xx += float64(u * u)
		yy += float64(v * v)
	}
	if xx == 0 || yy == 0 {
		return math.NaN()
	}
	return xy / math.Sqrt(float64(xx*yy))
}

// ranks returns the ranks of values, from 1.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	out := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			out[i] = float64(from+1+to) / 2
		}
		from = to
	}
	return out
}

const (
	leastRho = 0.3  // a smaller correlation explains less than a tenth of the variance of the ranks
	level    = 0.01 // two-sided, of the t test
	fewest   = 5    // clients, for a threshold below 1
)

// threshold returns the size from which on a rank correlation over n clients counts: the
// critical value t/sqrt(n - 2 + t^2), t Student's quantile with n - 2 degrees of freedom at
// the two-sided level of 1 %, or 0.3 if that is larger. NaN: too few clients.
func threshold(n int) float64 {
	if n < fewest {
		return math.NaN()
	}
	free := float64(n - 2)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: free}.Quantile(1 - level/2)
	return math.Max(leastRho, t/math.Sqrt(free+float64(t*t)))
}

// Names of traits.
const (
	rows     = "rows"
	compute  = "compute_s"
	transfer = "transfer_s"
	updates  = "updates"
	class    = "class"
)

// addTraits sets the threshold and the rank correlations with the traits.
func (m *Method) addTraits(runs [][]client) {
	m.Threshold = threshold(m.Clients)
	add := func(name, of string, value func(*client) float64) {
		sum, n := 0.0, 0
		for _, clients := range runs {
			var x, bad []float64
			for i := range clients {
				x, bad = append(x, value(&clients[i])), append(bad, clients[i].bad)
			}
			if rho := spearman(x, bad); !math.IsNaN(rho) {
				sum += rho
				n++
			}
		}
		m.Traits = append(m.Traits, Trait{traitKey{name, of}, sum / float64(n)})
	}
	add(compute, "", func(c *client) float64 { return c.computeS })
	add(rows, "", func(c *client) float64 { return c.rows })
	add(transfer, "", func(c *client) float64 { return c.transferS })
	add(updates, "", func(c *client) float64 { return c.updates })
	for i := range m.Classes {
		if len(m.Classes) < 2 {
			break
		}
		name := m.Classes[i].Name
		add(class, name, func(c *client) float64 {
			if c.class == name {
				return 1
			}
			return 0
		})
	}
}
