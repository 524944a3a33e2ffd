package flows

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"fedsim/engine"
	"fedsim/internal/tools/expect"

	"pgregory.net/rapid"
)

// op is an operation on a share at an instant.
type op struct {
	at     engine.Time
	what   what
	device int // or cell
	value  float64
	delay  engine.Time
}

type what int

const (
	begins what = iota // value bytes after a delay
	removed
	rate
	server
	cellMbps
)

// outcome is the result of a device's flows, in their order.
type outcome struct {
	seconds float64 // when it ended or was removed
	bytes   float64 // bytes transferred by then
}

// problem is a tree, the devices' initial rates and the operations.
type problem struct {
	tree  Tree
	rates []float64
	ops   []op
}

// fluid is the slow twin: at every event it recomputes all rates by progressive filling
// and advances every flow.
type fluid struct {
	problem
	now   float64 // seconds
	flows map[int]*fluidFlow
	done  map[int][]outcome
}

type fluidFlow struct {
	starts      float64
	bytes, left float64
	rate        float64 // bytes per second
}

func solveSlowly(p problem) map[int][]outcome {
	p.rates = slices.Clone(p.rates)
	p.tree.CellMbps = slices.Clone(p.tree.CellMbps)
	f := &fluid{problem: p, flows: map[int]*fluidFlow{}, done: map[int][]outcome{}}
	for _, o := range p.ops {
		f.runTo(float64(o.at) / 1e9)
		switch o.what {
		case begins:
			f.flows[o.device] = &fluidFlow{starts: float64(o.at+o.delay) / 1e9, bytes: o.value, left: o.value}
		case removed:
			if x, ok := f.flows[o.device]; ok {
				f.end(o.device, x.bytes-x.left)
			}
		case rate:
			f.rates[o.device] = o.value
		case server:
			f.tree.ServerMbps = o.value
		case cellMbps:
			f.tree.CellMbps[o.device] = o.value
		}
	}
	f.runTo(math.Inf(1))
	return f.done
}

func (f *fluid) end(device int, bytes float64) {
	delete(f.flows, device)
	f.done[device] = append(f.done[device], outcome{f.now, bytes})
}

func (f *fluid) runTo(limit float64) {
	for {
		f.fill()
		next := limit
		for _, x := range f.flows {
			switch {
			case x.starts > f.now:
				next = min(next, x.starts)
			case x.left == 0:
				next = f.now
			case x.rate > 0:
				next = min(next, f.now+x.left/x.rate)
			}
		}
		if math.IsInf(next, 1) {
			return
		}
		for device, x := range f.flows {
			if x.starts > f.now {
				continue
			}
			if x.left == 0 || x.rate > 0 && f.now+x.left/x.rate <= next {
				now := f.now
				f.now = next
				f.end(device, x.bytes)
				f.now = now
				continue
			}
			x.left -= x.rate * (next - f.now)
		}
		if next == limit {
			f.now = limit
			return
		}
		f.now = next
	}
}

// fill is progressive filling: the link that gives its unfixed flows the least fixes
// them, until all are fixed.
func (f *fluid) fill() {
	type link struct {
		left  float64
		flows []int
	}
	links := map[string]*link{}
	put := func(name string, mbps float64, device int) {
		if links[name] == nil {
			links[name] = &link{left: mbps * 1e6 / 8}
		}
		links[name].flows = append(links[name].flows, device)
	}
	unfixed := map[int]bool{}
	for device, x := range f.flows {
		if x.starts > f.now {
			continue
		}
		unfixed[device] = true
		put(fmt.Sprint("device ", device), f.rates[device], device)
		if f.tree.CellOf != nil && f.tree.CellOf[device] >= 0 {
			if c := f.tree.CellOf[device]; f.tree.CellMbps[c] > 0 {
				put(fmt.Sprint("cell ", c), f.tree.CellMbps[c], device)
			}
		}
		if f.tree.ServerMbps > 0 {
			put("server", f.tree.ServerMbps, device)
		}
	}
	for len(unfixed) > 0 {
		least, share := "", math.Inf(1)
		for name, l := range links {
			if n := len(l.flows); n > 0 {
				if x := max(l.left, 0) / float64(n); x < share || x == share && name < least {
					least, share = name, x
				}
			}
		}
		for _, device := range slices.Clone(links[least].flows) {
			f.flows[device].rate = share
			delete(unfixed, device)
			for _, l := range links {
				if i := slices.Index(l.flows, device); i >= 0 {
					l.flows = slices.Delete(l.flows, i, i+1)
					l.left -= share
				}
			}
		}
	}
}

