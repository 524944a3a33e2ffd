package federation

import (
	"fmt"
	"math"

	"fedsim/algorithms"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/rng"
	"fedsim/results"
)

// phase is where a device stands in the open round.
type phase uint8

const (
	idle     phase = iota // waits for the next round
	download              // receives the server's message
	compute               // works
	upload                // sends its answer
	lost                  // dropped in this attempt, or its message was lost
	flat                  // its battery is empty
)

// The kinds of events, in the order in which simultaneous ones happen: an
// answer that arrives at the deadline is in time, and a battery that empties
// with the last bit of an answer has sent it. A drop strikes before the end of
// its phase, also of one that takes no time.
const (
	returned     engine.Kind = iota // a flat device comes back
	strike                          // the device drops
	downloadDone                    // the server's message has arrived
	computeDone                     // the local work is finished
	uploadDone                      // the answer has arrived
	batteryEmpty                    // check whether the battery is empty
	askAgain                        // the server asks again for an answer that was due
	roundEnd                        // the clock cycle is over
)

// device is the state of a device, flat and without pointers: there may be
// millions.
type device struct {
	next engine.Handle // the event that ends its phase
	drop engine.Handle // the event at which it drops

	began             engine.Time // start of the phase
	down, compute, up engine.Time // lengths of the attempt's phases
	due               engine.Time // when the attempt's answer is expected
	strike            float64     // share of its phase at which the drop strikes; negative: it does not drop
	flops             float64     // its work of this round
	steps, values     int32       // of this work: taken, to be sent
	budget            int32       // steps it may take; unlimited: as many as its method likes
	attempt           int32
	phase             phase
	chosen            bool // the server has asked it in this round
	solved            bool // its local work of this round is done, tentatively
	answered          bool // the server has its answer of this round
	dropped           bool // it has dropped in this round
	downLost, upLost  bool // the attempt's transfers fail
}

// unlimited is a budget that leaves the amount of work to the method.
const unlimited = math.MaxInt32

// lookout is the next look at a device's battery.
type lookout struct {
	event engine.Handle
	at    engine.Time // 0: none pending
}

// runRound runs one round and returns its figures, objective aside.
func (f *Federation) runRound() results.Round {
	f.tally = tally{}
	f.bytes.down = f.links.Bytes(f.method.Begin())
	for !f.open() {
		// Every battery is empty: the server waits for the first to come back.
		if !f.clock.Step(f.handle) {
			f.stalled = "every device's battery is empty and none is ever charged"
			return results.Round{}
		}
	}
	if f.stalled == "" {
		f.clock.Run(f.handle)
	}
	if f.stalled == "" && !f.ended {
		f.stalled = fmt.Sprintf("round %d would end after more than 292 years, where virtual time ends", f.round+1)
	}
	if f.stalled != "" {
		return results.Round{}
	}
	thetas := f.thetas()
	taken, late := f.close()
	f.round++
	r := results.Round{
		Outer: f.outer, Round: f.round,
		Participants: taken, Dropped: f.tally.dropped, Late: late,
		FLOPs: f.tally.flops, BytesDown: f.tally.down, BytesUp: f.tally.up,
		Thetas: thetas,
	}
	f.serverWork(f.method.End())
	f.batteries.Drain(f.clock.Now())
	// Also what was spent between the last round and this one.
	spent := f.batteries.Total().DrainedJ
	r.TimeS, r.EnergyJ = f.clock.Now().Seconds(), spent-f.spent
	f.spent = spent
	return r
}

// open chooses the devices of the round, plans it for those that are up, lets
// them solve, and sends the server's message. It returns false when none of them
// is up to take part.
func (f *Federation) open() bool {
	f.chosen = f.clients.choose(f.round)
	f.asked = f.asked[:0]
	f.ended = false
	f.waiting = len(f.chosen)
	waits := f.setup.Config.Protocol == WaitForAll
	up := 0
	for _, t := range f.chosen {
		d := &f.devices[t]
		d.attempt, d.budget = 0, unlimited
		d.chosen, d.solved, d.answered, d.dropped = true, false, false, d.phase == flat
		if d.phase != flat {
			d.phase = idle
			up++
		} else if _, comes := f.batteries.ReturnAt(int(t)); !comes && waits {
			f.stall(int(t), "has an empty battery and is never charged")
			return true
		}
	}
	if up == 0 && !waits {
		return false
	}
	f.tally.dropped = len(f.chosen) - up
	f.setup.Pool.For(len(f.chosen), func(i, _ int) { f.plan(int(f.chosen[i])) })
	for _, t := range f.chosen {
		if f.mustSolve(int(t)) {
			f.asked = append(f.asked, t)
		}
	}
	f.solve()
	f.cost.worked(f)
	f.setup.Pool.For(len(f.chosen), func(i, _ int) { f.time(int(f.chosen[i])) })
	var end engine.Time
	f.clock.Batch(func() {
		for _, t := range f.chosen {
			if d := &f.devices[t]; d.phase != flat {
				f.send(int(t))
				end = max(end, d.due)
			}
		}
	})
	switch f.setup.Config.Protocol {
	case Deadline:
		f.clock.Schedule(f.clock.Now().Add(engine.FromSeconds(f.setup.Config.DeadlineS)), roundEnd, engine.Server)
	case Charged:
		f.clock.Schedule(end, roundEnd, engine.Server)
	}
	return true
}

