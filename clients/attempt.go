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

// PrepareDownlink draws the downlink of an attempt, and whether and where the client
// drops, and chooses the speed of its processor. It may be called for several clients at
// once.
func (c *Clients) PrepareDownlink(client, number, try int) {
	c.sizes.prepare(client)
	c.drawDownlink(client, number, try)
}

// drawDownlink is PrepareDownlink for a message whose size is set.
func (c *Clients) drawDownlink(client, number, try int) {
	d := c.at(client)
	d.number, d.try = int32(number), int32(try)
	d.slow = c.slow(client)
	c.drawJitter(client, number, try)
	c.links.ResetChannel(client)
	down := c.cost.Send(network.Down, client, number, try, c.sizes.of(client))
	d.down = down.Duration
	d.set(downlinkLost, down.Lost)
	d.drops = idle
	event := c.drops.Draw(client, number, try)
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
func (c *Clients) PrepareUplink(client int) {
	d := c.at(client)
	c.links.ResetChannel(client)
	up := c.cost.Send(network.Up, client, int(d.number), int(d.try), d.bytesUp)
	d.up = up.Duration
	d.set(uplinkLost, up.Lost)
	d.compute = c.computeTime(client)
	if d.drops == anywhere {
		d.placeDrop()
	}
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
		*c.due.At(client) = c.limit(client, due)
	}
	c.recorder.start(client)
	if d.drops == failed {
		c.fail(client, DroppedOut)
	} else {
		c.await(client, polling)
	}
	return due
}

// attemptTime returns how long the prepared attempt of a client takes that begins at an
// instant.
func (c *Clients) attemptTime(client int, at engine.Time) engine.Time {
	begins := c.nextPoll(client, polling, at)
	received := begins.Add(c.radios.promotion(client, begins)).Add(c.at(client).down)
	return c.responseAt(client, received, c.nextPoll(client, launching, received)) - at
}

// responseAt returns when the server has the response of a client that received its message
// at an instant and computes from another one on.
func (c *Clients) responseAt(client int, received, computes engine.Time) engine.Time {
	d := c.at(client)
	computed := computes.Add(d.compute)
	return c.seenAt(computed.Add(c.radios.promotionAfter(client, computed-received)).Add(d.up))
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

// drawChannel draws the transfer that a client begins now again, by the same random numbers, with the present latency
// and losses of its link.
func (c *Clients) drawChannel(client int) {
	d := c.at(client)
	way := d.phase.way()
	c.links.SetChannel(c.channel, client, way, c.Now())
	t := c.cost.Send(way, client, int(d.number), int(d.try), c.message(client, way).bytes)
	if way == network.Down {
		d.down = t.Duration
		d.set(downlinkLost, t.Lost)
		return
	}
	d.up = t.Duration
	d.set(uplinkLost, t.Lost)
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

// count counts the FLOPs or the bytes of a share of a client's phase, which was between two
// shares of it, and the energy of bytes that are paid for at the end.
func (c *Clients) count(client int, share, from, to float64) (amount float64) {
	d := c.at(client)
	if d.phase == compute {
		amount = float64(d.flops * share)
		c.traffic.FLOPs += amount
		return amount
	}
	m := c.message(client, d.phase.way())
	amount = c.movedBetween(m, from, to)
	switch {
	case c.hubs != nil: // the bytes come from the hub, or go to it
	case m.way == network.Down:
		c.traffic.BytesDown += amount
	default:
		c.traffic.BytesUp += amount
	}
	if c.hubs == nil && c.observers != nil {
		c.observers.moved(client, d.began, c.Now(), c.links.OnWire(client, amount))
	}
	c.pay(m, amount)
	return amount
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

// miss lets a client fail whose hub has not received the server's message: the response was due at
// an instant.
func (c *Clients) miss(client int, due engine.Time) {
	if c.due != nil {
		*c.due.At(client) = due
	}
	if d := c.at(client); d.empty() {
		d.phase = drained
	} else {
		d.phase = failed
	}
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
	d := c.at(client)
	c.computedS += d.compute.Seconds()
	c.respondedS += (d.down + d.compute + d.up).Seconds()
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
