package clients

import (
	"math"
	"slices"

	"fedsim/devices"
	"fedsim/engine"
)

// Attempt is the work that the server asks a client for: it downloads a message,
// computes, and uploads a response.
type Attempt struct {
	// Number and Try choose the random draws of drops, jitter and losses: an attempt
	// with the same two meets the same. Usually Number counts rounds, and Try how
	// often the client was asked before in one.
	Number, Try int
	BytesDown   float64
	FLOPs       float64
	BytesUp     float64
}

// Start starts an attempt of a client that is available and not at work. It returns
// when the response is expected; jitter and losses are known then, but not the delays
// that other transfers, traces and drops cause. Start is SetBytesDown, PrepareDownlink,
// SetWork, PrepareUplink and Send.
func (c *Clients) Start(t int, a Attempt) (due engine.Time) {
	c.SetBytesDown(a.BytesDown)
	c.PrepareDownlink(t, a.Number, a.Try)
	c.SetWork(t, a.FLOPs, a.BytesUp)
	c.PrepareUplink(t)
	return c.Send(t)
}

// SetBytesDown sets the size of the messages of the attempts that are prepared from
// now on.
func (c *Clients) SetBytesDown(bytes float64) {
	c.addressed = false
	if bytes == c.bytesDown {
		return
	}
	if c.bytesDown >= 0 && c.downs == nil { // attempts may be under way with the size before
		c.differ()
	}
	c.bytesDown = bytes
}

// SetBytesDownOf sets the size of the message of the attempt of a client that is prepared
// next. Sizes are those of the clients from then on, until SetBytesDown.
func (c *Clients) SetBytesDownOf(t int, bytes float64) {
	if c.downs == nil {
		c.differ()
	}
	c.addressed, c.downs[t] = true, bytes
}

// differ lets the sizes of messages differ by client.
func (c *Clients) differ() {
	c.downs = make([]float64, len(c.devices))
	for t := range c.downs {
		c.downs[t] = c.bytesDown
	}
}

// downBytes returns the size of the message to device t.
func (c *Clients) downBytes(t int) float64 {
	if c.downs == nil {
		return c.bytesDown
	}
	return c.downs[t]
}

// PrepareDownlink draws the downlink of an attempt, and whether and where the client
// drops, and chooses the speed of its processor. It may be called for several clients at
// once.
func (c *Clients) PrepareDownlink(t, number, try int) {
	if c.downs != nil && !c.addressed {
		c.downs[t] = c.bytesDown
	}
	c.drawDownlink(t, number, try)
}

// drawDownlink is PrepareDownlink for a message whose size is set.
func (c *Clients) drawDownlink(t, number, try int) {
	d := &c.devices[t]
	d.number, d.try = int32(number), int32(try)
	d.step = uint8(c.step(t))
	down := c.cost.down(t, number, try, c.downBytes(t))
	d.down = down.Duration
	d.set(downlinkLost, down.Lost)
	d.drops = idle
	event := c.drops.Draw(t, number, try)
	if !event.Happens {
		return
	}
	d.cut = event.At
	switch event.Phase {
	case devices.DropAtStart:
		d.drops = failed
	case devices.DropInCompute:
		d.drops = compute
	case devices.DropInUpload:
		d.drops = uplink
	case devices.DropAnywhere:
		d.drops = anywhere
	}
}

// SetWork sets the work of an attempt, and the size of its response, until the client
// begins to compute. PrepareUplink must follow. It may be called for several clients at
// once.
func (c *Clients) SetWork(t int, flops, bytesUp float64) {
	c.devices[t].flops, c.devices[t].bytesUp = flops, bytesUp
}

// SetSlower makes the processor of a client so many times slower than usual from its next
// attempt on.
func (c *Clients) SetSlower(t int, times float64) {
	if c.slower == nil {
		if times == 1 {
			return
		}
		c.slower = slices.Repeat([]float64{1}, len(c.devices))
	}
	c.slower[t] = times
}

// Work returns what SetWork has set.
func (c *Clients) Work(t int) (flops, bytesUp float64) {
	return c.devices[t].flops, c.devices[t].bytesUp
}

