package clients

import (
	"fedsim/devices"
	"fedsim/engine"
)

// Askable reports whether a client is available now. In a lazy population the client needs no state.
// It may be called from several goroutines at once, unless availability comes from a trace model.
func (c *Clients) Askable(client int) bool {
	if c.followed == nil || c.roster.Has(client) && *c.followed.At(client) {
		return c.Available(client)
	}
	if c.setup.Availability == nil {
		return true
	}
	present, _ := c.setup.Availability.Available(client, c.Now())
	return present
}

// Admit gives a client of a lazy population state, before it is started or asked for its state, and
// follows its availability from now on. It does nothing otherwise.
func (c *Clients) Admit(client int) {
	if c.followed == nil {
		return
	}
	c.roster.Add(client)
	if followed := c.followed.At(client); c.setup.Availability != nil && !*followed {
		present, _ := c.lookUp(client)
		c.at(client).set(unavailable, !present)
		*followed = true
	}
}

// lookUp reports whether a client is available by its trace, and whether that may
// change, and schedules the next look.
func (c *Clients) lookUp(client int) (present, changes bool) {
	present, until := c.setup.Availability.Available(client, c.Now())
	if changes = until != engine.Never; changes {
		c.engine.Schedule(until, EventAvailability, client)
	}
	return present, changes
}

// changeAvailability makes a client available or unavailable, as its trace says.
func (c *Clients) changeAvailability(client int) {
	if c.followed != nil && !c.AtWork(client) && !c.listener.Needed(client) { // nobody needs to know
		*c.followed.At(client) = false
		return
	}
	d := c.at(client)
	present, changes := c.lookUp(client)
	if present != d.is(unavailable) {
		if d.is(paused) && !changes { // it will never be available again
			c.fail(client, BecameUnavailable)
		}
		return
	}
	before := d.available()
	d.set(unavailable, !present)
	c.changes++
	c.updateAvailable(client, before)
	switch {
	case d.empty():
	case present:
		resumes := d.is(paused)
		d.set(paused, false)
		c.recorder.activity(client, d)
		if resumes {
			c.proceed(client)
		}
		if d.available() {
			c.listener.Available(client)
		}
	default:
		c.interrupt(client, changes)
		c.recorder.activity(client, d)
	}
}

// updateAvailable updates the count of clients that are not available, after a change
// of one. The listener hears when it becomes unavailable.
func (c *Clients) updateAvailable(client int, before bool) {
	switch now := c.Available(client); {
	case before && !now:
		c.unavailable++
		c.listener.Unavailable(client)
	case now && !before:
		c.unavailable--
	}
}

// interrupt pauses the attempt of a client, or lets it fail.
func (c *Clients) interrupt(client int, returns bool) {
	d := c.at(client)
	if !d.working() {
		return
	}
	c.leave(client, false)
	if returns && c.setup.Faults.OnReturn == devices.Resume {
		d.set(paused, true)
		if d.phase.transfers() {
			c.timeouts.change(client, false)
		}
		c.draw(client, c.idle(client))
		return
	}
	c.fail(client, BecameUnavailable)
}

// NeverAvailable reports whether a client will never be available again: its battery
// is empty and never charged, or it is unavailable for the rest of the time.
func (c *Clients) NeverAvailable(client int) bool {
	if empty, charged := c.Depleted(client); empty && !charged {
		return true
	}
	if !c.at(client).is(unavailable) {
		return false
	}
	present, until := c.setup.Availability.Available(client, c.Now())
	return !present && until == engine.Never
}

// NextChange returns when the availability of a client may change next, by its trace or
// since its empty battery is charged again.
func (c *Clients) NextChange(client int) engine.Time {
	next := engine.Never
	if a := c.setup.Availability; a != nil {
		_, next = a.Available(client, c.Now())
	}
	if c.at(client).empty() {
		if at, charged := c.batteries.RestoreAt(client); charged {
			next = min(next, at)
		}
	}
	return next
}
