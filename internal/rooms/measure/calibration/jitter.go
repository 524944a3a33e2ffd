package calibration

import (
	"math"
	"slices"

	"fedsim/internal/tools/orderstat"
)

// residual is the logarithm of measured over predicted time of a computation.
type residual struct {
	log           float64
	weight        float64
	client, round int
}

// cv returns sigma/mu of a log-normal distribution with a variance of logarithms.
func cv(variance float64) float64 { return math.Sqrt(math.Expm1(max(0, variance))) }

// spread returns sigma/mu of the factors of clients.
func spread(factors []float64) Value {
	var logs []float64
	for _, s := range factors {
		if !math.IsNaN(s) {
			logs = append(logs, math.Log(s))
		}
	}
	if len(logs) < 3 {
		return unknown("", "the class has fewer than three clients")
	}
	_, variance := moments(logs)
	return known(cv(variance), "", "")
}

// moments returns the mean and the unbiased variance.
func moments(values []float64) (mean, variance float64) {
	for _, x := range values {
		mean += x
	}
	mean /= float64(len(values))
	for _, x := range values {
		variance += float64((x - mean) * (x - mean))
	}
	return mean, variance / float64(len(values)-1)
}

// setJitter splits the variance of residuals r, at most 4 robust standard deviations each:
//
//	r = run + client in the run + round + e.
//
// The factor of a run is the mean of its clients' means. Within runs, the variance between rounds
// and that of e are those of an analysis of variance; the jitter of a device is their sum.
func (p *plan) setJitter(c *Calibration, all []residual) {
	const few = "it needs two rounds of two clients"
	c.Jitter = Jitter{unknown("", few), unknown("", few), unknown("", "it needs two runs")}
	for i := range c.Runs {
		c.Runs[i].Time = unknown("", "column compute_s is empty")
	}
	if len(all) == 0 {
		return
	}
	clip(all)
	means := p.clientMeans(all)
	var factors []float64
	for run := range p.runs {
		sum, n := 0.0, 0.0
		for client := range p.clients {
			if m, ok := means[[2]int{run, client}]; ok {
				sum += m[0] / m[1]
				n++
			}
		}
		if n > 0 {
			c.Runs[run].Time = known(math.Exp(sum/n), "", "")
			factors = append(factors, sum/n)
		}
	}
	if len(factors) > 1 {
		_, variance := moments(factors)
		c.Jitter.Run = known(cv(variance), "", few)
	}
	between, within, ok := p.variances(all, means)
	if ok {
		c.Jitter.Compute = known(cv(between+within), "", few)
		c.Jitter.Round = known(between/(between+within), "", "computations do not vary")
	}
}

// clip limits residuals to 4 robust standard deviations from 0.
func clip(all []residual) {
	sizes := make([]float64, len(all))
	for i := range all {
		sizes[i] = math.Abs(all[i].log)
	}
	limit := 4 * 1.4826 * orderstat.Median(sizes)
	for i := range all {
		all[i].log = max(-limit, min(limit, all[i].log))
	}
}

// clientMeans returns the sum and the weight of the residuals by run and client.
func (p *plan) clientMeans(all []residual) map[[2]int][2]float64 {
	means := map[[2]int][2]float64{}
	for _, r := range all {
		k := [2]int{p.rounds[r.round].run, r.client}
		m := means[k]
		means[k] = [2]float64{m[0] + r.weight*r.log, m[1] + r.weight}
	}
	return means
}

// variances returns the variance between rounds and that within them; ok is false if there are too
// few residuals.
func (p *plan) variances(all []residual, means map[[2]int][2]float64) (between, within float64, ok bool) {
	sums, weights := make([]float64, len(p.rounds)), make([]float64, len(p.rounds))
	total, n := 0.0, 0.0
	for _, r := range all {
		m := means[[2]int{p.rounds[r.round].run, r.client}]
		u := r.log - m[0]/m[1]
		sums[r.round] += r.weight * u
		weights[r.round] += r.weight
		total += r.weight * u * u
		n += r.weight
	}
	square, groups := 0.0, 0.0
	var runs []int
	for g, w := range weights {
		if w > 0 {
			square += sums[g] * sums[g] / w
			groups++
			if run := p.rounds[g].run; !slices.Contains(runs, run) {
				runs = append(runs, run)
			}
		}
	}
	betweenFree := groups - float64(len(runs))
	withinFree := n - float64(len(means)) - betweenFree
	if betweenFree < 1 || withinFree < 1 {
		return 0, 0, false
	}
	within = max(0, total-square) / withinFree
	between = max(0, square/betweenFree-within) / (n / groups)
	return between, within, true
}
