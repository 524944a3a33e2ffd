package selectors

import (
	"math"
	"slices"
	"testing"

	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/servertest"
)

// rpow-d takes clients that have not responded first, then the largest losses.
func TestLastReportedLosses(t *testing.T) {
	r := rehearse(t, "rpow-d", nil, federation.SelectorSetup{Candidates: 6}, rows([]int32{1, 1, 1, 1, 1, 1}))
	for client, loss := range map[int32]float64{0: 0.3, 1: 0.9, 3: 0.5, 4: 0.7} {
		r.respond(client, federation.History{Loss: loss})
	}
	if got := r.pick(3, 4, nil); !slices.Equal(got, []int32{1, 2, 4, 5}) {
		t.Errorf("clients %v, want 1, 2, 4 and 5", got)
	}
}

// estimated returns estimates of which each has its download in milliseconds, its work and
// its upload.
func estimated(of ...[3]engine.Time) []federation.Estimate {
	var all []federation.Estimate
	for _, e := range of {
		all = append(all, federation.Estimate{Down: e[0] * 1e6, Compute: e[1] * 1e6, Up: e[2] * 1e6})
	}
	return all
}

// FedCS takes the candidates that lengthen the round least while they fit.
func TestFedCSFitsTheRound(t *testing.T) {
	all := estimated([3]engine.Time{10, 90, 100}, [3]engine.Time{10, 40, 50}, [3]engine.Time{10, 290, 30},
		[3]engine.Time{10, 490, 10}, [3]engine.Time{10, 40, 50})
	for _, c := range []struct {
		sequential   bool
		began, limit engine.Time
		most         int
		want         []int
	}{
		{false, 0, 330, 5, []int{1, 4, 0, 2}}, // lengths 200, 100, 330, 510, 100
		{false, 1, 330, 5, []int{1, 4, 0}},
		{false, 0, 330, 2, []int{1, 4}},
		{false, 0, 50, 5, []int{1}}, // one that is too slow
		// After client 1, at 100: client 4 ends at 150, then client 0 at 250, client 2 at 330
		// (it is ready at 300), client 3 at 510.
		{true, 0, 330, 5, []int{1, 4, 0, 2}},
		{true, 0, 249, 5, []int{1, 4}},
		{true, 0, 510, 5, []int{1, 4, 0, 2, 3}},
	} {
		f := &fedcs{limit: c.limit * 1e6, sequential: c.sequential}
		if got := f.fit(all, c.began*1e6, c.most); !slices.Equal(got, c.want) {
			t.Errorf("%+v: candidates %v", c, got)
		}
	}
}

// The reports are there with that of the slowest candidate, whatever its number.
func TestTheSlowestReportCounts(t *testing.T) {
	fast := fleets.Class{
		Name: "fast", Share: 0.5, ClockGHz: 1e-6, FlopsPerCycle: 1, BatteryWh: devices.Mains,
		Link: "lte", DownlinkMbps: 1, UplinkMbps: 1, RTTms: 10,
	}
	slow := fast
	slow.Name = "slow"
	slow.UplinkMbps, slow.RTTms = 0.1, 100
	r := rehearse(t, "fedcs", &fedcsOptions{RoundS: 1, Uploads: "parallel"}, federation.SelectorSetup{Candidates: 5},
		func(s *federation.Setup) { s.Fleet = &fleets.Fleet{Classes: []fleets.Class{fast, slow}} })
	all := []int32{0, 1, 2, 3, 4, 5, 6}
	longest := engine.Time(0)
	for _, order := range [][]int32{all, {6, 5, 4, 3, 2, 1, 0}} {
		s := r.open(0, 3, nil)
		s.Estimates(order, 500)
		for _, client := range all {
			longest = max(longest, r.server.Clients().UsualTransfers(int(client), 500, 500))
		}
		if s.Inquiry() != longest || longest < engine.FromSeconds(0.1) {
			t.Errorf("reports in the order %v take %v, want %v", order, s.Inquiry(), longest)
		}
	}
}

// Tiers are equal parts of the clients in the order of their response times.
func TestTiersOfTiFL(t *testing.T) {
	r := rehearse(t, "tifl", &tiflOptions{Tiers: 3, Every: 1}, federation.SelectorSetup{}, nil)
	x, times := r.Selector.(*tifl), make([]int, 3)
	for round := range 60 {
		pair := r.pick(round, 2, nil)
		tiers := []uint8{x.tiers[pair[0]], x.tiers[pair[1]]}
		if tiers[0] != tiers[1] {
			t.Errorf("round %d has clients of tiers %v", round, tiers)
		}
		times[tiers[0]]++
	}
	// Rows 12, 31, 8, 20, 9, 40, 15: in order clients 2, 4, 0 | 6, 3 | 1, 5.
	if !slices.Equal(x.tiers, []uint8{0, 2, 0, 1, 0, 2, 1}) {
		t.Errorf("tiers %v", x.tiers)
	}
	if slices.Min(times) < 5 {
		t.Errorf("tiers are drawn %v times", times)
	}
}

