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
func (c *Clients) Start(client int, a Attempt) (due engine.Time) {
	c.SetBytesDown(a.BytesDown)
	c.PrepareDownlink(client, a.Number, a.Try)
	c.SetWork(client, a.Work, a.BytesUp)
	c.PrepareUplink(client)
	return c.Send(client)
}

// Retry sends the message of the last attempt again, as its next try, with the same
// work.
func (c *Clients) Retry(client int) {
	d := c.at(client)
	c.drawDownlink(client, int(d.number), int(d.try)+1)
	c.PrepareUplink(client)
	c.Send(client)
}

// Send sends the message of an attempt that was prepared. It returns when the response
// is expected.
func (c *Clients) Send(client int) (due engine.Time) {
	d, now := c.at(client), c.Now()
	due = now.Add(c.attemptTime(client, now))
	if c.due != nil {
		*c.due.At(client) = c.limits.limit(client, due)
	}
	c.recorder.start(client)
	if d.drops == failed {
		c.fail(client, DroppedOut)
	} else {
		c.await(client, polling)
	}
	return due
}

// Cancel ends the attempt of a client, if it is at one, without a response. The
// listener does not hear of it.
func (c *Clients) Cancel(client int) {
	d := c.at(client)
	c.timeouts.end(client)
	switch {
	case d.working():
		c.leave(client, false)
		c.recorder.failure(client, Canceled)
	case d.is(paused):
		c.recorder.failure(client, BecameUnavailable)
	case d.is(onHold | unseen):
		c.recorder.failure(client, Canceled)
	}
	if d.is(unseen) {
		c.inbox.cancel(client)
	}
	d.set(paused|onHold, false)
	if !d.empty() && d.phase != failed && d.phase != idle {
		c.stop(client, idle)
	}
}

func (c *Clients) enter(client int, p phase) {
	d := c.at(client)
	d.phase = p
	c.recorder.activity(client, d)
	c.setOver(client, 0)
	if p.transfers() {
		c.timeouts.open(client, 0, 0)
	}
	c.proceed(client)
}

// proceed lets a client work on its phase from where it stands.
func (c *Clients) proceed(client int) {
	d, now := c.at(client), c.Now()
	if d.phase.waits() {
		c.wait(client)
		return
	}
	done := c.over(client)
	if c.channel != nil && done == 0 && d.phase != compute && c.timeouts.first(client) {
		c.drawChannel(client)
	}
	share, kind := d.end()
	left := d.length()
	if share != 1 || done != 0 {
		left = engine.Time(math.Round((share - done) * float64(left)))
	}
	d.began = now
	if d.phase == compute {
		if c.speed != nil || c.processors.machines != nil {
			left = c.computeLength(c.work(client), now, share-done)
		}
		c.draw(client, c.computing(client))
		d.next = c.engine.Schedule(now.Add(left), kind, client).Seq()
		return
	}
	m, wakes := c.message(client, d.phase.way()), c.radios.promotion(client, now)
	if c.flows != nil {
		latency := c.flows.begin(m, done, share, wakes, c.timeouts.dials(client, done))
		c.transfer(m, latency)
		if c.timeouts != nil {
			c.timeouts.begin(client, wakes.Add(latency), c.flows.moves(client, m.way))
		}
		return
	}
	start, latency := now.Add(wakes), c.delay(m, done)
	d.began = start.Add(latency)
	c.transfer(m, latency)
	d.next = c.engine.Schedule(start.Add(left), kind, client).Seq()
}

// leave ends the present stretch of work of a client and counts its work: all that was
// left of the phase, up to a drop, when it is complete, and the share that has passed
// otherwise.
func (c *Clients) leave(client int, complete bool) {
	d := c.at(client)
	if d.phase.waits() {
		c.leaveWait(client, complete)
		return
	}
	start := d.began
	if d.phase != compute {
		if c.foretold {
			c.batteries.Account(client, c.Now()) // while powerChange still knows this transfer
		}
		if c.flows == nil && (!complete || c.recorder.written()) {
			start -= c.delay(c.message(client, d.phase.way()), c.over(client))
		}
	}
	end, _ := d.end()
	before := c.over(client)
	share := c.stretch(client, start, end-before, complete)
	after := before + share
	if complete && end == 1 {
		after = 1
	}
	c.setOver(client, after)
	amount := c.count(client, share, before, after)
	if c.recorder.written() {
		e := Entry{Amount: amount}
		if d.phase != compute {
			e.Shared = c.flows.sharedFor(client)
		}
		c.recorder.endWork(client, start, e)
		c.NoteLevel(client)
	}
}

