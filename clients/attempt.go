package clients

import (
	"math"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// Attempt is the work that the server asks a client for: it downloads a message,
// computes, and uploads a response.
type Attempt struct {
	// Number and Try choose the random draws of drops, jitter and losses: an attempt
	// with the same two meets the same. Usually Number counts rounds, and Try how
	// often the client was asked before in one.
	Number, Try int
	BytesDown   float64
	devices.Work
	BytesUp float64
}

// Start starts an attempt of a client that is available and not at work. It returns
// when the response is expected; jitter and losses are known then, but not the delays
// that other transfers, traces and drops cause. Start is SetBytesDown, PrepareDownlink,
// SetWork, PrepareUplink and Send.
func (c *Clients) Start(t int, a Attempt) (due engine.Time) {
	c.SetBytesDown(a.BytesDown)
	c.PrepareDownlink(t, a.Number, a.Try)
	c.SetWork(t, a.Work, a.BytesUp)
	c.PrepareUplink(t)
	return c.Send(t)
}

// PrepareDownlink draws the downlink of an attempt, and whether and where the client
// drops, and chooses the speed of its processor. It may be called for several clients at
// once.
func (c *Clients) PrepareDownlink(t, number, try int) {
	c.sizes.prepare(t)
	c.drawDownlink(t, number, try)
}

// drawDownlink is PrepareDownlink for a message whose size is set.
func (c *Clients) drawDownlink(t, number, try int) {
	d := c.at(t)
	d.number, d.try = int32(number), int32(try)
	d.slow = c.slow(t)
	c.drawJitter(t, number, try)
	down := c.cost.Send(network.Down, t, number, try, c.sizes.of(t))
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

// PrepareUplink draws the uplink of an attempt whose work is set, and determines the
// lengths of its phases. It may be called for several clients at once.
func (c *Clients) PrepareUplink(t int) {
	d := c.at(t)
	up := c.cost.Send(network.Up, t, int(d.number), int(d.try), d.bytesUp)
	d.up = up.Duration
	d.set(uplinkLost, up.Lost)
	d.compute = c.computeTime(t)
	if d.drops == anywhere {
		d.placeDrop()
	}
}

// Retry sends the message of the last attempt again, as its next try, with the same
// work.
func (c *Clients) Retry(t int) {
	d := c.at(t)
	c.drawDownlink(t, int(d.number), int(d.try)+1)
	c.PrepareUplink(t)
	c.Send(t)
}

// Send sends the message of an attempt that was prepared. It returns when the response
// is expected.
func (c *Clients) Send(t int) (due engine.Time) {
	d, now := c.at(t), c.Now()
	due = now.Add(c.attemptTime(t, now))
	if c.due != nil {
		*c.due.At(t) = due
	}
	c.recorder.start(t)
	if d.drops == failed {
		c.fail(t, DroppedOut)
	} else {
		c.await(t, polling)
	}
	return due
}

// attemptTime returns how long the prepared attempt of a client takes that begins at an
// instant.
func (c *Clients) attemptTime(t int, at engine.Time) engine.Time {
	begins := c.nextPoll(t, polling, at)
	received := begins.Add(c.radios.promotion(t, begins)).Add(c.at(t).down)
	return c.responseAt(t, received, c.nextPoll(t, launching, received)) - at
}

// responseAt returns when the server has the response of a client that received its message
// at an instant and computes from another one on.
func (c *Clients) responseAt(t int, received, computes engine.Time) engine.Time {
	d := c.at(t)
	computed := computes.Add(d.compute)
	return c.seenAt(computed.Add(c.radios.promotionAfter(t, computed-received)).Add(d.up))
}

// Cancel ends the attempt of a client, if it is at one, without a response. The
// listener does not hear of it.
func (c *Clients) Cancel(t int) {
	d := c.at(t)
	switch {
	case d.working():
		c.leave(t, false)
		c.recorder.failure(t, Canceled)
	case d.is(paused):
		c.recorder.failure(t, BecameUnavailable)
	case d.is(onHold | unseen):
		c.recorder.failure(t, Canceled)
	}
	if d.is(unseen) {
		c.inbox.cancel(t)
	}
	d.set(paused|onHold, false)
	if !d.empty() && d.phase != failed && d.phase != idle {
		c.stop(t, idle)
	}
}

func (c *Clients) enter(t int, p phase) {
	d := c.at(t)
	d.phase = p
	c.recorder.activity(t, d)
	c.setOver(t, 0)
	c.proceed(t)
}

// proceed lets a client work on its phase from where it stands.
func (c *Clients) proceed(t int) {
	d, now := c.at(t), c.Now()
	if d.phase.waits() {
		c.wait(t)
		return
	}
	share, kind := d.end()
	done := c.over(t)
	left := d.length()
	if share != 1 || done != 0 {
		left = engine.Time(math.Round((share - done) * float64(left)))
	}
	d.began = now
	if d.phase == compute {
		if c.speed != nil {
			left = c.computeLength(c.work(t), now, share-done)
		}
		c.draw(t, c.computing(t))
		d.next = c.engine.Schedule(now.Add(left), kind, t).Seq()
		return
	}
	m, wakes := c.message(t, d.phase.way()), c.radios.promotion(t, now)
	if c.flows != nil {
		c.transfer(m, c.flows.begin(m, done, share, wakes))
		return
	}
	start, latency := now.Add(wakes), c.delay(m, done)
	d.began = start.Add(latency)
	c.transfer(m, latency)
	d.next = c.engine.Schedule(start.Add(left), kind, t).Seq()
}

// leave ends the present stretch of work of a client and counts its work: all that was
// left of the phase, up to a drop, when it is complete, and the share that has passed
// otherwise.
func (c *Clients) leave(t int, complete bool) {
	d := c.at(t)
	if d.phase.waits() {
		c.leaveWait(t, complete)
		return
	}
	start := d.began
	if d.phase != compute {
		if c.foretold {
			c.batteries.Account(t, c.Now()) // while powerChange still knows this transfer
		}
		if c.flows == nil && (!complete || c.recorder.written()) {
			start -= c.delay(c.message(t, d.phase.way()), c.over(t))
		}
	}
	end, _ := d.end()
	before := c.over(t)
	share := c.stretch(t, start, end-before, complete)
	after := before + share
	if complete && end == 1 {
		after = 1
	}
	c.setOver(t, after)
	amount := c.count(t, share, before, after)
	if c.recorder.written() {
		c.recorder.endWork(t, start, amount)
		c.NoteLevel(t)
	}
}

// stretch ends the event or the flow of a stretch of work of a client that has lasted since
// start. It returns the share of the phase that it was: all that was left when it is complete.
func (c *Clients) stretch(t int, start engine.Time, left float64, complete bool) (share float64) {
	d, now := c.at(t), c.Now()
	flows := d.phase != compute && c.flows != nil
	switch {
	case flows && complete:
		c.flows.complete(t, d.phase.way())
		return left
	case flows:
		return c.flows.halt(t, d.phase.way(), left)
	case complete:
		return left
	}
	c.engine.CancelSeq(t, d.next)
	switch length := d.length(); {
	case length == 0:
		return left
	case d.phase == compute && c.speed != nil:
		return min(left, c.computedShare(c.work(t), start, now))
	default:
		return min(left, float64(max(0, now-start))/float64(length))
	}
}

// count counts the FLOPs or the bytes of a share of a client's phase, which was between two
// shares of it, and the energy of bytes that are paid for at the end.
func (c *Clients) count(t int, share, from, to float64) (amount float64) {
	d := c.at(t)
	if d.phase == compute {
		amount = float64(d.flops * share)
		c.traffic.FLOPs += amount
		return amount
	}
	m := c.message(t, d.phase.way())
	amount = c.movedBetween(m, from, to)
	switch {
	case c.hubs != nil: // the bytes come from the hub, or go to it
	case m.way == network.Down:
		c.traffic.BytesDown += amount
	default:
		c.traffic.BytesUp += amount
	}
	if c.hubs == nil && c.observers != nil {
		c.observers.moved(t, d.began, c.Now(), c.links.OnWire(t, amount))
	}
	c.pay(m, amount)
	return amount
}

// stop ends the work of a client, which draws the power of an idle device from now on.
func (c *Clients) stop(t int, p phase) {
	d := c.at(t)
	d.phase = p
	c.recorder.activity(t, d)
	c.draw(t, c.idle(t))
}

// fail ends the attempt of a client without a response.
func (c *Clients) fail(t int, why Reason) {
	c.recorder.failure(t, why)
	c.at(t).set(paused, false)
	c.stop(t, failed)
	c.listener.Failed(t, why)
}

// miss lets a client fail whose hub has not received the server's message: the response was due at
// an instant.
func (c *Clients) miss(t int, due engine.Time) {
	if c.due != nil {
		*c.due.At(t) = due
	}
	if d := c.at(t); d.empty() {
		d.phase = drained
	} else {
		d.phase = failed
	}
}

// downloaded lets a client, whose downlink is over, compute.
func (c *Clients) downloaded(t int) {
	d := c.at(t)
	if d.is(downlinkLost) {
		c.listener.Downloaded(t)
		c.fail(t, MessageLost)
		return
	}
	if !c.listener.Downloaded(t) {
		c.recorder.failure(t, NoTime)
		c.stop(t, idle)
		c.listener.Failed(t, NoTime)
		return
	}
	if !d.is(onHold) {
		c.await(t, launching)
	}
}

// compute lets a client, which received its message at an instant, compute.
func (c *Clients) compute(t int, received engine.Time) {
	if c.speed != nil {
		c.at(t).compute = c.computeTime(t)
	}
	if c.due != nil {
		*c.due.At(t) = max(c.Due(t), c.responseAt(t, received, c.Now()))
	}
	c.enter(t, compute)
}

// Proceed lets a client that was held continue, after SetWork and PrepareUplink. A drop
// that these place before this instant happens now.
func (c *Clients) Proceed(t int) {
	d := c.at(t)
	d.set(onHold, false)
	if d.drops == downlink {
		c.fail(t, DroppedOut)
		return
	}
	c.await(t, launching)
}

// uploaded lets the server, or its hub, have the response of a client.
func (c *Clients) uploaded(t int) {
	c.restart(t, c.Now())
	if c.at(t).is(uplinkLost) {
		c.fail(t, MessageLost)
		return
	}
	d := c.at(t)
	c.computedS += d.compute.Seconds()
	c.respondedS += (d.down + d.compute + d.up).Seconds()
	c.stop(t, idle)
	if c.hubs != nil {
		c.hubs.receive(t)
		return
	}
	c.inbox.deliver(t)
}

// endFlows ends the transfers of one direction that end now.
func (c *Clients) endFlows(way network.Direction, arrive func(t int)) {
	w := c.flows.fired(way)
	// What ends at the same instant, behind what led to Stop, ends after Run.
	for before := c.stops; c.stops == before; {
		t, ok := w.share.TakeEnded(c.Now())
		if !ok {
			return
		}
		c.leave(t, true)
		if d := c.at(t); d.drops == d.phase {
			c.fail(t, DroppedOut)
		} else {
			arrive(t)
		}
	}
}