// plan draws what the download and the faults have in store for device t in this
// round, and decides how many steps it may take.
func (f *Federation) plan(t int) {
	d, cfg := &f.devices[t], &f.setup.Config
	f.draft(t)
	switch cfg.Protocol {
	case Deadline:
		// The device's controller: what the message took, what its own link needs
		// for the answer, and its clock decide how many steps fit (paper, section
		// 3.4). It knows its link's usual speed, not the next transfer's.
		up := f.cost.expectedUp(t, f.links.Bytes(f.setup.Size.Features)).Seconds() * (1 + cfg.Margin)
		d.budget = int32(min(f.cost.steps(t, cfg.DeadlineS-d.down.Seconds()-up), unlimited))
	case Charged:
		s := rng.New(f.setup.Seed, rng.Work, t, f.round)
		share := cfg.StepsLow + s.Float64()*(cfg.StepsHigh-cfg.StepsLow)
		d.budget = int32(min(max(1, share*float64(f.setup.Size.MinRows)), unlimited))
	}
}

// draft draws the download of an attempt of device t, and whether and where it
// drops.
func (f *Federation) draft(t int) {
	d := &f.devices[t]
	down := f.cost.down(t, f.round, int(d.attempt), f.bytes.down)
	d.down, d.downLost = down.Duration, down.Lost
	d.strike = -1
	if drop := f.drops.Draw(t, f.round, int(d.attempt)); drop.Happens {
		d.strike = drop.At
	}
}

// time draws the upload of an attempt of device t, whose work is known, and sets
// the lengths of its phases as they follow from the work.
func (f *Federation) time(t int) {
	d := &f.devices[t]
	up := f.cost.up(t, f.round, int(d.attempt), f.uploadBytes(t))
	d.up, d.upLost = up.Duration, up.Lost
	d.compute = f.cost.compute(t, f.flops(t))
	d.due = f.clock.Now().Add(d.down).Add(d.compute).Add(d.up)
}

// mustSolve reports whether device t will compute in this round. Under
// wait-for-all everyone will in the end.
func (f *Federation) mustSolve(t int) bool {
	d := &f.devices[t]
	if f.setup.Config.Protocol == WaitForAll {
		return true
	}
	return d.phase != flat && d.budget > 0 && !(d.strike >= 0 && f.drops.Phase() == devices.Start)
}

// solve does the local work of all asked devices, on all cores. The work
// depends on the state at the start of the round alone, so that it can be done
// before its virtual time has come.
func (f *Federation) solve() {
	f.setup.Pool.For(len(f.asked), func(i, worker int) {
		t := int(f.asked[i])
		d := &f.devices[t]
		steps := algorithms.NoLimit
		if d.budget < unlimited {
			steps = int(d.budget)
		}
		work := f.method.Solve(algorithms.Request{
			Device: t, Steps: steps, Worker: worker,
			Stream: rng.New(f.setup.Seed, rng.Solve, t, f.round),
		})
		d.flops, d.steps, d.values = work.FLOPs, int32(min(work.Steps, math.MaxInt32)), int32(work.Values)
	})
	for _, t := range f.asked {
		f.devices[t].solved = true
		f.steps += int64(f.devices[t].steps)
	}
}

// send sends the server's message to device t: the first phase of an attempt.
// What will befall it is drawn already.
func (f *Federation) send(t int) {
	d := &f.devices[t]
	d.phase = idle
	if d.strike >= 0 {
		at := f.strikeAt(d)
		if at == 0 {
			f.lose(t)
			return
		}
		d.drop = f.clock.Schedule(f.clock.Now().Add(at), strike, t)
	}
	f.enter(t, download, d.down, downloadDone)
}

// enter begins a phase of device t.
func (f *Federation) enter(t int, p phase, length engine.Time, end engine.Kind) {
	d := &f.devices[t]
	d.phase, d.began = p, f.clock.Now()
	d.next = f.clock.Schedule(d.began.Add(length), end, t)
	f.draw(t, f.power(t, p))
}

