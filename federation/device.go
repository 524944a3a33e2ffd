package federation

import (
	"math"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/rng"
)

// phase is where a device stands.
type phase uint8

const (
	idle     phase = iota // has nothing to do
	download              // receives the server's message
	compute               // works
	upload                // sends its answer
	lost                  // dropped in this attempt, or its message was lost
	flat                  // its battery is empty
)

// The kinds of events, in the order in which simultaneous ones happen: an
// answer that arrives at the deadline is in time, and a battery that empties, or
// a device that goes away, with the last bit of an answer has sent it. A drop
// strikes before the end of its phase, also of one that takes no time.
const (
	returned     engine.Kind = iota // a flat device comes back
	strike                          // the device drops
	downloadDone                    // the server's message has arrived
	computeDone                     // the local work is finished
	uploadDone                      // the answer has arrived
	downFlow                        // downloads on shared links end
	upFlow                          // uploads on shared links end
	batteryEmpty                    // check whether the battery is empty
	rateChange                      // the rate of a link changes while it is in use
	flip                            // the device goes away or comes back
	askAgain                        // the server gives up on an answer that was due
	rush                            // the capacity of shared links changes
	roundEnd                        // the clock cycle is over
)

// ends has the event that ends each phase in which something is done.
var ends = [...]engine.Kind{download: downloadDone, compute: computeDone, upload: uploadDone}

// device is the state of a device, flat and without pointers: there may be
// millions.
type device struct {
	began             engine.Time // since when it has computed or moved bytes without interruption; later while its radio wakes or its transfer's latency passes
	down, compute, up engine.Time // lengths of the attempt's phases
	cut               float64     // share of the phase strikes at which it drops
	flops             float64     // its work for this answer
	steps, values     int32       // of this work: taken, to be sent
	next              uint32      // the counter of the event that ends its phase, or at which the server gives up on it
	round             int32       // the round that it was asked in; when asynchronous, how often it was asked before
	attempt           int32
	phase             phase
	strikes           phase // phase in which this attempt drops; lost: at once, idle: it does not
	step              uint8 // frequency step of its processor
	away              bool  // it cannot be reached
	refuses           bool  // its battery is too low for new work
	paused            bool  // its phase goes on when it comes back
	chosen            bool  // the server waits for its answer, to the open round or to an earlier one
	solved            bool  // its local work is done, tentatively
	answered          bool  // the server has its answer, or its hub does
	dropped           bool  // it has dropped in this round
	downLost, upLost  bool  // the attempt's transfers fail
}

// unlimited is a budget that leaves the amount of work to the method.
const unlimited = math.MaxInt32

// working reports whether the device is at a phase.
func (d *device) working() bool {
	return !d.paused && (d.phase == download || d.phase == compute || d.phase == upload)
}

// length returns how long the device's phase takes without interruption.
func (d *device) length() engine.Time {
	switch d.phase {
	case download:
		return d.down
	case compute:
		return d.compute
	default:
		return d.up
	}
}

// end returns at which share the phase ends, and how.
func (d *device) end() (share float64, kind engine.Kind) {
	if d.strikes == d.phase {
		return d.cut, strike
	}
	return 1, ends[d.phase]
}

// limited reports whether a protocol says how many steps a device may take.
func (f *Federation) limited() bool { return f.setup.Config.limited() }

// budget returns how many steps device t may take for the answer that it was asked
// for.
func (f *Federation) budget(t int) int32 {
	if f.budgets == nil {
		return unlimited
	}
	return f.budgets[t]
}

// reachable reports whether the server can ask device t for an answer.
func (f *Federation) reachable(t int) bool {
	d := &f.devices[t]
	return d.phase != flat && !d.away && !d.refuses
}

// draft draws the download of an attempt of device t, and whether and where it
// drops, and decides how fast it is to compute.
func (f *Federation) draft(t int) {
	d := &f.devices[t]
	d.step = uint8(f.step(t))
	down := f.cost.down(t, int(d.round), int(d.attempt), f.bytes.down)
	d.down, d.downLost = down.Duration, down.Lost
	d.strikes = idle
	drop := f.drops.Draw(t, int(d.round), int(d.attempt))
	if !drop.Happens {
		return
	}
	d.cut = drop.At
	switch drop.Phase {
	case devices.DropAtStart:
		d.strikes = lost
	case devices.DropInCompute:
		d.strikes = compute
	case devices.DropInUpload:
		d.strikes = upload
	case devices.DropAnywhere:
		d.strikes = anywhere
	}
}

// anywhere, as the phase in which an attempt drops, stands for the whole of it
// until the lengths of its phases are known.
const anywhere = flat

