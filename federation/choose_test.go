package federation

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestClientsAreDistinctInOrderAndDependOnTheRoundAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "devices")
		k := rapid.IntRange(1, n).Draw(t, "clients")
		round := rapid.IntRange(0, 1000).Draw(t, "round")
		s := newSelection(nil, 7, k, n)
		draw := func(round int) []int32 {
			s.open(round, false, nil)
			return slices.Clone(s.Uniform(k, nil))
		}
		got := draw(round)
		if len(got) != k {
			t.Fatalf("%d devices of %d, want %d", len(got), n, k)
		}
		for i, device := range got {
			if device < 0 || int(device) >= n || i > 0 && device <= got[i-1] {
				t.Fatalf("devices %v of %d: must ascend", got, n)
			}
		}
		draw(round + 1)
		if again := draw(round); !slices.Equal(got, again) {
			t.Fatalf("round %d asks %v, then %v", round, got, again)
		}
	})
}

// Each device is asked in k/n of the rounds. Over 20,000 rounds the share has a
// standard deviation of sqrt(p(1-p)/20000) = 0.0033 at p = 0.3; five of them are
// allowed.
func TestClientsAreUniform(t *testing.T) {
	const n, rounds = 20, 20_000
	s := newSelection(nil, 1, 6, n)
	var asked [n]int
	for h := range rounds {
		s.open(h, false, nil)
		for _, device := range s.Uniform(6, nil) {
			asked[device]++
		}
	}
	for device, times := range asked {
		if share := float64(times) / rounds; math.Abs(share-0.3) > 5*0.0033 {
			t.Errorf("device %d is asked in a share of %.4f of the rounds, want 0.3", device, share)
		}
	}
}

func TestAFractionIsRoundedUp(t *testing.T) {
	cfg := Defaults()
	for _, c := range []struct {
		fraction float64
		want     int
	}{{1, 7}, {0.5, 4}, {1e-9, 1}} {
		if cfg.Clients.Share = c.fraction; cfg.clients(7) != c.want {
			t.Errorf("a fraction of %g of 7 devices is %d, want %d", c.fraction, cfg.clients(7), c.want)
		}
	}
}
