package clients

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedsim/engine"
	"fedsim/internal/tools/flows"
	"fedsim/network"
)

// sent is an uplink of a device: when it begins, its bits in 10^6, the rates of its link, its cell.
type sent struct {
	at   float64
	mbit float64
	link staircase
	cell int
}

func steady(mbps float64) staircase { return staircase{[]engine.Time{0}, []float64{mbps}} }

// linksOf are the own rates of devices; shares are those of shared links.
type linksOf []sent

func (l linksOf) Downlink(_ int, usual float64, _ engine.Time) (float64, engine.Time) {
	return usual, engine.Never
}
func (l linksOf) Uplink(device int, _ float64, at engine.Time) (float64, engine.Time) {
	return l[device].link.of(at)
}

type shares map[int]staircase // by link

func (s shares) Share(link int, at engine.Time) (float64, engine.Time) {
	if link, ok := s[link]; ok {
		return link.of(at)
	}
	return 1, engine.Never
}

// uplinks simulates uplinks that begin as soon as their devices are asked, without computing, and returns when they
// end, and how much longer than alone they took.
func uplinks(t testing.TB, list []sent, change func(*Setup)) (ends, longer []engine.Time) {
	ends, longer = make([]engine.Time, len(list)), make([]engine.Time, len(list))
	for i := range ends {
		ends[i] = engine.Never
	}
	s := setup(len(list), func(s *Setup) {
		s.Network.RTTms, s.Network.DownlinkMbps, s.Network.UplinkMbps = 0, 1e9, 1
		s.Network.HeaderBytes = 0
		s.Bandwidth = linksOf(list)
		s.Journal = journalFunc(func(e Entry) {
			if e.Kind == Span && e.Activity == Uplink {
				longer[e.Client] += e.Shared
			}
		})
		change(s)
	})
	var c *Clients
	c = start(t, s, Listener{Responded: func(client int) { ends[client] = c.Now() }})
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(1e9*list[a].at - 1e9*list[b].at) })
	for _, i := range order {
		c.RunUntil(engine.FromSeconds(list[i].at))
		c.Start(i, Attempt{BytesUp: list[i].mbit * 125_000})
	}
	c.Run()
	return ends, longer
}

type journalFunc func(Entry)

func (f journalFunc) Note(e Entry) { f(e) }

func airtime(cells int) func(*Setup) {
	return func(s *Setup) { s.Network.Cells, s.Network.CellShare = cells, flows.Airtime }
}

func bits(mbps float64) func(*Setup) {
	return func(s *Setup) { s.Network.Cells, s.Network.CellUpMbps = 1, mbps }
}