// time draws the upload of an attempt of device t, whose work is known, and sets
// the lengths of its phases as they follow from the work.
func (f *Federation) time(t int) {
	d := &f.devices[t]
	up := f.cost.up(t, int(d.round), int(d.attempt), f.uploadBytes(t))
	d.up, d.upLost = up.Duration, up.Lost
	d.compute = f.computing(t)
	if d.strikes == anywhere {
		d.aim()
	}
}

// aim finds the phase in which a drop at a share of the whole attempt strikes.
func (d *device) aim() {
	at := d.cut * float64(d.down+d.compute+d.up)
	for _, p := range [...]struct {
		phase  phase
		length engine.Time
	}{{download, d.down}, {compute, d.compute}, {upload, d.up}} {
		if length := float64(p.length); at < length || p.phase == upload {
			d.strikes, d.cut = p.phase, 0
			if length > 0 {
				d.cut = min(at/length, 1)
			}
			return
		}
		at -= float64(p.length)
	}
}

// send sends the server's message to device t: the first phase of an attempt. It
// returns when the answer is expected.
func (f *Federation) send(t int) (due engine.Time) {
	d := &f.devices[t]
	due = f.clock.Now().Add(f.promotion(t)).Add(d.down).Add(f.remaining(t))
	if f.dues != nil {
		f.dues[t] = due
	}
	f.note(Asked, t, 0)
	if d.strikes == lost {
		f.lose(t, Dropped)
	} else {
		f.enter(t, download)
	}
	return due
}

// remaining returns how long an attempt of device t takes when the server's message
// is there.
func (f *Federation) remaining(t int) engine.Time {
	d := &f.devices[t]
	return d.compute.Add(f.promotionAfter(t, d.compute)).Add(d.up)
}

// enter begins a phase of device t.
func (f *Federation) enter(t int, p phase) {
	d := &f.devices[t]
	d.phase = p
	if f.done != nil {
		f.done[t] = 0
	}
	f.proceed(t)
}

// proceed lets device t go on with its phase from where it stands.
func (f *Federation) proceed(t int) {
	d := &f.devices[t]
	share, kind := d.end()
	if f.flowing(d.phase) {
		f.carry(t, f.flow(t, share))
		return
	}
	left, done := d.length(), f.over(t)
	switch {
	case d.phase == compute && f.setup.Pace != nil:
		left = f.stretch(t, share-done)
	case share != 1 || done != 0:
		left = engine.Time(math.Round((share - done) * float64(left)))
	}
	start := f.clock.Now()
	if d.phase == compute {
		d.began = start
		f.draw(t, f.power(t, compute))
	} else {
		start = start.Add(f.promotion(t))
		latency := f.delay(t)
		d.began = start.Add(latency)
		f.carry(t, latency)
	}
	d.next = f.clock.Schedule(start.Add(left), kind, t).Seq()
}

// delay returns how long after device t went on with its phase, its radio awake, it
// moves its first byte; 0 when that is up to a flow, or it computes.
func (f *Federation) delay(t int) engine.Time {
	d := &f.devices[t]
	if d.phase == compute || f.traffic != nil {
		return 0
	}
	length := d.length()
	passed := engine.Time(float64(f.over(t) * float64(length)))
	return max(0, waiting(f.latency(t, d.phase), length)-passed)
}

// over returns the share of device t's phase that was over when it went on with it.
func (f *Federation) over(t int) float64 {
	if f.done == nil {
		return 0
	}
	return f.done[t]
}

// leave ends the present stretch of work of device t and books what it has used
// up: all that was left of the phase when it is complete, or struck where it
// was to be, the share of it that has passed otherwise.
func (f *Federation) leave(t int, complete bool) {
	d := &f.devices[t]
	end, _ := d.end()
	before, start := f.over(t), d.began
	share := end - before
	if d.phase != compute {
		if f.foretold() {
			f.batteries.Account(t, f.clock.Now()) // while change knows this transfer
		}
		if !complete || f.setup.Journal != nil {
			start -= f.delay(t)
		}
	}
	if f.flowing(d.phase) {
		share = f.halt(t, complete)
	} else if !complete {
		f.clock.CancelSeq(t, d.next)
		now := f.clock.Now()
		switch length := d.length(); {
		case length == 0:
		case d.phase == compute && f.setup.Pace != nil:
			share = min(share, f.workDone(t, start, now))
		default:
			share = min(share, float64(max(0, now-start))/float64(length))
		}
	}
	after := before + share
	if complete && end == 1 {
		after = 1
	}
	if f.done != nil {
		f.done[t] = after
	}
	amount := 0.0
	switch d.phase {
	case download:
		amount = f.movedBetween(t, f.bytes.down, before, after)
		f.count(amount, 0)
		f.pay(t, amount, 0)
	case compute:
		amount = float64(d.flops * share)
		f.tally.flops += amount
	case upload:
		amount = f.movedBetween(t, f.uploadBytes(t), before, after)
		f.count(0, amount)
		f.pay(t, 0, amount)
	}
	f.noteStretch(t, start, amount)
}