// stretch ends the event or the flow of a stretch of work of a client that has lasted since
// start. It returns the share of the phase that it was: all that was left when it is complete.
func (c *Clients) stretch(client int, start engine.Time, left float64, complete bool) (share float64) {
	d, now := c.at(client), c.Now()
	flows := d.phase != compute && c.flows != nil
	if flows {
		c.timeouts.end(client)
	}
	switch {
	case flows && complete:
		c.flows.complete(client, d.phase.way())
		return left
	case flows:
		return c.flows.halt(client, d.phase.way(), left)
	case complete:
		return left
	}
	c.engine.CancelSeq(client, d.next)
	switch length := d.length(); {
	case length == 0:
		return left
	case d.phase == compute && (c.speed != nil || c.processors.machines != nil):
		return min(left, c.computedShare(c.work(client), start, now))
	default:
		return min(left, float64(max(0, now-start))/float64(length))
	}
}

// stop ends the work of a client, which draws the power of an idle device from now on.
func (c *Clients) stop(client int, p phase) {
	d := c.at(client)
	d.phase = p
	c.recorder.activity(client, d)
	c.draw(client, c.idle(client))
}

// fail ends the attempt of a client without a response.
func (c *Clients) fail(client int, why Reason) {
	c.recorder.failure(client, why)
	c.timeouts.end(client)
	c.at(client).set(paused, false)
	c.stop(client, failed)
	c.listener.Failed(client, why)
}

// downloaded lets a client, whose downlink is over, compute.
func (c *Clients) downloaded(client int) {
	d := c.at(client)
	if d.is(downlinkLost) {
		c.listener.Downloaded(client)
		c.fail(client, MessageLost)
		return
	}
	if !c.listener.Downloaded(client) {
		c.recorder.failure(client, NoTime)
		c.stop(client, idle)
		c.listener.Failed(client, NoTime)
		return
	}
	if !d.is(onHold) {
		c.await(client, launching)
	}
}

// compute lets a client, which received its message at an instant, compute.
func (c *Clients) compute(client int, received engine.Time) {
	if c.speed != nil || c.processors.machines != nil {
		c.at(client).compute = c.computeTime(client)
	}
	if c.due != nil && c.limits == nil {
		*c.due.At(client) = max(c.Due(client), c.responseAt(client, received, c.Now()))
	}
	c.enter(client, compute)
}

// Proceed lets a client that was held continue, after SetWork and PrepareUplink. A drop
// that these place before this instant happens now.
func (c *Clients) Proceed(client int) {
	d := c.at(client)
	d.set(onHold, false)
	if d.drops == downlink {
		c.fail(client, DroppedOut)
		return
	}
	c.await(client, launching)
}

// uploaded lets the server, or its hub, have the response of a client.
func (c *Clients) uploaded(client int) {
	c.restart(client, c.Now())
	if c.at(client).is(uplinkLost) {
		c.fail(client, MessageLost)
		return
	}
	c.meter.responded(c.at(client))
	c.stop(client, idle)
	if c.hubs != nil {
		c.hubs.receive(client)
		return
	}
	c.inbox.deliver(client)
}

// endFlows ends the transfers of one direction that end now.
func (c *Clients) endFlows(way network.Direction, arrive func(client int)) {
	w := c.flows.fired(way)
	// What ends at the same instant, behind what led to Stop, ends after Run.
	for before := c.stops; c.stops == before; {
		client, ok := w.share.TakeEnded(c.Now())
		if !ok {
			return
		}
		c.leave(client, true)
		if d := c.at(client); d.drops == d.phase {
			c.fail(client, DroppedOut)
		} else {
			arrive(client)
		}
	}
}