// Probabilities follow the losses of tiers when that of the last tier has not fallen, and a
// tier without credits or available clients is not drawn.
func TestProbabilitiesOfTiers(t *testing.T) {
	x := rehearse(t, "tifl", &tiflOptions{Tiers: 4, Adaptive: true, Every: 1, Credits: 2}, federation.SelectorSetup{},
		nil).Selector.(*tifl)
	is := func(what string, want ...float64) {
		t.Helper()
		for i := range want {
			if !servertest.Near(x.now[i], want[i], 1e-12) {
				t.Errorf("%s: probabilities %v, want %v", what, x.now, want)
				return
			}
		}
	}
	x.last = 1
	x.look([]float64{4, 3, 2, 1})
	is("first look", 0.25, 0.25, 0.25, 0.25)
	x.look([]float64{5, 2.9, 6, 0.5})
	is("the loss has fallen", 0.25, 0.25, 0.25, 0.25)
	x.look([]float64{5, 2.9, math.Inf(1), 0.5}) // order 2, 0, 1, 3
	is("the loss has not fallen", 2./6, 1./6, 3./6, 0)
	x.counts = []int{1, 1, 1, 1}
	for u, want := range map[float64]int{0: 0, 0.32: 0, 0.34: 1, 0.49: 1, 0.51: 2, 0.999: 2} {
		if got := x.drawTier(u); got != want {
			t.Errorf("number %g draws tier %d, want %d", u, got, want)
		}
	}
	x.counts[2] = 0 // 2/6 and 1/6 are left
	for u, want := range map[float64]int{0.6: 0, 0.7: 1, 0.999: 1} {
		if got := x.drawTier(u); got != want {
			t.Errorf("without tier 2, number %g draws tier %d, want %d", u, got, want)
		}
	}
	x.credits = []int{0, 0, 5, 5} // only tier 3 can be drawn, whose probability is 0
	if got := x.drawTier(0.5); got != 3 {
		t.Errorf("tier %d is drawn, want 3", got)
	}
	x.look([]float64{5, 2.9, 7, 0.5}) // order 2, 3
	is("two tiers have credits", 0, 0, 1, 0)
	x.credits = []int{0, 0, 0, 0}
	if got := x.drawTier(0.34); got != 1 {
		t.Errorf("without credits, tier %d of the three available is drawn, want 1", got)
	}
}

// A tier is drawn as often as it has credits: in as many rounds as all have together, each tier
// exactly so often (algorithm 2 of the paper, Credits_t - 1 in each round of tier t).
func TestCreditsOfTiers(t *testing.T) {
	for _, adaptive := range []bool{false, true} {
		const credits = 7
		r := rehearse(t, "tifl", &tiflOptions{Tiers: 3, Every: 2, Credits: credits, Adaptive: adaptive},
			federation.SelectorSetup{}, nil)
		x, times := r.Selector.(*tifl), make([]int, 3)
		for round := range 3*credits + 5 {
			clients := r.pick(round, 2, nil)
			for _, client := range clients {
				r.respond(client, federation.History{Round: int32(round), Loss: 1 / float64(1+int(client)+round)})
			}
			if round < 3*credits {
				times[x.tiers[clients[0]]]++
			}
		}
		if !slices.Equal(times, []int{credits, credits, credits}) || !slices.Equal(x.credits, []int{0, 0, 0}) {
			t.Errorf("adaptive %t: tiers are drawn %v times with %d credits each; %v are left", adaptive, times,
				credits, x.credits)
		}
	}
}

// The expected length of a round gives the earlier ones the weight smooth: the authors' code has
// (1 - deadline_alpha) length + deadline_alpha mean, with deadline_alpha 0.25 (core/aggregator.py, argParser.py).
func TestREFLSmoothsTheLengthsOfRounds(t *testing.T) {
	factory, _ := federation.LookupSelector("refl")
	standard := factory.Options().(*reflOptions)
	if standard.Smooth != 0.25 || standard.Holdoff != 5 {
		t.Errorf("the defaults are %+v", standard)
	}
	r := rehearse(t, "refl", &reflOptions{PeriodS: 1000, Slots: 4, Smooth: 0.25}, federation.SelectorSetup{}, nil)
	for round, c := range []struct{ at, mu float64 }{
		{0, 0}, {10, 10}, {30, 0.25*10 + 0.75*20}, {34, 0.25*17.5 + 0.75*4}, {134, 0.25*7.375 + 0.75*100},
	} {
		r.server.Clients().RunUntil(engine.FromSeconds(c.at))
		r.pick(round, 2, []int32{0, 1, 2})
		if got := r.Selector.(*refl).mu; math.Abs(got-c.mu) > 1e-9 {
			t.Errorf("round %d: the expected length is %g s, want %g", round, got, c.mu)
		}
	}
}