// Cases S16 to S28 of an independent oracle in fractions, to the nanosecond.
func TestCellsAgainstOracle(t *testing.T) {
	in := func(at, mbit, mbps float64) sent { return sent{at, mbit, steady(mbps), 0} }
	stairs := func(values ...float64) staircase { // value, until, value, until, ...
		s := staircase{}
		for i := 0; i < len(values); i += 2 {
			at := 0.0
			if i > 0 {
				at = values[i-1]
			}
			s.at, s.value = append(s.at, engine.FromSeconds(at)), append(s.value, values[i])
		}
		return s
	}
	left := func(change func(*Setup), s staircase) func(*Setup) {
		return func(setup *Setup) { change(setup); setup.Capacity = shares{0: s} }
	}
	apart := func(list ...sent) []sent {
		for i := range list {
			list[i].cell = i % 2
		}
		return list
	}
	for _, c := range []struct {
		name   string
		list   []sent
		change func(*Setup)
		want   []float64
	}{
		{"S16", []sent{in(0, 100, 100), in(0, 100, 1)}, airtime(1), []float64{2, 101}},
		{"S17", []sent{in(0, 100, 100), in(0, 100, 1)}, bits(100), []float64{1.010101010, 100}},
		{"three at once", []sent{in(0, 100, 100), in(0, 100, 50), in(0, 100, 10)}, airtime(1), []float64{3, 5, 13}},
		{"S19", []sent{in(0, 100, 100), in(0.5, 100, 50), in(0.75, 20, 10)}, airtime(1), []float64{1.875, 4.875, 5}},
		{"S20", []sent{{0, 100, stairs(100, 1, 25), 0}, in(0, 100, 50)}, airtime(1), []float64{4.5, 4}},
		{"two cells", apart(in(0, 40, 40), in(0, 40, 10), in(0, 40, 20), in(0, 40, 5)), airtime(2),
			[]float64{2, 8, 3, 12}},
		{"S22", []sent{in(0, 100, 100), in(0, 100, 50)}, left(airtime(1), stairs(1, 1, 0.5)), []float64{3, 5}},
		{"S23", []sent{in(0, 16, 8), in(0, 16, 8), in(1, 16, 8)}, left(bits(10), stairs(1, 2, 0.25, 4, 0.75)),
			[]float64{6.4, 6.4, 7.066666667}},
		{"nothing left for two seconds", []sent{in(0, 16, 8), in(0, 16, 8)}, left(bits(10), stairs(1, 1, 0, 3, 1)),
			[]float64{5.2, 5.2}},
		{"S26", []sent{in(0, 100, 100), in(0, 100, 1)}, func(s *Setup) { airtime(1)(s); s.Network.RTTms = 100 },
			[]float64{2.1, 101.1}}, // a message each way, of 50 ms
		{"S28", []sent{in(0, 100, 100), in(1, 400, 100), in(2, 25, 25)}, airtime(1), []float64{1, 6, 4}},
		{"an outage takes no airtime", []sent{in(0, 100, 100), {0, 100, stairs(100, 0.5, 0, 2, 100), 0}}, airtime(1),
			[]float64{1.25, 2.75}},
	} {
		got, _ := uplinks(t, c.list, c.change)
		for i, want := range c.want {
			if d := got[i] - engine.FromSeconds(want); max(d, -d) > 1 {
				t.Errorf("%s: transfer %d ends at %d ns, want %v s", c.name, i, int64(got[i]), want)
			}
		}
	}
}

// S25: an uplink that is canceled has moved the bits of its share of the cell.
func TestCanceledInACellOfAirtime(t *testing.T) {
	var c *Clients
	c = start(t, setup(2, func(s *Setup) {
		s.Network.RTTms, s.Network.DownlinkMbps, s.Network.UplinkMbps = 0, 1e9, 1
		s.Bandwidth = linksOf{{link: steady(100)}, {link: steady(1)}}
		airtime(1)(s)
	}), Listener{Responded: func(int) { c.Stop() }})
	for client := range 2 {
		c.Start(client, Attempt{BytesUp: 12.5e6})
	}
	c.Run()
	c.Cancel(1)
	if moved := c.Take().BytesUp - 12.5e6; c.Now() != 2*second || moved != 125_000 {
		t.Errorf("the round ends at %v, and the canceled device has moved %v bytes", c.Now(), moved)
	}
}

// in fractions simulates uplinks in cells of airtime, with the rates and shares of their links, to all digits.
func inFractions(list []sent, cells int, left shares) (ends, alone []*big.Rat) {
	rat := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	seconds := func(at engine.Time) *big.Rat { return big.NewRat(int64(at), 1e9) }
	n, now := len(list), new(big.Rat)
	rest := make([]*big.Rat, n)
	ends, alone = make([]*big.Rat, n), make([]*big.Rat, n)
	for i := range list {
		rest[i], alone[i] = rat(list[i].mbit), new(big.Rat)
	}
	at := func(s staircase) (value float64, until *big.Rat) { // of now, which may lie between two nanoseconds
		for i := range s.at {
			if seconds(s.at[i]).Cmp(now) > 0 {
				return value, seconds(s.at[i])
			}
			value = s.value[i]
		}
		return value, nil
	}
	for {
		var next *big.Rat
		earliest := func(x *big.Rat) {
			if x != nil && x.Cmp(now) > 0 && (next == nil || x.Cmp(next) < 0) {
				next = x
			}
		}
		rates, open := make([]*big.Rat, n), false
		count := make([]int64, cells)
		for i := range list {
			begins := seconds(engine.FromSeconds(list[i].at))
			if ends[i] == nil && begins.Cmp(now) > 0 {
				open = true
				earliest(begins)
			} else if ends[i] == nil {
				open = true
				mbps, until := at(list[i].link)
				earliest(until)
				if mbps > 0 {
					rates[i] = rat(mbps)
					count[i%cells]++
				}
			}
		}
		if !open {
			return ends, alone
		}
		moves := make([]*big.Rat, n)
		for i := range list {
			if rates[i] == nil {
				continue
			}
			share, until := 1.0, (*big.Rat)(nil)
			if s, ok := left[i%cells]; ok {
				share, until = at(s)
			}
			earliest(until)
			moves[i] = new(big.Rat).Mul(rates[i], rat(share))
			moves[i].Mul(moves[i], big.NewRat(1, count[i%cells]))
			if moves[i].Sign() > 0 {
				earliest(new(big.Rat).Add(now, new(big.Rat).Quo(rest[i], moves[i])))
			}
		}
		if next == nil {
			return ends, alone
		}
		span := new(big.Rat).Sub(next, now)
		for i := range list {
			switch {
			case moves[i] != nil:
				moved := new(big.Rat).Mul(moves[i], span)
				rest[i].Sub(rest[i], moved)
				alone[i].Add(alone[i], moved.Quo(moved, rates[i]))
				if rest[i].Sign() == 0 {
					ends[i] = next
				}
			case ends[i] == nil && seconds(engine.FromSeconds(list[i].at)).Cmp(now) <= 0:
				alone[i].Add(alone[i], span) // an outage
			}
		}
		now = next
	}
}

