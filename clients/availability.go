package clients

import (
	"fedsim/devices"
	"fedsim/engine"
)

// beginAvailability looks at the availability of every device for the first time.
func (c *Clients) beginAvailability() {
	if c.setup.Availability == nil {
		return
	}
	for t := range c.devices {
		if present, _ := c.lookUp(t); !present {
			if c.Available(t) {
				c.unavailable++
			}
			c.devices[t].set(unavailable, true)
		}
	}
}

// lookUp reports whether device t is available by its trace, and whether that may
// change, and schedules the next look.
func (c *Clients) lookUp(t int) (present, changes bool) {
	present, until := c.setup.Availability.Available(t, c.clock.Now())
	if changes = until != engine.Never; changes {
		c.clock.Schedule(until, EventAvailability, t)
	}
	return present, changes
}

// changeAvailability makes device t available or unavailable, as its trace says.
func (c *Clients) changeAvailability(t int) {
	d := &c.devices[t]
	present, changes := c.lookUp(t)
	if present != d.is(unavailable) {
		if d.is(paused) && !changes { // it will never be available again
			c.fail(t, BecameUnavailable)
		}
		return
	}
	before := c.Available(t)
	d.set(unavailable, !present)
	c.updateAvailable(t, before)
	switch {
	case d.phase == depleted:
	case present:
		resumes := d.is(paused)
		d.set(paused, false)
		c.noteActivity(t)
		if resumes {
			c.proceed(t)
		}
		if c.Available(t) {
			c.listener.Available(t)
		}
	default:
		c.interrupt(t, changes)
		c.noteActivity(t)
	}
}

// updateAvailable updates the count of devices that are not available, after a change
// of device t. The listener hears when it becomes unavailable.
func (c *Clients) updateAvailable(t int, before bool) {
	switch now := c.Available(t); {
	case before && !now:
		c.unavailable++
		c.listener.Unavailable(t)
	case now && !before:
		c.unavailable--
	}
}

// interrupt pauses the attempt of device t, or lets it fail.
func (c *Clients) interrupt(t int, returns bool) {
	d := &c.devices[t]
	if !d.working() {
		return
	}
	c.leave(t, false)
	if returns && c.setup.Faults.OnReturn == devices.Resume {
		d.set(paused, true)
		c.draw(t, c.fleet.IdlePower(t))
		return
	}
	c.fail(t, BecameUnavailable)
}
