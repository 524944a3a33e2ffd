package clients

import (
	"math"
	"slices"

	"fedsim/devices"
	"fedsim/engine"
)

// processors knows how long clients compute: by the cost model, a low battery, and a
// speed that may change while a client computes.
type processors struct {
	population *population
	hardware   *hardware
	clock      *engine.Engine
	speed      devices.Speed // nil: always the usual one
	least      devices.Work  // a computation takes at least the time of so much work
	slower     []float64     // by client, how many times slower than usual it is; nil: none is
	giveUp     func() bool   // asked in loops over a speed that may not end; nil: never
	machines   *machines     // nil: speeds do not depend on work
	radio      *radios       // waking the radio shortens the time for the work
	waiting    *waiting
}

// work is a computation of a client.
type work struct {
	devices.Work
	client int
	slow   bool    // a low battery slows down the processor
	jitter float64 // the factor on the duration
}

func newProcessors(s *Setup, p *population, h *hardware, clock *engine.Engine) processors {
	if h.fleet.AnyOverheads() {
		p.overheads = slices.Repeat([]overheads{{jitter: 1}}, p.Len())
	}
	return processors{
		population: p, hardware: h, clock: clock, speed: s.Speed, least: s.Least, giveUp: s.GiveUp,
	}
}

// SetSlower makes the processor of a client so many times slower than usual from its next
// attempt on.
func (p *processors) SetSlower(client int, times float64) {
	if p.slower == nil {
		if times == 1 {
			return
		}
		p.slower = slices.Repeat([]float64{1}, p.population.Len())
	}
	p.slower[client] = times
}

// drawJitter draws the factor on the duration of the computation of an attempt.
func (p *processors) drawJitter(client, number, try int) {
	if all := p.population.overheads; all != nil {
		all[client].jitter = p.hardware.fleet.Jitter(client, number, try)
	}
}

// overheadShare returns which share of the time of a client's computation is not that of its
// FLOPs.
func (p *processors) overheadShare(client int) float64 {
	before := p.beforeWork(client).Seconds()
	if p.population.overheads == nil && before == 0 {
		return 0
	}
	w := p.population.work(client)
	share := p.hardware.fleet.OverheadShare(client, p.slowed(w))
	if before == 0 {
		return share
	}
	working := float64(p.hardware.fleet.Seconds(client, p.slowed(w)) * w.jitter)
	return (float64(share*working) + before) / (working + before)
}

// slowed returns the work of a client, as many times as the client is slower than usual: partial
// work takes the time of all.
func (p *processors) slowed(w work) devices.Work {
	if p.slower == nil {
		return w.Work
	}
	return w.Times(p.slower[w.client])
}

// PresentCompute returns how long work takes a client at the speed that it has now, without
// jitter, if it begins after a downlink of some length.
func (p *processors) PresentCompute(client int, down engine.Time, w devices.Work) engine.Time {
	work := (p.hardware.fleet.Seconds(client, w) + p.beforeWork(client).Seconds()) * p.slowdown(client)
	if p.machines != nil {
		begins := p.clock.Now().Add(down)
		m := p.machines.computing(client, p.population.at(client).slow, p.clock.Now(), begins)
		work = m.takes(begins, work)
	}
	return engine.FromSeconds(work)
}

// beforeWork returns how long a client computes before the work of its message, at its fastest
// step and its usual speed: to launch a process, and for longer when it is cold.
func (p *processors) beforeWork(client int) engine.Time {
	launch := p.hardware.Launch(client)
	if p.hardware.runtime.ColdStartS > 0 && !p.population.at(client).is(warm) {
		launch = launch.Add(engine.FromSeconds(p.hardware.runtime.ColdStartS))
	}
	return launch
}

// slowdown returns how many times as long a client computes now as at its full clock and
// its usual speed, its machine aside.
func (p *processors) slowdown(client int) float64 {
	factor, _ := p.factor(client, p.clock.Now(), &cursor{speed: 1, until: engine.Never})
	return p.hardware.fleet.Slowdown(client, p.population.at(client).slow) / factor
}

// computeTime returns how long a client takes for its work when it begins now and nothing
// interrupts it.
func (p *processors) computeTime(client int) engine.Time {
	return p.computeLength(p.population.work(client), p.clock.Now(), 1)
}

// factor returns the speed of a client at an instant as a multiple of its usual one, and
// until when it holds, with the cursor of its machine, which moves there.
func (p *processors) factor(client int, at engine.Time, m *cursor) (factor float64, until engine.Time) {
	m.advance(at)
	if p.speed == nil {
		return m.speed, m.until
	}
	factor, until = p.speed.Speed(client, at)
	return factor * m.speed, min(until, m.until)
}