// Random transfers, rates and shares in cells of airtime end when fractions say, and took so much longer than
// alone.
func TestAirtimeAgainstFractions(t *testing.T) {
	longest := engine.Time(0)
	rapid.Check(t, func(rt *rapid.T) {
		cells := rapid.IntRange(1, 3).Draw(rt, "cells")
		stairs := func(name string, values ...float64) staircase {
			s := staircase{}
			at := engine.Time(0)
			for range rapid.IntRange(0, 4).Draw(rt, name) {
				s.at, s.value = append(s.at, at), append(s.value, rapid.SampledFrom(values).Draw(rt, "value"))
				at += engine.Time(rapid.IntRange(1, 3_000_000_000).Draw(rt, "ns"))
			}
			return staircase{append(s.at, at), append(s.value, values[len(values)-1])}
		}
		var list []sent
		for i := range rapid.IntRange(1, 6).Draw(rt, "devices") {
			list = append(list, sent{float64(rapid.IntRange(0, 50).Draw(rt, "begins")) / 10,
				float64(rapid.IntRange(1, 200).Draw(rt, "Mbit")), stairs("rates", 0, 3, 10, 50, 100), i % cells})
		}
		left := shares{}
		for cell := range cells {
			left[cell] = stairs("shares", 0, 0.25, 0.7, 1)
		}
		want, alone := inFractions(list, cells, left)
		got, longer := uplinks(t, list, func(s *Setup) { airtime(cells)(s); s.Capacity = left })
		for i := range list {
			exact, _ := want[i].Float64()
			if math.Abs(got[i].Seconds()-exact) > 6e-9 { // a nanosecond for each stretch of one rate
				rt.Fatalf("transfer %d ends at %d ns, in fractions at %.10f s", i, int64(got[i]), exact)
			}
			own, _ := alone[i].Float64()
			rest := exact - list[i].at - own
			if math.Abs(longer[i].Seconds()-rest) > 1e-8 {
				rt.Fatalf("transfer %d took %v longer than alone, in fractions %.10f s", i, longer[i], rest)
			}
			longest = max(longest, longer[i])
		}
	})
	if longest < second {
		t.Errorf("no transfer took longer than alone by more than %v", longest)
	}
}

var _ network.Capacity = shares{}

// Airtime of equal rates is bits of a cell of that rate.
func TestAirtimeOfEqualRatesIsBits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var list []sent
		for range rapid.IntRange(1, 8).Draw(rt, "devices") {
			list = append(list, sent{float64(rapid.IntRange(0, 50).Draw(rt, "begins")) / 10,
				float64(rapid.IntRange(0, 200).Draw(rt, "Mbit")), steady(50), 0})
		}
		air, longer := uplinks(t, list, airtime(1))
		other, beyond := uplinks(t, list, bits(50))
		for i := range list {
			if d := air[i] - other[i]; max(d, -d) > 1 {
				rt.Fatalf("transfer %d ends at %v with airtime, at %v with bits", i, air[i], other[i])
			}
			if d := longer[i] - beyond[i]; max(d, -d) > 2 {
				rt.Fatalf("transfer %d: longer by %v with airtime, by %v with bits", i, longer[i], beyond[i])
			}
		}
	})
}