// solve runs a problem on a FairShare.
func solve(p problem) map[int][]outcome {
	s := New(len(p.rates), p.tree)
	for d, mbps := range p.rates {
		s.SetRate(0, d, mbps)
	}
	sizes := map[int]float64{}
	done := map[int][]outcome{}
	take := func(limit engine.Time) {
		for s.Next() != engine.Never && s.Next() <= limit {
			now := s.Next()
			for d, ok := s.TakeEnded(now); ok; d, ok = s.TakeEnded(now) {
				done[d] = append(done[d], outcome{now.Seconds(), sizes[d]})
				delete(sizes, d)
			}
		}
	}
	for _, o := range p.ops {
		take(o.at)
		switch o.what {
		case begins:
			s.Begin(o.at, o.device, o.value, o.delay)
			sizes[o.device] = o.value
		case removed:
			if _, ok := sizes[o.device]; ok {
				done[o.device] = append(done[o.device], outcome{o.at.Seconds(), s.Remove(o.at, o.device)})
				delete(sizes, o.device)
			}
		case rate:
			s.SetRate(o.at, o.device, o.value)
		case server:
			s.SetServer(o.at, o.value)
		case cellMbps:
			s.SetCell(o.at, o.device, o.value)
		}
	}
	take(engine.Never)
	return done
}

// compare requires ends within 1 ns (rounding up) plus 1e-12 of the time (the twin's
// rounding), and bytes within 1e-9 of the size or one nanosecond of transfer.
func compare(t rapid.TB, got, want map[int][]outcome, context any) {
	t.Helper()
	expect.Must(t, len(got) == len(want), "%d devices have outcomes, want %d: %+v", len(got), len(want), context)
	for device, w := range want {
		g := got[device]
		expect.Must(t, len(g) == len(w), "device %d has outcomes %v, want %v: %+v", device, g, w, context)
		for i := range w {
			slack := 1e-11 + 1e-12*w[i].seconds
			if d := g[i].seconds - w[i].seconds; d < -slack || d > 1e-9+slack {
				t.Fatalf("flow %d of device %d ends at %.12f s, want %.12f: %+v", i, device, g[i].seconds, w[i].seconds,
					context)
			}
			if d := math.Abs(g[i].bytes - w[i].bytes); d > 1e-6+1e-9*w[i].bytes {
				t.Fatalf("flow %d of device %d carried %v bytes, want %v: %+v", i, device, g[i].bytes, w[i].bytes,
					context)
			}
		}
	}
}

