package clients

import (
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// energy is what clients draw from their batteries, and the events that check them: each
// battery is looked at no later than it is empty, than it is low enough to refuse work, and
// than it ceases to be.
type energy struct {
	batteries  *devices.Batteries
	radios     radios
	population *population
	hardware   *hardware
	clock      *engine.Engine
	machines   *machines  // nil: power does not depend on earlier work
	observers  *observers // nil: there are none
	refusing   bool       // clients with a low battery take no new work
	slowing    bool       // they begin it slowly
	// foretold is true when powerChange knows the power of clients after the latency of their
	// transfers: without radio states and flows the instant is known.
	foretold bool
}

func newEnergy(s *Setup, batteries *devices.Batteries, p *population, h *hardware, clock *engine.Engine) energy {
	d := &s.Devices
	e := energy{batteries: batteries, radios: newRadios(s, h), population: p, hardware: h, clock: clock,
		refusing: d.LowBattery > 0 && d.LowBatteryAction == devices.Refuse,
		slowing:  d.LowBattery > 0 && d.LowBatteryAction == devices.Slow}
	if e.observers = newObservers(s); e.observers != nil {
		batteries.SetDrawn(e.observers.drew)
	}
	if e.foretold = !e.radios.stateful() && !h.shared; e.foretold {
		batteries.SetNextPower(e.powerChange)
	}
	return e
}

// Batteries returns the batteries, to read.
func (e *energy) Batteries() *devices.Batteries { return e.batteries }

// Observers returns the observers of the run, one for each of System.Features.
func (e *energy) Observers() []Observer {
	if e.observers == nil {
		return nil
	}
	return e.observers.each
}

// Power returns the power of a client in watts during an activity. While it moves bytes,
// the radio adds to the idle power.
func (e *energy) Power(client int, a Activity) float64 {
	switch a {
	case Downlink:
		return e.moving(e.population.message(client, network.Down))
	case Compute:
		return e.computing(client)
	case Uplink:
		return e.moving(e.population.message(client, network.Up))
	case Depleted:
		return 0
	default:
		return e.idle(client)
	}
}

// idle returns the power of a client without an attempt, in watts.
func (e *energy) idle(client int) float64 { return e.hardware.fleet.IdlePower(client) }

// computing returns the load of a client while it computes.
func (e *energy) computing(client int) float64 {
	slow := e.population.at(client).slow
	watts := e.hardware.fleet.ComputePower(client, slow)
	if e.machines == nil {
		return watts
	}
	now := e.clock.Now()
	if m := e.machines.computing(client, slow, now, now); m.power != 1 {
		return e.idle(client) + float64(m.power*(watts-e.idle(client)))
	}
	return watts
}

// moving returns the load of a client while the bytes of a message move.
func (e *energy) moving(m message) float64 {
	return e.radios.moving(m, m.length-e.hardware.latency(m))
}

// powerChange returns when a client moves the first byte of its present transfer, and its
// power from then on. Without a transfer both are 0.
func (e *energy) powerChange(client int) (at engine.Time, watts float64) {
	d := e.population.at(client)
	if !d.phase.transfers() || !d.working() {
		return 0, 0
	}
	return d.began, e.radios.moving(e.population.message(client, d.phase.way()), 0)
}

// draw sets the power that a client, which transfers nothing, draws from now on, the
// tail of its radio aside.
func (e *energy) draw(client int, watts float64) {
	now := e.clock.Now()
	if e.machines != nil {
		use := devices.Resting
		if d := e.population.at(client); d.phase == compute && d.working() {
			use = computing(d.slow)
		}
		e.machines.set(client, use, now)
	}
	if e.radios.stateful() {
		e.batteries.SetPowerSequence(client, now, e.radios.tail(client, now, watts))
	} else {
		e.batteries.SetPower(client, now, watts)
	}
	if e.population.at(client).phase == compute {
		e.observers.note(client, Compute)
	} else {
		e.observers.note(client, Idle)
	}
	e.scheduleCheck(client)
}

// transfer sets the power of a client for a transfer that begins or continues now, with the
// rest of its latency.
func (e *energy) transfer(m message, latency engine.Time) {
	client, now := m.client, e.clock.Now()
	e.machines.set(client, devices.Transferring, now)
	switch {
	case !e.foretold:
		e.batteries.SetPowerSequence(client, now, e.radios.transfer(client, now, latency, e.moving(m)))
	case latency == 0:
		e.batteries.SetPower(client, now, e.radios.moving(m, 0))
	default:
		e.batteries.SetPower(client, now, e.radios.connected(client))
	}
	if m.way == network.Down {
		e.observers.note(client, Downlink)
	} else {
		e.observers.note(client, Uplink)
	}
	e.scheduleCheck(client)
}

// pay lets a client pay for the bytes that it has moved in a stretch of a transfer,
// at its end.
func (e *energy) pay(m message, bytes float64) {
	if joules := e.radios.energy(m, bytes); joules > 0 {
		e.batteries.Spend(m.client, e.clock.Now(), joules)
	}
}

// exchange charges a client for a short message and its response beside its attempts.
func (e *energy) exchange(client int, bytesDown, bytesUp float64) {
	h := e.hardware
	joules := float64(h.links.Power(network.Down, client)*h.ExpectedDownlink(client, bytesDown).Seconds()) +
		float64(h.links.Power(network.Up, client)*h.ExpectedUplink(client, bytesUp).Seconds())
	if e.observers != nil {
		e.batteries.Account(client, e.clock.Now()) // of the time until now
		e.observers.moved(client, e.clock.Now(), e.clock.Now(), h.links.OnWire(client, bytesDown+bytesUp))
	}
	before := e.observers.note(client, Uplink)
	e.batteries.Spend(client, e.clock.Now(), joules)
	e.observers.note(client, before)
	e.scheduleCheck(client)
}

// attempt returns the energy in joules of an attempt without interruption that begins with
// the radio asleep, and how much the rounding of times to nanoseconds may hide.
func (e *energy) attempt(down, up message, work engine.Time) (joules, rounding float64) {
	client := down.client
	before, behind := e.hardware.latency(down), e.hardware.latency(up)
	connected, working := e.radios.connected(client), e.computing(client)
	receiving, sending := e.moving(down), e.moving(up)
	joules = float64(connected*(before+behind).Seconds()) + float64(receiving*(down.length-before).Seconds()) +
		float64(working*work.Seconds()) + float64(sending*(up.length-behind).Seconds()) +
		e.radios.between(client, work) + e.radios.energy(down, down.bytes) + e.radios.energy(up, up.bytes)
	// Ends of phases and of batteries are whole nanoseconds, rounded up or off.
	return joules, float64(4e-9 * (receiving + working + sending))
}

// scheduleCheck schedules a check of the battery of a client, whose load has changed. A
// check that is pending and too early is renewed when it comes, so that most changes of
// power schedule nothing.
func (e *energy) scheduleCheck(client int) {
	if at, ok := e.nextCheck(client); ok {
		if pending, ok := e.clock.Timer(client); !ok || at < pending {
			e.clock.SetTimer(at, EventBatteryCheck, client)
		}
	}
}

// nextCheck returns when the battery of a client must be checked: no later than it is
// empty, than the client begins or ceases to refuse work, or than its machine changes its power.
func (e *energy) nextCheck(client int) (at engine.Time, ok bool) {
	at, ok = e.batteries.EmptyAt(client)
	if e.refusing {
		if low, changes := e.batteries.LowChangeAt(client); changes {
			at, ok = low, true
		}
	}
	if e.machines != nil {
		if change := e.machines.change(client, e.clock.Now()); change < at {
			return change, true
		}
	}
	return at, ok
}

// empty reports whether the battery of a client that is not depleted is empty now. If not,
// it schedules the next check.
func (e *energy) empty(client int) bool {
	if at, ok := e.batteries.EmptyAt(client); ok && at <= e.clock.Now() {
		return true
	}
	if at, ok := e.nextCheck(client); ok {
		e.clock.SetTimer(at, EventBatteryCheck, client)
	}
	return false
}

// deplete marks a client, whose battery is empty, as depleted, and schedules when it has
// enough charge again.
func (e *energy) deplete(client int) {
	e.batteries.Deplete(client, e.clock.Now())
	e.machines.set(client, devices.Resting, e.clock.Now())
	e.scheduleRecharge(client)
}

// scheduleRecharge schedules when a depleted client has enough charge, if it ever has.
func (e *energy) scheduleRecharge(client int) {
	if at, charged := e.batteries.RestoreAt(client); charged {
		e.clock.Schedule(at, EventRecharged, client)
	}
}

// restore brings a depleted client up if its battery is full enough now, with a radio that
// sleeps. Otherwise its charger has been unplugged meanwhile, and the client waits on.
func (e *energy) restore(client int) bool {
	now := e.clock.Now()
	e.batteries.Account(client, now)
	if at, _ := e.batteries.RestoreAt(client); at > now {
		e.scheduleRecharge(client)
		return false
	}
	e.batteries.Restore(client, now)
	e.radios.sleep(client)
	return true
}

// low reports whether the battery of a client is too low for new work.
func (e *energy) low(client int) bool { return e.refusing && e.batteries.Low(client, e.clock.Now()) }

// slow reports whether a low battery slows down work of a client that begins now.
func (e *energy) slow(client int) bool {
	return e.slowing && (e.batteries.Depleted(client) || e.batteries.Low(client, e.clock.Now()))
}

// Depleted reports whether the battery of a client is empty, and if so, whether it
// will be charged.
func (e *energy) Depleted(client int) (empty, charged bool) {
	if !e.population.at(client).empty() {
		return false, true
	}
	_, charged = e.batteries.RestoreAt(client)
	return true, charged
}
