package scenario

import (
	"math"
	"testing"

	"fedsim/config"
	"fedsim/internal/tools/expect"
)

// Seconds must be finite and not negative.
func TestOverheadsAreChecked(t *testing.T) {
	for _, c := range []struct {
		key string
		set func(*OverheadConfig, float64)
		bad []float64
	}{
		{"task_s", func(o *OverheadConfig, x float64) { o.TaskS = x }, []float64{-1, math.NaN(), math.Inf(1)}},
		{"step_s", func(o *OverheadConfig, x float64) { o.StepS = x }, []float64{-1e-9, math.Inf(1)}},
		{"s_per_gb", func(o *OverheadConfig, x float64) { o.TrafficSPerGB = x }, []float64{-1, 2e9}},
		{"compute_jitter", func(o *OverheadConfig, x float64) { o.Jitter = x }, []float64{-0.1, 101}},
		{"launches_per_step", func(o *OverheadConfig, x float64) { o.LaunchesPerStep = x },
			[]float64{0, -1, 0.5, math.NaN()}},
		{"client_poll_s", func(o *OverheadConfig, x float64) { o.ClientPollS = x }, []float64{1e-7, 2e9}},
	} {
		for _, x := range c.bad {
			o, check := defaultOverhead(), config.NewChecker()
			c.set(&o, x)
			o.Validate(check)
			found := check.Problems()
			expect.That(t, len(found) == 1 && found[0].Key == c.key, "%s = %g: %v", c.key, x, found)
		}
	}
}