// problems draws problems with a few devices and with equal rates.
func problems(t *rapid.T) problem {
	mbps := rapid.OneOf(rapid.SampledFrom([]float64{1, 2, 5, 10}), rapid.Float64Range(0.1, 20))
	capacities := rapid.OneOf(rapid.Just(0.0), rapid.SampledFrom([]float64{1, 3, 10, 20}), rapid.Float64Range(0.2, 60))
	n := rapid.IntRange(1, 12).Draw(t, "devices")
	p := problem{tree: Tree{ServerMbps: capacities.Draw(t, "server")}}
	p.tree.CellMbps = rapid.SliceOfN(capacities, 0, 4).Draw(t, "cells")
	for range n {
		p.rates = append(p.rates, mbps.Draw(t, "rate"))
		p.tree.CellOf = append(p.tree.CellOf, int32(rapid.IntRange(-1, len(p.tree.CellMbps)-1).Draw(t, "cell")))
	}
	last := make([]bool, n) // a device may begin again once its flow was removed
	instants := rapid.OneOf(rapid.Int64Range(0, 20e9),
		rapid.Map(rapid.Int64Range(0, 20), func(s int64) int64 { return s * 1e9 }))
	ops := rapid.IntRange(1, 60).Draw(t, "operations") // a drawn slice would usually be short
	times := rapid.SliceOfN(instants, ops, ops).Draw(t, "times")
	slices.Sort(times)
	for _, at := range times {
		o := op{at: engine.Time(at), what: what(rapid.IntRange(0, 6).Draw(t, "what"))}
		switch o.what {
		case rate:
			o.device = rapid.IntRange(0, n-1).Draw(t, "device")
			o.value = rapid.OneOf(mbps, rapid.Just(0.0)).Draw(t, "mbps")
		case server:
			o.value = capacities.Draw(t, "mbps")
		case cellMbps:
			if len(p.tree.CellMbps) == 0 {
				continue
			}
			o.device = rapid.IntRange(0, len(p.tree.CellMbps)-1).Draw(t, "cell")
			o.value = capacities.Draw(t, "mbps")
		case removed:
			o.device = rapid.IntRange(0, n-1).Draw(t, "device")
			last[o.device] = false
		default:
			o.what = begins
			o.device = rapid.IntRange(0, n-1).Draw(t, "device")
			if last[o.device] {
				o.what = removed
				last[o.device] = false
				break
			}
			last[o.device] = true
			o.value = rapid.OneOf(rapid.SampledFrom([]float64{0, 1e6, 2e6}), rapid.Float64Range(1, 1e7)).
				Draw(t, "bytes")
			o.delay = engine.Time(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 1e9)).Draw(t, "delay"))
		}
		p.ops = append(p.ops, o)
	}
	// All rates and capacities are restored, so that all flows end.
	for d := range n {
		p.ops = append(p.ops, op{at: 21e9, what: rate, device: d, value: mbps.Draw(t, "last rate")})
	}
	return p
}

// busyProblem draws a problem in which most devices transfer at any time, which general
// problems seldom have: up to 40 devices in up to 5 cells, 150 operations.
func busyProblem(random *rand.Rand) problem {
	mbps := func() float64 {
		if random.IntN(2) == 0 {
			return []float64{1, 2, 5, 10}[random.IntN(4)]
		}
		return 0.1 + 20*random.Float64()
	}
	n, cells := 10+random.IntN(31), random.IntN(6)
	capacity := func(devices int) float64 { // a limiting capacity or none
		if random.IntN(5) == 0 {
			return 0
		}
		return float64(devices) * 12 * random.Float64()
	}
	p := problem{tree: Tree{ServerMbps: capacity(n)}}
	for range cells {
		p.tree.CellMbps = append(p.tree.CellMbps, capacity(n/cells))
	}
	for range n {
		p.rates = append(p.rates, mbps())
		p.tree.CellOf = append(p.tree.CellOf, int32(random.IntN(cells+1))-1)
	}
	transfers, at := make([]bool, n), engine.Time(0)
	for range 150 {
		if random.IntN(4) > 0 { // otherwise at the same instant
			at += engine.Time(random.ExpFloat64() * 2e8)
		}
		o := op{at: at, what: begins, device: random.IntN(n)}
		switch k := random.IntN(10); {
		case k == 0:
			o.what, o.value = rate, mbps()
		case k == 1:
			o.what, o.value = server, capacity(n)
		case k == 2 && cells > 0:
			o.what, o.device, o.value = cellMbps, random.IntN(cells), capacity(n/cells)
		case transfers[o.device]:
			o.what, transfers[o.device] = removed, false
		default:
			transfers[o.device] = true
			o.value = 1 + 2e7*random.Float64()
			if random.IntN(3) == 0 {
				o.delay = engine.Time(random.ExpFloat64() * 5e8)
			}
		}
		p.ops = append(p.ops, o)
	}
	return p
}
