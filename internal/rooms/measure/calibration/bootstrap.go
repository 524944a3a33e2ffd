package calibration

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"fedsim/internal/tools/orderstat"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/rng"
)

// The number of resamples is mostResamples, fewer if these have more than manyRows rows together, and
// at least leastResamples. A resample has as many rounds as make about resampleRows rows, and at least two
// of each run.
const (
	mostResamples  = 200
	leastResamples = 40
	manyRows       = 400_000
	resampleRows   = 10_000
)

// bootstrap sets the intervals of all estimates: percentiles over resamples of whole rounds, drawn
// within each run (Efron 1979). A run of n rounds has resamples whose variance is (n-1)/n times
// that of the estimate, and n-1 degrees of freedom; so the distances from the estimate are
// multiplied by sqrt(N/(N-R)) t(N-R)/z for N rounds of R runs, with the 97.5 % quantiles of
// Student's t and of the normal distribution. Resamples of M < N rounds have a variance N/M times
// as large (Bickel, Goetze, van Zwet 1997), so that they are multiplied by sqrt(M/N), too.
func (p *plan) bootstrap(c *Calibration, o Options) {
	free := len(p.rounds) - len(p.runs)
	if o.Resamples < 0 || free < 1 {
		return
	}
	drawn := 0
	for _, x := range p.resample(o.Seed, 0) {
		drawn += int(x)
	}
	share := float64(drawn) / float64(len(p.rounds))
	n := o.Resamples
	if n == 0 {
		n = max(leastResamples, min(mostResamples, int(manyRows/(share*float64(len(p.rows))))))
	}
	wider := math.Sqrt(float64(drawn)/float64(free)) *
		distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(free)}.Quantile(0.975) / distuv.UnitNormal.Quantile(0.975)
	all := make([][]float64, n)
	parallel.NewPool(0).For(n, func(i, _ int) {
		p.calibrate(p.resample(o.Seed, i)).values(func(v *Value) { all[i] = append(all[i], v.Value) })
	})
	k := 0
	c.values(func(v *Value) {
		var values []float64
		for i := range all {
			if x := all[i][k]; !math.IsNaN(x) {
				values = append(values, x)
			}
		}
		k++
		if v.Known() && len(values) > n/2 {
			v.Low = max(0, v.Value+wider*(orderstat.Quantile(values, 0.025)-v.Value))
			v.High = v.Value + wider*(orderstat.Quantile(values, 0.975)-v.Value)
		}
	})
	c.Jitter.Round.High = min(1, c.Jitter.Round.High) // NaN stays
}

// resample returns how often resample i has each round.
func (p *plan) resample(seed uint64, i int) []float64 {
	share := min(1, resampleRows/float64(len(p.rows)))
	count := make([]float64, len(p.rounds))
	for from := 0; from < len(p.rounds); {
		to := from
		for to < len(p.rounds) && p.rounds[to].run == p.rounds[from].run {
			to++
		}
		rounds := to - from
		s := rng.New(seed, rng.Resample, p.rounds[from].run, i)
		for range min(rounds, max(2, int(math.Round(share*float64(rounds))))) {
			count[from+s.IntN(rounds)]++
		}
		from = to
	}
	return count
}
