package privacy

import (
	"math"
	"slices"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

func norm(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

func TestClip(t *testing.T) {
	p := Defaults()
	p.Mechanism, p.Noise, p.Clip = Central, 0, 2
	g := p.NewGuard(4, 1)
	long, short := []float64{3, -4}, []float64{0.3, -0.4}
	g.Leave(long, rng.Stream{})
	g.Leave(short, rng.Stream{})
	expect.That(t, slices.Equal(short, []float64{0.3, -0.4}), "a short update became %v", short)
	expect.That(t, math.Abs(long[0]-1.2) <= 1e-15 && math.Abs(long[1]+1.6) <= 1e-15, "a long update became %v", long)
	d, _ := g.Sum(long, 3)
	expect.That(t, d == 4, "the denominator is %g, want the cohort", d)
}

// Without limits nothing changes but the denominator.
func TestNothingProtects(t *testing.T) {
	p := Defaults()
	p.Mechanism, p.Noise, p.Clip = Distributed, 0, 0
	g := p.NewGuard(4, 1)
	x := []float64{1e300, -1e-300, 5}
	before := slices.Clone(x)
	g.Leave(x, rng.New(1, rng.Solve, 2, 3))
	g.Sum(x, 4)
	expect.That(t, slices.Equal(x, before), "%v became %v", before, x)
}

// Both mechanisms add noise of standard deviation noise_multiplier x clip to the sum of a
// cohort. Over 20,000 draws, seeded, mean and deviation are within 4.5 standard errors.
func TestNoise(t *testing.T) {
	const cohort, values, sums = 10, 50, 400
	for _, mechanism := range []string{Central, Distributed} {
		p := Defaults()
		p.Mechanism, p.Noise, p.Clip = mechanism, 1.5, 0.4
		g := p.NewGuard(cohort, 7)
		mean, square := 0.0, 0.0
		for round := range sums {
			sum := make([]float64, values)
			for device := range cohort {
				update := make([]float64, values)
				g.Leave(update, rng.New(7, rng.Solve, device, round))
				for i, v := range update {
					sum[i] += v
				}
			}
			g.Sum(sum, cohort)
			for _, v := range sum {
				mean += v / (values * sums)
				square += v * v / (values * sums)
			}
		}
		const want, draws = 0.6, values * sums
		if limit := 4.5 * want / math.Sqrt(draws); math.Abs(mean) > limit {
			t.Errorf("%s: mean %g, limit %g", mechanism, mean, limit)
		}
		if limit := 4.5 * want / math.Sqrt(2*draws); math.Abs(math.Sqrt(square)-want) > limit {
			t.Errorf("%s: deviation %g, want %g within %g", mechanism, math.Sqrt(square), want, limit)
		}
	}
}

// Rounding to the ring is to one of the two nearest steps, has the value as its mean, and
// lengthens an update by less than Sensitivity says.
func TestRounding(t *testing.T) {
	p := Defaults()
	p.SecureAggregation, p.ValueBits, p.ValueRange = SecAgg, 6, 2
	g := p.NewGuard(4, 1)
	step := 2.0 / 31
	x := []float64{0.5, -1.234, 0, 2, -7, 1.999, step / 3}
	mean := make([]float64, len(x))
	const draws = 20_000
	for round := range draws {
		y := slices.Clone(x)
		g.Leave(y, rng.New(3, rng.Solve, 0, round))
		for i := range y {
			v := max(-2, min(2, x[i]))
			expect.Must(t, math.Abs(y[i]-v) < step && math.Abs(y[i]/step-math.Round(y[i]/step)) <= 1e-9,
				"%g became %g", x[i], y[i])
			mean[i] += y[i] / draws
		}
		y[4] = 0
		p.Clip = norm([]float64{0.5, -1.234, 0, 2, 0, 1.999, step / 3})
		expect.Must(t, norm(y) <= p.Sensitivity(len(x)), "norm %g above %g", norm(y), p.Sensitivity(len(x)))
	}
	for i, m := range mean { // the deviation of a rounding is at most half a step
		v := max(-2, min(2, x[i]))
		expect.That(t, math.Abs(m-v) <= 4.5*step/2/math.Sqrt(draws), "mean of %g is %g", v, m)
	}
}

// An update of D values just above multiples of the step, all rounded up, is as long as
// Sensitivity says: by the triangle inequality rounding adds at most step sqrt(D).
func TestSensitivityIsReached(t *testing.T) {
	p := Defaults()
	p.SecureAggregation, p.ValueBits, p.ValueRange = SecAgg, 9, 4
	const step = 4.0 / 255
	for _, values := range []int{1, 4, 100, 10_000} {
		update := make([]float64, values)
		for i := range update {
			update[i] = 1e-7 * step
		}
		p.Clip = norm(update)
		for i := range update {
			update[i] = step // the upper of the two nearest
		}
		if got, want := p.Sensitivity(values), norm(update); got < want || got > want*(1+1e-6) {
			t.Errorf("%d values: sensitivity %g, the longest update has %g", values, got, want)
		}
	}
	p.SecureAggregation, p.Clip = None, 0.3
	if got := p.Sensitivity(100); got != 0.3 {
		t.Errorf("without rounding the sensitivity is %g", got)
	}
}

// Clipping squares, adds and scales D values. A normal number takes 32 operations, and 2 to scale and
// add it: on each device, or once on the server.
func TestWorkOfNoise(t *testing.T) {
	for mechanism, want := range map[string][2]float64{Central: {3 * 50, 34 * 50}, Distributed: {3*50 + 34*50, 0}} {
		p := Defaults()
		p.Mechanism, p.Noise, p.Clip = mechanism, 1, 1
		g := p.NewGuard(4, 1)
		device := g.FLOPs(50)
		if _, server := g.Sum(make([]float64, 50), 4); device != want[0] || server != want[1] {
			t.Errorf("%s: a device takes %g FLOPs, the server %g, want %v", mechanism, device, server, want)
		}
	}
}