// movedBetween returns how many bytes of the message of device t have moved between
// two shares of its transfer. Of a flow they are shares of the bytes.
func (f *Federation) movedBetween(t int, bytes, from, to float64) float64 {
	if from == 0 && to >= 1 {
		return bytes
	}
	latency := 0.0
	if f.traffic == nil {
		latency = f.latency(t, f.devices[t].phase)
	}
	return moved(bytes, to, latency) - moved(bytes, from, latency)
}

// count counts bytes that a device has moved, unless they came from or went to its
// hub.
func (f *Federation) count(down, up float64) {
	if f.hubs == nil {
		f.tally.down += down
		f.tally.up += up
	}
}

// rest lets device t idle.
func (f *Federation) rest(t int) {
	f.devices[t].phase = idle
	f.draw(t, f.fleet.IdlePower(t))
}

// lose ends the attempt of device t without an answer.
func (f *Federation) lose(t int, why Loss) {
	d := &f.devices[t]
	f.noteLoss(t, why)
	d.phase, d.paused = lost, false
	f.draw(t, f.fleet.IdlePower(t))
	f.missed(t, why)
}

// missed tells the server's side that the attempt of device t brings no answer.
// The server itself cannot know before the answer is due.
func (f *Federation) missed(t int, why Loss) {
	d := &f.devices[t]
	f.markDropped(t, why)
	if f.asksAgain(int(d.attempt)) {
		d.next = f.clock.Schedule(max(f.dues[t], f.clock.Now()), askAgain, t).Seq()
	} else {
		f.without(t)
	}
}

// asksAgain reports whether the server asks a device again after so many attempts but
// one.
func (f *Federation) asksAgain(attempt int) bool {
	return f.asynchronous() || f.setup.Config.Protocol == WaitForAll || attempt < f.setup.Config.Retries
}

// markDropped counts device t when it drops for the first time in this round.
func (f *Federation) markDropped(t int, why Loss) {
	if d := &f.devices[t]; !d.dropped {
		d.dropped = true
		f.tally.dropped++
		f.noteMissed(t, why)
	}
}

// handle is the engine's handler.
func (f *Federation) handle(e engine.Event) {
	f.happen(e)
	f.reroute()
	f.watch()
}

// happen does what an event does to its device.
func (f *Federation) happen(e engine.Event) {
	t := int(e.Device)
	if t >= len(f.devices) {
		f.relay(e.Kind, t-len(f.devices))
		return
	}
	switch e.Kind {
	case downloadDone:
		f.leave(t, true)
		f.received(t)
	case computeDone:
		f.leave(t, true)
		f.enter(t, upload)
	case uploadDone:
		f.leave(t, true)
		f.sent(t)
	case downFlow:
		f.land(&f.traffic.down, f.received)
	case upFlow:
		f.land(&f.traffic.up, f.sent)
	case rateChange:
		f.follow(t)
	case strike:
		f.leave(t, true)
		f.lose(t, Dropped)
	case flip:
		f.flip(t)
	case askAgain:
		f.giveUp(t)
	case batteryEmpty:
		f.checkBattery(t)
	case returned:
		f.comeBack(t)
	case rush:
		f.crowd()
	case roundEnd:
		f.end()
	}
}

// received lets device t, which has the server's message, go on to work.
func (f *Federation) received(t int) {
	d := &f.devices[t]
	if f.asynchronous() {
		f.solvePending()
	}
	switch {
	case d.downLost:
		f.lose(t, Message)
	case f.budget(t) == 0:
		// Nothing can be done in what is left of the clock cycle.
		f.noteLoss(t, NoTime)
		f.rest(t)
		f.without(t)
	default:
		if f.setup.Pace != nil {
			d.compute = f.computing(t)
		}
		if f.dues != nil {
			f.dues[t] = max(f.dues[t], f.clock.Now().Add(f.remaining(t)))
		}
		f.enter(t, compute)
	}
}

// sent lets the server have the answer of device t, whose upload is over.
func (f *Federation) sent(t int) {
	d := &f.devices[t]
	if d.upLost {
		f.lose(t, Message)
		return
	}
	d.answered = true
	f.rest(t)
	if f.hubs != nil {
		f.hold(t)
		return
	}
	f.take(t)
}

// flops returns the work of device t for this answer; what it would be charged
// for if it does not compute.
func (f *Federation) flops(t int) float64 {
	flops := 0.0
	if d := &f.devices[t]; d.solved || f.asynchronous() { // not solved yet: what it took the last time
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

// stream returns the randomness of the local work of device t.
func (f *Federation) stream(t int) rng.Stream {
	return rng.New(f.setup.Seed, rng.Solve, t, int(f.devices[t].round))
}
