package experiment

import (
	"math"
	"testing"

	"fedsim/algorithms/methods"
	"fedsim/internal/rooms/theory"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// The time of a target is that of the first evaluation at which the mean over the seeds is below it; noise and bias are
// the largest until then. A bound is broken where it holds: without a bias.
func TestTimesAgainstBounds(t *testing.T) {
	names := []string{methods.GradientNorm, methods.GradientNoise, methods.GradientBias}
	run := func(rounds ...[4]float64) results.Run {
		var r results.Run
		for _, name := range names {
			r.Metrics = append(r.Metrics, results.NamedMetric{Name: name})
		}
		for _, values := range rounds {
			x := results.Round{TimeS: values[0]}
			for i, name := range names {
				x.Metrics = append(x.Metrics, results.NamedValue{Name: name, Value: values[i+1]})
			}
			r.Rounds = append(r.Rounds, x)
		}
		return r
	}
	runs := []results.Run{
		run([4]float64{0, 10, 1, 0}, [4]float64{1, 2, 3, 0.5}, [4]float64{2, 1, 2, 0}, [4]float64{3, 1, 9, 9}),
		run([4]float64{0, 10, 1, 0}, [4]float64{1.5, 5, 1, 0}, [4]float64{2.5, 4, 4, 0}),
	}
	c, d := &Timed{Measured: math.NaN()}, &theory.Descent{}
	if err := c.measure(runs, 0, d); err != nil || d.Eps != 10 || c.Measured != 2.5 || d.Noise2 != 16 ||
		d.Bias2 != 0.25 {
		t.Errorf("target %g after %g s, noise %g, bias %g: %v", d.Eps, c.Measured, d.Noise2, d.Bias2, err)
	}
	c.Descent, c.Seconds = *d, theory.Seconds{Seconds: 2}
	expect.That(t, !c.Broken() && c.Ratio() == 1.25, "a bound whose devices differ is broken, ratio %g", c.Ratio())
	if c.Bias2 = 0; !c.Broken() {
		t.Error("a measurement above its bound is accepted")
	}
	if c.Seconds.Seconds = math.Inf(1); c.Broken() || !math.IsNaN(c.Ratio()) {
		t.Error("a step without a bound has one")
	}
	if err := (&Timed{}).measure([]results.Run{{Status: results.Stalled, Reason: "x"}}, 1, d); err == nil {
		t.Error("a run without rounds is compared")
	}
}