// leave ends the phase of device t and books what it has used up: all of it
// when the phase is complete, the share that has passed otherwise.
func (f *Federation) leave(t int, complete bool) {
	d := &f.devices[t]
	share := func(length engine.Time) float64 {
		if complete || length == 0 {
			return 1
		}
		return float64(f.clock.Now()-d.began) / float64(length)
	}
	switch d.phase {
	case download:
		f.tally.down += f.bytes.down * share(d.down)
	case compute:
		f.tally.flops += d.flops * share(d.compute)
	case upload:
		f.tally.up += f.uploadBytes(t) * share(d.up)
	}
	if !complete {
		f.clock.Cancel(d.next)
	}
}

// lose ends the attempt of device t without an answer.
func (f *Federation) lose(t int) {
	d := &f.devices[t]
	f.clock.Cancel(d.drop)
	d.phase = lost
	f.markDropped(d)
	f.draw(t, f.fleet.IdlePower(t))
	if f.setup.Config.Protocol == WaitForAll {
		// The server cannot know before the answer is due.
		d.next = f.clock.Schedule(max(d.due, f.clock.Now()), askAgain, t)
	}
}

// markDropped counts a device that drops for the first time in this round.
func (f *Federation) markDropped(d *device) {
	if !d.dropped {
		d.dropped = true
		f.tally.dropped++
	}
}

// handle is the engine's handler: what an event does to its device.
func (f *Federation) handle(e engine.Event) {
	if e.Kind == roundEnd {
		f.end()
		return
	}
	t := int(e.Device)
	d := &f.devices[t]
	switch e.Kind {
	case downloadDone:
		f.leave(t, true)
		switch {
		case d.downLost:
			f.lose(t)
		case d.budget == 0:
			// Nothing can be done in what is left of the clock cycle, and what
			// was to strike later on finds nothing to strike.
			f.clock.Cancel(d.drop)
			d.phase = idle
			f.draw(t, f.fleet.IdlePower(t))
		default:
			f.enter(t, compute, d.compute, computeDone)
		}
	case computeDone:
		f.leave(t, true)
		f.enter(t, upload, d.up, uploadDone)
	case uploadDone:
		f.leave(t, true)
		if d.upLost {
			f.lose(t)
			return
		}
		f.clock.Cancel(d.drop)
		d.phase, d.answered = idle, true
		f.draw(t, f.fleet.IdlePower(t))
		f.waiting--
		if f.setup.Config.Protocol == WaitForAll && f.waiting == 0 {
			f.end()
		}
	case strike:
		f.leave(t, false)
		f.lose(t)
	case askAgain:
		f.retry(t)
	case batteryEmpty:
		f.checkBattery(t)
	case returned:
		f.comeBack(t)
	}
}

// end ends the open round.
func (f *Federation) end() {
	f.ended = true
	f.clock.Stop()
}

// retry asks device t again, under wait-for-all.
func (f *Federation) retry(t int) {
	const most = 100_000
	d := &f.devices[t]
	if d.attempt++; d.attempt == most {
		f.stall(t, "has been asked 100000 times in one round and never answered")
		return
	}
	f.draft(t)
	f.time(t)
	f.send(t)
}

// close ends the round: the server takes the updates it has received, in device
// order, and everything else is forgotten on both sides.
func (f *Federation) close() (taken, late int) {
	for _, t := range f.chosen {
		d := &f.devices[t]
		d.chosen = false
		if d.answered {
			f.method.Commit(int(t))
			taken++
			continue
		}
		if d.solved {
			f.method.Discard(int(t))
		}
		if d.dropped {
			continue
		}
		late++
		if d.phase != idle {
			f.leave(int(t), false)
			f.clock.Cancel(d.drop)
			d.phase = idle
			f.draw(int(t), f.fleet.IdlePower(int(t)))
		}
	}
	return taken, late
}

// flops returns the work of device t in this round; what it would be charged
// for if it does not compute.
func (f *Federation) flops(t int) float64 {
	flops := 0.0
	if d := &f.devices[t]; d.solved {
		flops = d.flops
	}
	if f.setup.Config.Protocol == Charged {
		steps := f.setup.Config.StepsHigh * float64(f.setup.Size.MinRows)
		flops = max(flops, steps*f.method.StepFLOPs())
	}
	return flops
}

// uploadBytes returns the size of the answer of device t.
func (f *Federation) uploadBytes(t int) float64 {
	if d := &f.devices[t]; d.solved {
		return f.links.Bytes(int(d.values))
	}
	return f.links.Bytes(f.setup.Size.Features)
}
