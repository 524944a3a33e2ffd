package clients

import (
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// checkBattery depletes a client when its battery is empty now, and lets it refuse work
// when it is low.
func (c *Clients) checkBattery(t int) {
	c.batteries.Account(t, c.Now())
	switch {
	case c.batteries.Depleted(t):
	case c.empty(t):
		c.ranEmpty(t)
	default:
		c.updateRefusal(t)
	}
}

// ranEmpty ends the client's attempt, since its battery is depleted.
func (c *Clients) ranEmpty(t int) {
	d := c.at(t)
	atWork := d.working() || d.is(paused|onHold) // a response at the server needs no battery
	if d.working() {
		c.leave(t, false)
	}
	c.deplete(t)
	c.NoteLevel(t)
	if d.available() {
		c.unavailable++
	}
	if atWork || d.failed() {
		d.phase = drained
	} else {
		d.phase = depleted
	}
	d.set(paused, false)
	c.recorder.activity(t, d)
	if atWork {
		c.recorder.failure(t, BatteryDepleted)
		c.listener.Failed(t, BatteryDepleted)
	}
	c.listener.Depleted(t)
}

// recharge lets a client work again when its battery is full enough.
func (c *Clients) recharge(t int) {
	if !c.restore(t) {
		return
	}
	c.NoteLevel(t)
	d := c.at(t)
	d.set(refuses, c.low(t))
	after := idle
	if d.failed() {
		after = failed
	}
	c.stop(t, after)
	if !d.available() {
		return
	}
	c.unavailable--
	c.listener.Recharged(t)
	c.listener.Available(t)
}

// updateRefusal lets a client, whose battery is not empty, decide whether it takes new
// work from now on. It completes the attempt that it is at.
func (c *Clients) updateRefusal(t int) {
	d := c.at(t)
	if low := c.low(t); low != d.is(refuses) {
		before := d.available()
		d.set(refuses, low)
		c.updateAvailable(t, before)
		if !low && d.available() {
			c.listener.Available(t)
		}
	}
}

// CannotComplete reports whether the battery of a client, which was just recharged, is
// certain to be depleted before the client completes its last attempt again. It is
// recharged to the same level every time, and each try takes the same energy. With
// jitter, a speed that changes, or a charging plan, nothing is certain.
func (c *Clients) CannotComplete(t int) bool {
	s := &c.setup
	if _, until := c.factor(t, c.Now()); until != engine.Never ||
		s.Network.Jitter > 0 || s.Charging != nil || s.Devices.Charging == devices.Daily {
		return false
	}
	d := c.at(t)
	d.slow = c.slow(t)
	down, up := c.message(t, network.Down), c.message(t, network.Up)
	for _, m := range [...]*message{&down, &up} {
		m.length = c.cost.Send(m.way, t, int(d.number), int(d.try), m.bytes).Duration
	}
	need, rounding := c.energy.attempt(down, up, c.computeTime(t))
	return need > float64(c.batteries.Left(t)*(1+1e-9))+rounding
}

// Exchange charges a client that is not depleted a short message and its answer besides its
// attempts: their bytes, and the energy of its radio beyond that of an idle device, without
// promotion and tail. It returns how long they usually take. Nothing is lost.
func (c *Clients) Exchange(t int, bytesDown, bytesUp float64) (length engine.Time) {
	c.traffic.BytesDown += bytesDown
	c.traffic.BytesUp += bytesUp
	c.exchange(t, bytesDown, bytesUp)
	return c.UsualTransfers(t, bytesDown, bytesUp)
}
