package clients

import (
	"fedsim/devices"
	"fedsim/engine"
)

// Askable reports whether a client is available now. In a lazy population the client needs no state.
// It may be called from several goroutines at once, unless availability comes from a trace model.
func (c *Clients) Askable(t int) bool {
	if c.followed == nil || c.roster.Has(t) && *c.followed.At(t) {
		return c.Available(t)
	}
	if c.setup.Availability == nil {
		return true
	}
	present, _ := c.setup.Availability.Available(t, c.Now())
	return present
}

// Admit gives a client of a lazy population state, before it is started or asked for its state, and
// follows its availability from now on. It does nothing otherwise.
func (c *Clients) Admit(t int) {
	if c.followed == nil {
		return
	}
	c.roster.Add(t)
	if followed := c.followed.At(t); c.setup.Availability != nil && !*followed {
		present, _ := c.lookUp(t)
		c.at(t).set(unavailable, !present)
		*followed = true
	}
}

// lookUp reports whether a client is available by its trace, and whether that may
// change, and schedules the next look.
func (c *Clients) lookUp(t int) (present, changes bool) {
	present, until := c.setup.Availability.Available(t, c.Now())
	if changes = until != engine.Never; changes {
		c.engine.Schedule(until, EventAvailability, t)
	}
	return present, changes
}

// changeAvailability makes a client available or unavailable, as its trace says.
func (c *Clients) changeAvailability(t int) {
	if c.followed != nil && !c.AtWork(t) && !c.listener.Needed(t) { // nobody needs to know
		*c.followed.At(t) = false
		return
	}
	d := c.at(t)
	present, changes := c.lookUp(t)
	if present != d.is(unavailable) {
		if d.is(paused) && !changes { // it will never be available again
			c.fail(t, BecameUnavailable)
		}
		return
	}
	before := d.available()
	d.set(unavailable, !present)
	c.changes++
	c.updateAvailable(t, before)
	switch {
	case d.empty():
	case present:
		resumes := d.is(paused)
		d.set(paused, false)
		c.recorder.activity(t, d)
		if resumes {
			c.proceed(t)
		}
		if d.available() {
			c.listener.Available(t)
		}
	default:
		c.interrupt(t, changes)
		c.recorder.activity(t, d)
	}
}

// updateAvailable updates the count of clients that are not available, after a change
// of one. The listener hears when it becomes unavailable.
func (c *Clients) updateAvailable(t int, before bool) {
	switch now := c.Available(t); {
	case before && !now:
		c.unavailable++
		c.listener.Unavailable(t)
	case now && !before:
		c.unavailable--
	}
}

// interrupt pauses the attempt of a client, or lets it fail.
func (c *Clients) interrupt(t int, returns bool) {
	d := c.at(t)
	if !d.working() {
		return
	}
	c.leave(t, false)
	if returns && c.setup.Faults.OnReturn == devices.Resume {
		d.set(paused, true)
		c.draw(t, c.idle(t))
		return
	}
	c.fail(t, BecameUnavailable)
}

// NeverAvailable reports whether a client will never be available again: its battery
// is empty and never charged, or it is unavailable for the rest of the time.
func (c *Clients) NeverAvailable(t int) bool {
	if empty, charged := c.Depleted(t); empty && !charged {
		return true
	}
	if !c.at(t).is(unavailable) {
		return false
	}
	present, until := c.setup.Availability.Available(t, c.Now())
	return !present && until == engine.Never
}

// NextChange returns when the availability of a client may change next, by its trace or
// since its empty battery is charged again.
func (c *Clients) NextChange(t int) engine.Time {
	next := engine.Never
	if a := c.setup.Availability; a != nil {
		_, next = a.Available(t, c.Now())
	}
	if c.at(t).empty() {
		if at, charged := c.batteries.RestoreAt(t); charged {
			next = min(next, at)
		}
	}
	return next
}