// PrepareUplink draws the uplink of an attempt whose work is set, and determines the
// lengths of its phases. It may be called for several clients at once.
func (c *Clients) PrepareUplink(t int) {
	d := &c.devices[t]
	up := c.cost.up(t, int(d.number), int(d.try), d.bytesUp)
	d.up = up.Duration
	d.set(uplinkLost, up.Lost)
	d.compute = c.computing(t)
	if d.drops == anywhere {
		d.placeDrop()
	}
}

// DropsAnywhere reports whether the prepared attempt drops at a share of all its work,
// so that its phase depends on SetWork.
func (c *Clients) DropsAnywhere(t int) bool { return c.devices[t].drops == anywhere }

// DropsAtOnce reports whether the prepared attempt drops before it begins.
func (c *Clients) DropsAtOnce(t int) bool { return c.devices[t].drops == failed }

// placeDrop finds the phase in which a drop at a share of the whole attempt happens.
func (d *device) placeDrop() {
	at := d.cut * float64(d.down+d.compute+d.up)
	for _, p := range [...]struct {
		phase  phase
		length engine.Time
	}{{downlink, d.down}, {compute, d.compute}, {uplink, d.up}} {
		if length := float64(p.length); at < length || p.phase == uplink {
			d.drops, d.cut = p.phase, 0
			if length > 0 {
				d.cut = min(at/length, 1)
			}
			return
		}
		at -= float64(p.length)
	}
}

// Retry sends the message of the last attempt again, as its next try, with the same
// work.
func (c *Clients) Retry(t int) {
	d := &c.devices[t]
	c.drawDownlink(t, int(d.number), int(d.try)+1)
	c.PrepareUplink(t)
	c.Send(t)
}

// Number returns that of a client's last attempt, and Try its try.
func (c *Clients) Number(t int) int { return int(c.devices[t].number) }

// Try returns which try a client's last attempt was, from 0 on.
func (c *Clients) Try(t int) int { return int(c.devices[t].try) }

// SetNumber sets the number of the last attempt of a client that was never started.
func (c *Clients) SetNumber(t, number int) { c.devices[t].number = int32(number) }

// Send sends the message of an attempt that was prepared. It returns when the response
// is expected.
func (c *Clients) Send(t int) (due engine.Time) {
	d := &c.devices[t]
	due = c.clock.Now().Add(c.promotion(t)).Add(d.down).Add(c.remaining(t))
	if c.due != nil {
		c.due[t] = due
	}
	if c.spans != nil {
		c.endSpan(t, 0)
		c.note(Start, t, 0, 0)
	}
	if d.drops == failed {
		c.fail(t, DroppedOut)
	} else {
		c.enter(t, downlink)
	}
	return due
}

// Due returns when the response to the last attempt is expected, or was. Setup.Due
// must be set.
func (c *Clients) Due(t int) engine.Time { return c.due[t] }

// remaining returns how long an attempt of device t takes when the server's message
// is there.
func (c *Clients) remaining(t int) engine.Time {
	d := &c.devices[t]
	return d.compute.Add(c.promotionAfter(t, d.compute)).Add(d.up)
}

// Cancel ends the attempt of a client, if it is at one, without a response. The
// listener does not hear of it.
func (c *Clients) Cancel(t int) {
	d := &c.devices[t]
	switch {
	case d.working():
		c.leave(t, false)
		c.noteFailure(t, Canceled)
	case d.is(paused):
		c.noteFailure(t, BecameUnavailable)
	case d.is(onHold):
		c.noteFailure(t, Canceled)
	}
	d.set(paused|onHold, false)
	if d.phase != depleted && d.phase != failed && d.phase != idle {
		c.rest(t)
	}
}

// Release lets a client whose attempt has failed be idle again.
func (c *Clients) Release(t int) {
	if d := &c.devices[t]; d.phase == failed {
		d.phase = idle
	}
}

// Available reports whether a client can be started, unless it is at work.
func (c *Clients) Available(t int) bool {
	d := &c.devices[t]
	return d.phase != depleted && !d.is(unavailable|refuses)
}

// Unavailable returns how many clients are not available.
func (c *Clients) Unavailable() int { return c.unavailable }

