package flows

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
)

// Rates are max-min fair if and only if no link exceeds its capacity and every flow has
// a bottleneck: its own rate, or a full link on which no flow is faster (Bertsekas and
// Gallager, Data Networks, section 6.5.2). This checks thousands of flows while rates
// and capacities change.
func TestEveryFlowHasABottleneck(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	const devices, cells = 3000, 40
	tree := Tree{ServerMbps: 2000, CellMbps: make([]float64, cells), CellOf: make([]int32, devices)}
	for d := range tree.CellOf {
		tree.CellOf[d] = int32(random.IntN(cells+1)) - 1
	}
	for c := range tree.CellMbps {
		tree.CellMbps[c] = 200 * random.Float64()
	}
	mbps := func() float64 { // a third in classes, a third all different, a few without a rate
		switch random.IntN(9) {
		case 0:
			return 0
		case 1, 2, 3:
			return float64(1 + random.IntN(5))
		default:
			return 10 * math.Pow(random.Float64(), 4)
		}
	}
	s := New(devices, tree)
	rates, transfers := make([]float64, devices), make([]bool, devices)
	for d := range rates {
		rates[d] = mbps()
		s.SetRate(0, d, rates[d])
	}
	now := engine.Time(0)
	for step := range 200 {
		now += engine.Time(random.IntN(1e6))
		for d, ok := s.TakeEnded(now); ok; d, ok = s.TakeEnded(now) {
			transfers[d] = false
		}
		switch step % 4 {
		case 0:
			c := random.IntN(cells)
			tree.CellMbps[c] = max(0, 300*random.Float64()-50) // sometimes unlimited
			s.SetCell(now, c, tree.CellMbps[c])
		case 1:
			tree.ServerMbps = max(0, 10000*random.Float64()-500)
			s.SetServer(now, tree.ServerMbps)
		}
		for range random.IntN(100) {
			d := random.IntN(devices)
			switch {
			case random.IntN(3) == 0:
				rates[d] = mbps()
				s.SetRate(now, d, rates[d])
			case !transfers[d]:
				s.Begin(now, d, 1e6*random.ExpFloat64(), 0)
				transfers[d] = true
			case step > 100: // first the flows start
				s.Remove(now, d)
				transfers[d] = false
			}
		}
		for d, ok := s.TakeEnded(now); ok; d, ok = s.TakeEnded(now) { // of no bytes
			transfers[d] = false
		}
		requireFair(t, s, tree, rates, transfers)
	}
}

func requireFair(t *testing.T, s *FairShare, tree Tree, rates []float64, transfers []bool) {
	t.Helper()
	const slack = 1e-12 // relative
	carried, fastest := make([]float64, 1+len(tree.CellMbps)), make([]float64, 1+len(tree.CellMbps))
	capacity := append([]float64{tree.ServerMbps}, tree.CellMbps...)
	for d := range rates {
		r := s.Rate(d)
		if !transfers[d] {
			expect.Must(t, r == 0, "device %d has rate %g and no flow", d, r)
			continue
		}
		carried[0] += r
		fastest[0] = max(fastest[0], r)
		if c := tree.CellOf[d]; c >= 0 {
			carried[1+c] += r
			fastest[1+c] = max(fastest[1+c], r)
		}
	}
	full := func(link int) bool { return capacity[link] > 0 && carried[link] > capacity[link]*(1-slack) }
	for link := range carried {
		expect.Must(t, capacity[link] <= 0 || carried[link] <= capacity[link]*(1+slack),
			"link %d carries %g of %g Mbps", link, carried[link], capacity[link])
	}
	for d, own := range rates {
		if !transfers[d] {
			continue
		}
		r := s.Rate(d)
		bottleneck := func(link int) bool { return full(link) && r >= fastest[link]*(1-slack) }
		expect.Must(t, r <= own, "device %d has rate %g of %g", d, r, own)
		if r == own || bottleneck(0) || tree.CellOf[d] >= 0 && bottleneck(1+int(tree.CellOf[d])) {
			continue
		}
		t.Fatalf("device %d of cell %d has rate %g of %g and no bottleneck", d, tree.CellOf[d], r, own)
	}
}

// A link that is never idle carries all bytes in the expected time, whatever flows come
// and go: to the nanosecond after 2e5 changes, in the tenth year.
func TestNothingIsLostOverTime(t *testing.T) {
	const n, bytes, mbps = 100000, 12345, 800
	start := engine.Time(10 * 365 * 24 * 3600 * 1e9)
	s := New(n, Tree{ServerMbps: mbps})
	random := rand.New(rand.NewPCG(13, 14))
	for d := range n {
		s.SetRate(0, d, mbps+float64(random.IntN(7)))
	}
	now := start
	ended := 0
	take := func() {
		for _, ok := s.TakeEnded(now); ok; _, ok = s.TakeEnded(now) {
			ended++
		}
	}
	for d := range n { // faster than the link can carry them
		s.Begin(now, d, bytes, 0)
		now += engine.Time(random.IntN(100000))
		for at := s.Next(); at <= now; at = s.Next() {
			now, at = at, now
			take()
			now = at
		}
	}
	for s.Next() != engine.Never {
		now = s.Next()
		take()
	}
	want := start + n*bytes*8*1000/mbps
	expect.That(t, ended == n && now == want, "%d flows, the last at %d ns; want %d and %d", ended, now, n, want)
}