// Availability is predicted for [mu, 2 mu] from now. A client that holds off comes after all others,
// also after those that were always available.
func TestREFLPredictsForTheNextRound(t *testing.T) {
	rehearsed := rehearse(t, "refl", &reflOptions{PeriodS: 100, Slots: 10, Holdoff: 5}, federation.SelectorSetup{}, nil)
	r := rehearsed.Selector.(*refl)
	for i := range r.rounds {
		r.rounds[i], r.seen[i] = 4, []uint16{0, 4, 4, 4, 4, 4, 4} // client 0 was never available
	}
	for _, c := range []struct {
		mu, now float64
		want    []int
	}{{10, 0, []int{1, 2}}, {12, 3, []int{1, 2}}, {12, 85, []int{9, 0}}, {0, 47, []int{4}},
		{25, 50, []int{7, 8, 9, 0}}} {
		r.mu = c.mu
		if r.predictFor(c.now); !slices.Equal(r.slots, c.want) {
			t.Errorf("at %g s, rounds of %g s: slots %v, want %v", c.now, c.mu, r.slots, c.want)
		}
	}
	rehearsed.respond(0, federation.History{Round: 2})
	if got := rehearsed.pick(3, 6, []int32{0, 1, 2, 3, 4, 5, 6}); slices.Contains(got, int32(0)) {
		t.Errorf("clients %v: client 0 holds off", got)
	}
}

// The loss of a tier is the mean over the rows of its clients. Probabilities are looked at in every so
// many rounds, not in the first.
func TestTiersLookAtLosses(t *testing.T) {
	factory, _ := federation.LookupSelector("tifl")
	o := factory.Options().(*tiflOptions)
	o.Tiers, o.Every = 2, 3
	r := rehearse(t, "tifl", o, federation.SelectorSetup{}, nil)
	x := r.Selector.(*tifl)
	for round := range 10 {
		if round == 3 {
			x.tiers = []uint8{0, 0, 0, 1, 1, 1, 1}
			for client, loss := range []float64{1, 2, 5, 3} { // of 12, 31, 8 and 20 rows
				r.respond(int32(client), federation.History{Loss: loss})
			}
		}
		x.losses = nil
		r.pick(round, 2, []int32{0, 1, 2, 3, 4, 5, 6})
		if looked := x.losses != nil; looked != (round > 0 && round%3 == 0) {
			t.Errorf("round %d: losses %v", round, x.losses)
		}
		if want := []float64{(12*1 + 31*2 + 8*5) / 51.0, 3}; round == 3 &&
			!(servertest.Near(x.losses[0], want[0], 1e-12) && servertest.Near(x.losses[1], want[1], 1e-12)) {
			t.Errorf("losses %v, want %v", x.losses, want)
		}
	}
}

// REFL selects the clients that were available least often in the slots that come next.
func TestREFLSelectsTheLeastAvailable(t *testing.T) {
	rehearsed := rehearse(t, "refl", &reflOptions{PeriodS: 100, Slots: 4, Smooth: 0.25}, federation.SelectorSetup{},
		nil)
	r := rehearsed.Selector.(*refl)
	pick := func(round int, seconds float64, available ...int32) []int32 {
		rehearsed.server.Clients().RunUntil(engine.FromSeconds(seconds))
		return slices.Clone(rehearsed.pick(round, 2, available))
	}
	all := []int32{0, 1, 2, 3, 4, 5, 6}
	pick(0, 0, all...)             // slot 0: all
	pick(1, 10, 0, 1, 2, 3)        // slot 0: 4, 5 and 6 half of the time
	pick(2, 20, 0, 1, 2, 3, 4)     // slot 0: 5 and 6 a third
	pick(3, 30, 0, 5, 6)           // slot 1: 0, 5 and 6 always, others never
	pick(4, 40, 0, 5, 6, 1)        // slot 1: 1 half of the time
	r.mu = 0                       // of a round
	got := pick(5, 41, 0, 1, 5, 6) // in slot 1 are 0, 5, 6 always
	if !slices.Contains(got, int32(1)) {
		t.Errorf("clients %v, want 1 among them, which is available least often", got)
	}
	r.began, r.mu = engine.FromSeconds(4), 46 // of a round that begins at 50; [96, 142] has slots 3, 0 and 1
	got = pick(6, 50, all...)
	// Slots 2 and 3 have no rounds: slot 1 stands for them, in which the shares of three rounds are
	// 0: 1, 1: 2/3, 2, 3 and 4: 0, 5 and 6: 1; in slot 0 they are 1, 1, 1, 1, 2/3, 1/3, 1/3.
	// Sums with slot 1 twice: 3, 7/3, 1, 1, 2/3, 7/3, 7/3.
	if !slices.Contains(got, int32(4)) || !(slices.Contains(got, int32(2)) || slices.Contains(got, int32(3))) {
		t.Errorf("clients %v, want 4, and 2 or 3", got)
	}
	r.Holdoff = 3
	rehearsed.respond(4, federation.History{Round: 6})
	r.began, r.mu = engine.FromSeconds(4), 46 // now slot 2 stands for slot 3: all were available
	if got = pick(7, 50, all...); !slices.Equal(got, []int32{2, 3}) {
		t.Errorf("clients %v, want 2 and 3: client 4 has responded just now", got)
	}
	if got = pick(8, 50, 4); !slices.Equal(got, []int32{4}) {
		t.Errorf("clients %v, want 4: no other is available", got)
	}
}