// Idle reports whether a client is available and not at work. One whose attempt has
// failed is not idle before Release.
func (c *Clients) Idle(t int) bool { return c.Available(t) && c.devices[t].phase == idle }

// Failed reports whether the last attempt of a client has failed, and the client was
// not released.
func (c *Clients) Failed(t int) bool { return c.devices[t].phase == failed }

// AtWork reports whether a client is at an attempt: it works, is paused, or was held.
func (c *Clients) AtWork(t int) bool {
	d := &c.devices[t]
	return d.working() || d.is(paused|onHold)
}

// Paused reports whether the attempt of a client continues when it is available again.
func (c *Clients) Paused(t int) bool { return c.devices[t].is(paused) }

// Depleted reports whether the battery of a client is empty, and if so, whether it
// will be charged.
func (c *Clients) Depleted(t int) (empty, charged bool) {
	if c.devices[t].phase != depleted {
		return false, true
	}
	_, charged = c.batteries.RestoreAt(t)
	return true, charged
}

// WhyUnavailable returns why a client is not available.
func (c *Clients) WhyUnavailable(t int) Reason {
	switch d := &c.devices[t]; {
	case d.phase == depleted:
		return BatteryDepleted
	case d.is(unavailable):
		return BecameUnavailable
	default:
		return BatteryLow
	}
}

// NeverAvailable reports whether a client will never be available again: its battery
// is empty and never charged, or it is unavailable for the rest of the time.
func (c *Clients) NeverAvailable(t int) bool {
	d := &c.devices[t]
	if empty, charged := c.Depleted(t); empty && !charged {
		return true
	}
	if !d.is(unavailable) {
		return false
	}
	present, until := c.setup.Availability.Available(t, c.clock.Now())
	return !present && until == engine.Never
}

// enter begins a phase of device t.
func (c *Clients) enter(t int, p phase) {
	d := &c.devices[t]
	d.phase = p
	c.noteActivity(t)
	if c.done != nil {
		c.done[t] = 0
	}
	c.proceed(t)
}

// proceed lets device t work on its phase from where it stands.
func (c *Clients) proceed(t int) {
	d := &c.devices[t]
	share, kind := d.end()
	if c.flowing(d.phase) {
		c.carry(t, c.flow(t, share))
		return
	}
	left, done := d.length(), c.over(t)
	switch {
	case d.phase == compute && c.setup.Speed != nil:
		left = c.stretch(t, share-done)
	case share != 1 || done != 0:
		left = engine.Time(math.Round((share - done) * float64(left)))
	}
	start := c.clock.Now()
	if d.phase == compute {
		d.began = start
		c.draw(t, c.power(t, compute))
	} else {
		start = start.Add(c.promotion(t))
		latency := c.delay(t)
		d.began = start.Add(latency)
		c.carry(t, latency)
	}
	d.next = c.clock.Schedule(start.Add(left), kind, t).Seq()
}

// delay returns how long device t takes until it moves its first byte, from when it
// began or continued its phase with its radio awake. It is 0 for a flow, which has its
// own delay, and while it computes.
func (c *Clients) delay(t int) engine.Time {
	d := &c.devices[t]
	if d.phase == compute || c.traffic != nil {
		return 0
	}
	length := d.length()
	passed := engine.Time(float64(c.over(t) * float64(length)))
	return max(0, waiting(c.latency(t, d.phase), length)-passed)
}

// over returns the share of device t's phase that was over when it began or continued
// it.
func (c *Clients) over(t int) float64 {
	if c.done == nil {
		return 0
	}
	return c.done[t]
}

