package protocols

import (
	"testing"

	"fedsim/federation/servertest"
)

// The seconds of a mini-batch are those of the first response, and then a moving mean.
func TestCompassObservesSpeeds(t *testing.T) {
	k := pacedClient{steps: 10}
	for i, want := range []float64{2, 0.1*2 + 0.9*1, 0.1*1.1 + 0.9*3} {
		k.observe([]float64{20, 10, 30}[i], 0.9)
		if !servertest.Near(k.speed, want, 1e-15) {
			t.Errorf("after response %d: %g s, want %g", i+1, k.speed, want)
		}
	}
}