func TestEdges(t *testing.T) {
	s := New(3, Tree{})
	s.SetRate(0, 0, 8) // a byte a microsecond
	s.SetRate(0, 1, 8)
	expect.That(t, s.Next() == engine.Never, "Next returns an instant before any flow began")
	s.Begin(0, 0, 1000, 0)
	s.Begin(0, 1, 500, 2000)
	s.Begin(0, 2, 10, 0) // no rate
	expect.That(t, s.Next() == 2000, "next at %d ns, want the end of the delay", s.Next())
	expect.That(t, s.Rate(1) == 0 && s.Rate(0) == 8,
		"rates %g and %g Mbps, want 8 and, waiting, 0", s.Rate(0), s.Rate(1))
	if _, ok := s.TakeEnded(2000); ok {
		t.Error("a flow ended with its delay")
	}
	b := s.Remove(3000, 0)
	expect.That(t, b == 3, "%g bytes in 3 us, want 3", b)
	s.Begin(3000, 0, 1, 5000)
	b = s.Remove(4000, 0)
	expect.That(t, b == 0, "%g bytes during the delay, want 0", b)
	at := s.Next()
	expect.That(t, at == 502000, "next at %d ns, want 502000", at)
	b = s.Remove(502000, 1)
	expect.That(t, b == 500, "%g bytes at the very end, want all", b)
	expect.That(t, s.Next() == engine.Never, "next %v, want never: the flow has no rate", s.Next())
	s.Begin(502000, 1, 0, 0)
	s.Begin(502000, 0, 0, 0)
	expect.That(t, s.Next() == 502000, "a flow of no bytes ends at %d ns, want at once", s.Next())
	for want := range 2 { // by device number, not by starting order
		d, ok := s.TakeEnded(502000)
		expect.That(t, ok && d == want, "took %d (%v), want %d", d, ok, want)
	}
	s.SetRate(600000, 2, 8)
	expect.That(t, s.Next() == 610000, "after an outage the end is at %d ns, want 610000", s.Next())
	s.SetRate(605000, 2, 0)
	b = s.Remove(engine.Time(1e18), 2)
	expect.That(t, b == 5, "%g bytes before the outage, want 5", b)
}

// Misuse is a programmer's error and panics with the reason.
func TestMisusePanics(t *testing.T) {
	for _, c := range []struct {
		says   string
		misuse func(*FairShare)
	}{
		{"time must not decrease", func(s *FairShare) { s.TakeEnded(5); s.TakeEnded(4) }},
		{"rate of -1", func(s *FairShare) { s.SetRate(0, 0, -1) }},
		{"rate of NaN", func(s *FairShare) { s.SetRate(0, 0, math.NaN()) }},
		{"rate of +Inf", func(s *FairShare) { s.SetRate(0, 0, math.Inf(1)) }},
		{"capacity of -1", func(s *FairShare) { s.SetServer(0, -1) }},
		{"capacity of NaN", func(s *FairShare) { s.SetCell(0, 0, math.NaN()) }},
		{"-1 bytes", func(s *FairShare) { s.Begin(0, 0, -1, 0) }},
		{"must have no flow", func(s *FairShare) { s.Begin(0, 0, 1, 0); s.Begin(0, 0, 1, 0) }},
		{"negative", func(s *FairShare) { s.Begin(0, 0, 1, -1) }},
		{"no flow to remove", func(s *FairShare) { s.Remove(0, 1) }},
		{"cells of 2 devices", func(*FairShare) { New(3, Tree{CellOf: []int32{-1, -1}}) }},
		{"is in cell 1 of 1", func(*FairShare) { New(1, Tree{CellOf: []int32{1}, CellMbps: []float64{1}}) }},
	} {
		t.Run(c.says, func(t *testing.T) {
			defer func() {
				got := fmt.Sprint(recover())
				expect.That(t, strings.Contains(got, c.says), "panics with %q", got)
			}()
			c.misuse(New(2, Tree{CellMbps: []float64{1}}))
		})
	}
}

// In the steady state nothing is allocated: with equal own rates, with different ones,
// and while everything changes.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	for _, distinct := range []bool{false, true} {
		h := newHold(2000, 500, distinct)
		for i := range 500 {
			h.s.SetRate(h.now, i, 1+float64(i)/500)
			h.arrive()
		}
		cell := 0
		if n := testing.AllocsPerRun(20, func() {
			for range 200 {
				h.arrive()
			}
			h.s.SetServer(h.now, 1000+float64(cell))
			h.s.SetRate(h.now, cell, 1.5)
			cell++
		}); n != 0 {
			t.Errorf("distinct rates %v: %g allocations in 200 flows", distinct, n)
		}
	}
}
