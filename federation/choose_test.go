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

// Selecting clients uniformly allocates nothing, for a sample or all, whether all clients
// are available or some.
func TestUniformSelectionAllocatesNothing(t *testing.T) {
	for _, available := range []float64{0.5, 1} {
		f := start(t, world(Charged, func(s *Setup) {
			s.Config.Clients = 3
			if available < 1 {
				s.Availability = coins{7, available}
			}
		}), 1)
		f.clients.Begin()
		f.Select()
		if n := testing.AllocsPerRun(20, func() {
			f.round++
			f.Select()
		}); n != 0 {
			t.Errorf("%g of the clients available: %g allocations", available, n)
		}
	}
}

func TestAFractionIsRoundedUp(t *testing.T) {
	cfg := Defaults()
	for _, c := range []struct {
		fraction float64
		want     int
	}{{1, 7}, {0.5, 4}, {1e-9, 1}} {
		if cfg.Fraction = c.fraction; cfg.clients(7) != c.want {
			t.Errorf("a fraction of %g of 7 devices is %d, want %d", c.fraction, cfg.clients(7), c.want)
		}
	}
}

// counting is a selector that also counts the clients that it could choose, one by one.
type counting struct {
	Selector
	f    *Server
	seen []int
	owed bool // an available client owed a response
}

func (c *counting) Select(s *Selection) []int32 {
	n := 0
	for t := range c.f.setup.Clients {
		if c.f.clients.Available(t) && !s.Owes(int32(t)) {
			n++
		}
		c.owed = c.owed || c.f.clients.Available(t) && s.Owes(int32(t))
	}
	c.seen = append(c.seen, n)
	return c.Selector.Select(s)
}

// A round records how many clients could be asked when it began: available ones that owe no
// response. Nobody counts before the first round, nor without rounds.
func TestRoundsCountTheClientsThatCouldBeAsked(t *testing.T) {
	for _, available := range []float64{0.6, 1} {
		f := start(t, world(First, func(s *Setup) {
			s.Config.Clients, s.Config.Over, s.Config.Late = 3, 2, Keep
			s.Network.Jitter = 0.9
			if available < 1 {
				s.Availability = coins{7, available}
			}
		}), 1)
		c := &counting{Selector: f.selector, f: f}
		f.selector = c
		f.Begin()
		var got []int
		for range 60 {
			f.runRound()
			got = append(got, f.driver.(*toy).askable)
		}
		if !slices.Equal(got, c.seen) {
			t.Errorf("rounds had %v clients, want %v", got, c.seen)
		}
		if available == 1 && !c.owed {
			t.Error("no client owed a response while it was available")
		}
	}
}
