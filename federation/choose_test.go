package federation

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/engine"
	"fedsim/results"
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
		f := start(t, world(t, "mocha", Charged, func(s *Setup) {
			s.Config.Clients = 3
			if available < 1 {
				s.Availability = coins{7, available}
			}
		}))
		f.clients.Begin()
		f.choose()
		if n := testing.AllocsPerRun(20, func() {
			f.round++
			f.choose()
		}); n != 0 {
			t.Errorf("%g of the clients available: %g allocations", available, n)
		}
	}
}

// Only those that are asked take part, are waited for, or change.
func TestASampleTakesPart(t *testing.T) {
	for _, protocol := range []string{WaitForAll, Deadline, Charged} {
		f := start(t, world(t, "mocha", protocol, func(s *Setup) {
			s.Config.Clients = 3
			if protocol != WaitForAll {
				s.Faults.DropProbability = 0.2
			}
		}))
		f.clients.Begin()
		for h := range 30 {
			before := slices.Clone(f.method.Model().Duals)
			for k := range before {
				before[k] = slices.Clone(before[k])
			}
			r := f.runRound()
			if r.Participants+r.Dropped+r.Late != 3 {
				t.Errorf("%s, round %d: %d took part, %d dropped, %d late: want 3 together", protocol, h, r.Participants, r.Dropped, r.Late)
			}
			if protocol == WaitForAll && r.Participants != 3 {
				t.Errorf("round %d: %d took part, want all 3 asked", h, r.Participants)
			}
			for k := range f.devices {
				if !slices.Contains(f.open.asked, int32(k)) && !slices.Equal(before[k], f.method.Model().Duals[k]) {
					t.Errorf("%s, round %d: device %d was not asked and has changed", protocol, h, k)
				}
			}
		}
	}
}

// A device that is not asked may die and come back without anyone waiting.
func TestBatteriesOfThoseNotAsked(t *testing.T) {
	for _, protocol := range []string{WaitForAll, Deadline} {
		f := start(t, world(t, "mocha", protocol, func(s *Setup) {
			s.Config.Clients = 2
			joules(s, 6)
			s.Devices.ChargeW, s.Devices.ReturnLevel = 3, 0.5
		}))
		f.clients.Begin()
		died := false
		for h := range 200 {
			r := f.runRound()
			if f.stalled != "" {
				t.Fatal(f.stalled)
			}
			if protocol == WaitForAll && r.Participants != 2 || protocol == Deadline && r.Participants+r.Dropped+r.Late != 2 {
				t.Fatalf("%s, round %d: %d took part, %d dropped, %d late: 2 were asked", protocol, h, r.Participants, r.Dropped, r.Late)
			}
			for k := range f.devices {
				died = died || f.clients.Batteries().Depleted(k) && !slices.Contains(f.open.asked, int32(k))
			}
		}
		if !died {
			t.Errorf("%s: no device was flat while others were asked: the test shows nothing", protocol)
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

func TestMoreClientsThanDevicesAreRefused(t *testing.T) {
	_, err := New(world(t, "mocha", WaitForAll, func(s *Setup) { s.Config.Clients = 8 }))
	var problem config.Problem
	if !errors.As(err, &problem) || problem.Key != "federation.clients_per_round" {
		t.Errorf("8 clients of 7 devices: %v", err)
	}
	_, err = New(world(t, "cocoa", WaitForAll, func(s *Setup) { s.Config.Clients = 3 }))
	if !errors.As(err, &problem) || problem.Key != "federation.clients_per_round" {
		t.Errorf("cocoa with 3 of 7 devices: %v", err)
	}
}

// blinking is the presence of devices that are all away for most of each second,
// and for good after a hundred.
type blinking struct{}

func (blinking) Available(device int, at engine.Time) (bool, engine.Time) {
	const second = engine.Time(1e9)
	whole := at - at%second
	if whole == 100*second {
		return false, engine.Never
	}
	if from := whole + engine.Time(1e8*float64(device+1)); at < from {
		return false, from
	} else if to := from + 5e7; at < to {
		return true, to
	}
	return false, whole + second + 1e8
}

// A round begins with the first device that can be reached, however the devices
// are drawn and however long none could be: that the server looked for them before
// changes nothing.
func TestEverySelectionWaitsForTheFirstDevice(t *testing.T) {
	for _, protocol := range []string{Deadline, Charged, First} {
		for _, asked := range []int{len(sizes), 5} {
			var uniform *Outcome
			for _, selection := range append([]string{"uniform", "data", "speed"}, papersSelectors()...) {
				f := start(t, world(t, "mocha", protocol, func(s *Setup) {
					s.Availability = blinking{}
					selectBy(s, selection, asked, len(sizes))
					s.Config.Fit = false
					s.Config.DeadlineS, s.Plan.Rounds = 0.2, 40
					s.Options.(*algorithms.MOCHAOptions).Epochs = 0.01
				}))
				out, err := f.Run(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if uniform == nil {
					uniform = out
				}
				if out.Status != results.Done || len(out.Rounds) != 41 {
					t.Errorf("%s, %s of %d devices: %s after %d rounds: %s", protocol, selection, asked, out.Status, len(out.Rounds)-1, out.Reason)
				}
				// When all are asked, the draw decides nothing.
				if asked == len(sizes) && out.EventHash != uniform.EventHash {
					t.Errorf("%s: the events of %s are not those of %s", protocol, selection, "uniform")
				}
			}
		}
	}
}

// counting is a selector that also counts the clients that it could choose, one by one.
type counting struct {
	Selector
	f    *Federation
	seen []int
	owed bool // an available client owed a response
}

func (c *counting) Select(s *Selection) []int32 {
	n := 0
	for t := range c.f.devices {
		if c.f.clients.Available(t) && !s.Owes(int32(t)) {
			n++
		}
		c.owed = c.owed || c.f.clients.Available(t) && s.Owes(int32(t))
	}
	c.seen = append(c.seen, n)
	return c.Selector.Select(s)
}

// A round tells how many clients could be asked when it began: available ones that owe no
// response. Nobody counts before the first round, nor without rounds.
func TestRoundsCountTheClientsThatCouldBeAsked(t *testing.T) {
	for _, available := range []float64{0.6, 1} {
		f := start(t, world(t, "fedavg", First, func(s *Setup) {
			s.Config.Clients, s.Config.Over, s.Config.Late = 3, 2, Keep
			s.Network.Jitter = 0.9
			s.Plan.Rounds = 60
			if available < 1 {
				s.Availability = coins{7, available}
			}
		}))
		c := &counting{Selector: f.selector, f: f}
		f.selector = c
		var got []int
		out, err := f.Run(context.Background(), func(r results.Round) { got = append(got, r.Available) })
		if err != nil || out.Status != results.Done {
			t.Fatal(out, err)
		}
		if want := append([]int{results.UnknownCount}, c.seen...); !slices.Equal(got, want) {
			t.Errorf("rounds had %v clients, want %v", got, want)
		}
		if available == 1 && !c.owed {
			t.Error("no client owed a response while it was available")
		}
	}
	for _, r := range run(t, world(t, "fedasync", Asynchronous, nil)).Rounds {
		if r.Available != results.UnknownCount {
			t.Errorf("round %d of %s: %d clients could be asked", r.Round, Asynchronous, r.Available)
		}
	}
}
