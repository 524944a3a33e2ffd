package clients

import (
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/tools/roster"
)

// presence knows when clients are available by their trace, and follows those whose availability somebody needs to
// know.
type presence struct {
	trace      devices.Availability // nil: clients are always available
	clock      *engine.Engine
	population *population
	energy     *energy
	followed   *roster.Column[bool] // whether the next look at a client's trace is scheduled; nil: always
	changes    int                  // changes of availability that somebody needed to know
}

func newPresence(s *Setup, p *population, e *energy, clock *engine.Engine) presence {
	a := presence{trace: s.Availability, clock: clock, population: p, energy: e}
	if s.Lazy {
		a.followed = roster.NewColumn[bool](p.roster, nil)
	}
	return a
}

// Changes returns how often a client became available or unavailable; in a lazy population, as far as somebody
// needed to know.
func (p *presence) Changes() int { return p.changes }

// Askable reports whether a client is available now. In a lazy population the client needs no state.
// It may be called from several goroutines at once, unless availability comes from a trace model.
func (p *presence) Askable(client int) bool {
	if p.followed == nil || p.population.roster.Has(client) && *p.followed.At(client) {
		return p.population.Available(client)
	}
	if p.trace == nil {
		return true
	}
	present, _ := p.trace.Available(client, p.clock.Now())
	return present
}

// Admit gives a client of a lazy population state, before it is started or asked for its state, and
// follows its availability from now on. It does nothing otherwise.
func (p *presence) Admit(client int) {
	if p.followed == nil {
		return
	}
	p.population.roster.Add(client)
	if followed := p.followed.At(client); p.trace != nil && !*followed {
		present, _ := p.lookUp(client)
		p.population.at(client).set(unavailable, !present)
		*followed = true
	}
}

// lookUp reports whether a client is available by its trace, and whether that may
// change, and schedules the next look.
func (p *presence) lookUp(client int) (present, changes bool) {
	present, until := p.trace.Available(client, p.clock.Now())
	if changes = until != engine.Never; changes {
		p.clock.Schedule(until, EventAvailability, client)
	}
	return present, changes
}

// NeverAvailable reports whether a client will never be available again: its battery
// is empty and never charged, or it is unavailable for the rest of the time.
func (p *presence) NeverAvailable(client int) bool {
	empty, charged := p.energy.Depleted(client)
	return empty && !charged || p.gone(client)
}

// gone reports whether a client is unavailable for the rest of the time.
func (p *presence) gone(client int) bool {
	if !p.population.at(client).is(unavailable) {
		return false
	}
	present, until := p.trace.Available(client, p.clock.Now())
	return !present && until == engine.Never
}

// NextChange returns when the availability of a client may change next, by its trace or
// since its empty battery is charged again.
func (p *presence) NextChange(client int) engine.Time {
	next := engine.Never
	if p.trace != nil {
		_, next = p.trace.Available(client, p.clock.Now())
	}
	if p.population.at(client).empty() {
		if at, charged := p.energy.batteries.RestoreAt(client); charged {
			next = min(next, at)
		}
	}
	return next
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
