package clients

// checkBattery depletes a client when its battery is empty now, and lets it refuse work
// when it is low.
func (c *Clients) checkBattery(client int) {
	c.batteries.Account(client, c.Now())
	switch {
	case c.batteries.Depleted(client):
	case c.empty(client):
		c.ranEmpty(client)
	default:
		if c.energy.machines.changed(client, c.Now()) {
			c.draw(client, c.computing(client))
		}
		c.updateRefusal(client)
	}
}

// ranEmpty ends the client's attempt, since its battery is depleted.
func (c *Clients) ranEmpty(client int) {
	d := c.at(client)
	atWork := d.working() || d.is(paused|onHold) // a response at the server needs no battery
	if d.working() {
		c.leave(client, false)
	}
	c.timeouts.end(client)
	c.deplete(client)
	c.NoteLevel(client)
	if d.available() {
		c.unavailable++
	}
	if atWork || d.failed() {
		d.phase = drained
	} else {
		d.phase = depleted
	}
	d.set(paused, false)
	c.recorder.activity(client, d)
	if atWork {
		c.recorder.failure(client, BatteryDepleted)
		c.listener.Failed(client, BatteryDepleted)
	}
	c.listener.Depleted(client)
}

// recharge lets a client work again when its battery is full enough.
func (c *Clients) recharge(client int) {
	if !c.restore(client) {
		return
	}
	c.NoteLevel(client)
	d := c.at(client)
	d.set(refuses, c.low(client))
	after := idle
	if d.failed() {
		after = failed
	}
	c.stop(client, after)
	if !d.available() {
		return
	}
	c.unavailable--
	c.listener.Recharged(client)
	c.listener.Available(client)
}

// updateRefusal lets a client, whose battery is not empty, decide whether it takes new
// work from now on. It completes the attempt that it is at.
func (c *Clients) updateRefusal(client int) {
	d := c.at(client)
	if low := c.low(client); low != d.is(refuses) {
		before := d.available()
		d.set(refuses, low)
		c.updateAvailable(client, before)
		if !low && d.available() {
			c.listener.Available(client)
		}
	}
}