// leave ends the present stretch of work of device t and counts its work: all that was
// left of the phase, up to a drop, when it is complete, and the share that has passed
// otherwise.
func (c *Clients) leave(t int, complete bool) {
	d := &c.devices[t]
	end, _ := d.end()
	before, start := c.over(t), d.began
	share := end - before
	if d.phase != compute {
		if c.foretold() {
			c.batteries.Account(t, c.clock.Now()) // while change still knows this transfer
		}
		if !complete || c.setup.Journal != nil {
			start -= c.delay(t)
		}
	}
	if c.flowing(d.phase) {
		share = c.halt(t, complete)
	} else if !complete {
		c.clock.CancelSeq(t, d.next)
		now := c.clock.Now()
		switch length := d.length(); {
		case length == 0:
		case d.phase == compute && c.setup.Speed != nil:
			share = min(share, c.workDone(t, start, now))
		default:
			share = min(share, float64(max(0, now-start))/float64(length))
		}
	}
	after := before + share
	if complete && end == 1 {
		after = 1
	}
	if c.done != nil {
		c.done[t] = after
	}
	amount := 0.0
	switch d.phase {
	case downlink:
		amount = c.movedBetween(t, c.downBytes(t), before, after)
		c.count(amount, 0)
		c.pay(t, amount, 0)
	case compute:
		amount = float64(d.flops * share)
		c.traffics.FLOPs += amount
	case uplink:
		amount = c.movedBetween(t, d.bytesUp, before, after)
		c.count(0, amount)
		c.pay(t, 0, amount)
	}
	if c.spans != nil {
		c.noteWork(t, start, amount)
	}
}

// movedBetween returns how many bytes of the message of device t have moved between
// two shares of its transfer. Of a flow they are shares of the bytes.
func (c *Clients) movedBetween(t int, bytes, from, to float64) float64 {
	if from == 0 && to >= 1 {
		return bytes
	}
	latency := 0.0
	if c.traffic == nil {
		latency = c.latency(t, c.devices[t].phase)
	}
	return moved(bytes, to, latency) - moved(bytes, from, latency)
}

// count counts bytes that a device has moved, unless they came from or went to its
// hub.
func (c *Clients) count(down, up float64) {
	if c.hubs == nil {
		c.traffics.BytesDown += down
		c.traffics.BytesUp += up
	}
}

// rest lets device t idle.
func (c *Clients) rest(t int) {
	c.devices[t].phase = idle
	c.noteActivity(t)
	c.draw(t, c.fleet.IdlePower(t))
}

// fail ends the attempt of device t without a response.
func (c *Clients) fail(t int, why Reason) {
	d := &c.devices[t]
	c.noteFailure(t, why)
	d.phase = failed
	d.set(paused, false)
	c.noteActivity(t)
	c.draw(t, c.fleet.IdlePower(t))
	c.listener.Failed(t, why)
}

// downloaded lets device t, whose downlink is over, compute.
func (c *Clients) downloaded(t int) {
	d := &c.devices[t]
	if d.is(downlinkLost) {
		c.listener.Downloaded(t)
		c.fail(t, MessageLost)
		return
	}
	if !c.listener.Downloaded(t) {
		c.noteFailure(t, NoTime)
		c.rest(t)
		c.listener.Failed(t, NoTime)
		return
	}
	if !d.is(onHold) {
		c.compute(t)
	}
}

// compute lets device t, which has its message, compute.
func (c *Clients) compute(t int) {
	if c.setup.Speed != nil {
		c.devices[t].compute = c.computing(t)
	}
	if c.due != nil {
		c.due[t] = max(c.due[t], c.clock.Now().Add(c.remaining(t)))
	}
	c.enter(t, compute)
}

// Hold lets a client wait with its message until Proceed. It is for
// Listener.Downloaded, which then calls Stop. Nothing may happen before Proceed or
// Cancel.
func (c *Clients) Hold(t int) { c.devices[t].set(onHold, true) }

// Proceed lets a client that was held compute, after SetWork and PrepareUplink. A drop
// that these place before this instant happens now.
func (c *Clients) Proceed(t int) {
	d := &c.devices[t]
	d.set(onHold, false)
	if d.drops == downlink {
		c.fail(t, DroppedOut)
		return
	}
	c.compute(t)
}

// uploaded lets the server, or its hub, have the response of device t.
func (c *Clients) uploaded(t int) {
	d := &c.devices[t]
	if d.is(uplinkLost) {
		c.fail(t, MessageLost)
		return
	}
	if c.hubs != nil {
		c.hubs.place[t] = held
	}
	c.rest(t)
	if c.hubs != nil {
		c.gathered(t)
		return
	}
	c.listener.Responded(t)
}

// Take returns what clients have moved and computed since the last Take.
func (c *Clients) Take() Traffic {
	sum := c.traffics
	c.traffics = Traffic{}
	return sum
}