// cursor returns the machine of a client that begins some work at an instant.
func (p *processors) cursor(w work, at engine.Time) cursor {
	return p.machines.computing(w.client, w.slow, at, at)
}

// computeLength returns how long a client takes for a share of some work that begins at an
// instant when nothing interrupts it.
func (p *processors) computeLength(w work, at engine.Time, share float64) engine.Time {
	if p.speed == nil && p.machines == nil && share == 1 {
		return p.whole(w, 1)
	}
	m := p.cursor(w, at)
	factor, until := p.factor(w.client, at, &m)
	length := p.whole(w, factor)
	if share != 1 {
		length = engine.Time(math.Round(share * float64(length)))
	}
	if at.Add(length) <= until {
		return length
	}
	return p.computeEnd(w, at, share, &m) - at
}

// whole returns how long all of some work takes at one speed.
func (p *processors) whole(w work, factor float64) engine.Time {
	fastest := p.hardware.cost.compute(w.client, p.slowed(w), w.jitter)
	if p.least != (devices.Work{}) {
		fastest = max(fastest, p.hardware.cost.compute(w.client, p.least, 1))
	}
	fastest = fastest.Add(p.beforeWork(w.client))
	slower := p.hardware.fleet.Slowdown(w.client, w.slow) / factor
	if slower == 1 || fastest == 0 || fastest == engine.Never {
		return fastest
	}
	return engine.FromSeconds(math.Ceil(float64(fastest)*slower) / 1e9)
}

// computeEnd returns when a share of some work that begins at an instant is done, while the speed
// changes.
func (p *processors) computeEnd(w work, at engine.Time, share float64, m *cursor) engine.Time {
	left := share * float64(p.whole(w, 1)) // at the usual speed, ns
	rounded := math.Round
	if share == 1 {
		rounded = math.Ceil
	}
	for steps := 1; ; steps++ {
		factor, until := p.factor(w.client, at, m)
		if left <= 0 {
			return at
		}
		if p.interrupted(steps) {
			return engine.Never
		}
		if span := rounded(left / factor); span <= float64(until-at) && span < 1<<63 {
			return at.Add(engine.Time(span))
		}
		if until == engine.Never {
			return engine.Never
		}
		left -= float64(float64(until-at) * factor)
		at = until
	}
}

// computedShare returns which share of some work a client does between two instants.
func (p *processors) computedShare(w work, from, to engine.Time) float64 {
	m := p.cursor(w, from)
	if factor, until := p.factor(w.client, from, &m); to <= until {
		return float64(to-from) / float64(p.whole(w, factor))
	}
	done := 0.0
	for at, steps := from, 1; at < to && !p.interrupted(steps); steps++ {
		factor, until := p.factor(w.client, at, &m)
		until = min(until, to)
		done += float64(float64(until-at) * factor)
		at = until
	}
	return done / float64(p.whole(w, 1))
}

// interrupted reports whether a loop over virtual time that has taken so many steps is
// to be ended.
func (p *processors) interrupted(steps int) bool {
	const between = 1 << 20
	return steps%between == 0 && p.giveUp != nil && p.giveUp()
}

// FLOPsWithin returns how many FLOPs a client does in some seconds between a downlink of some length and its
// uplink, at its present speed and with the mean wait for a launch, if its work has no overheads.
func (p *processors) FLOPsWithin(client int, down engine.Time, seconds float64) float64 {
	return p.workingWithin(client, down, seconds) * p.hardware.fleet.Rate(client)
}

// Within reports whether a client does some work within the seconds of FLOPsWithin, without jitter.
func (p *processors) Within(client int, w devices.Work, down engine.Time, seconds float64) bool {
	return p.hardware.fleet.Seconds(client, w) <= p.workingWithin(client, down, seconds)
}

// workingWithin returns how long a client works of so many seconds between downlink and uplink,
// in seconds at its full clock and its usual speed.
func (p *processors) workingWithin(client int, down engine.Time, seconds float64) float64 {
	computing := p.radio.awake(client, seconds) - p.waiting.MeanLaunchWait().Seconds()
	if p.machines != nil && computing > 0 {
		begins := p.clock.Now().Add(down)
		m := p.machines.computing(client, p.population.at(client).slow, p.clock.Now(), begins)
		computing = m.works(begins, computing)
	}
	return computing/p.slowdown(client) - p.beforeWork(client).Seconds()
}
