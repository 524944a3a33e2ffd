package clients

import (
	"fedsim/devices"
	"fedsim/engine"
)

// power returns what device t draws in a phase, in watts: the processor's power
// while it computes, and that of the radio on top of idling while it transfers.
func (c *Clients) power(t int, p phase) float64 {
	switch p {
	case downlink:
		length := c.devices[t].down
		return c.receiving(t, length-waiting(c.latency(t, p), length))
	case compute:
		return c.fleet.ComputePower(t, int(c.devices[t].step))
	case uplink:
		length := c.devices[t].up
		return c.sending(t, length-waiting(c.latency(t, p), length))
	default:
		return c.fleet.IdlePower(t)
	}
}

// draw sets the power that device t, which transfers nothing, draws from now on, the
// tail of its radio aside.
func (c *Clients) draw(t int, watts float64) {
	if c.radios == nil {
		c.batteries.SetPower(t, c.clock.Now(), watts)
	} else {
		c.batteries.SetPowerSequence(t, c.clock.Now(), c.load(t, watts))
	}
	c.scheduleCheck(t)
}

// scheduleCheck schedules a check of the battery of device t, whose load has changed, no
// later than it can be empty. checkBattery renews a check that is too early, so that
// most changes of power schedule nothing.
func (c *Clients) scheduleCheck(t int) {
	if at, ok := c.nextCheck(t); ok {
		if pending, ok := c.clock.Timer(t); !ok || at < pending {
			c.clock.SetTimer(at, EventBatteryCheck, t)
		}
	}
}

// nextCheck returns when the battery of device t must be checked: no later than it is
// empty, or than the device begins or ceases to refuse work.
func (c *Clients) nextCheck(t int) (at engine.Time, ok bool) {
	at, ok = c.batteries.EmptyAt(t)
	if c.refusing() {
		if low, changes := c.batteries.LowChangeAt(t); changes {
			return low, true
		}
	}
	return at, ok
}

// checkBattery depletes device t when its battery is empty now, and lets it refuse work
// when it is low.
func (c *Clients) checkBattery(t int) {
	d, now := &c.devices[t], c.clock.Now()
	c.batteries.Account(t, now)
	if c.batteries.Depleted(t) {
		return
	}
	if at, ok := c.batteries.EmptyAt(t); !ok || at > now {
		if at, ok := c.nextCheck(t); ok {
			c.clock.SetTimer(at, EventBatteryCheck, t)
		}
		c.updateRefusal(t)
		return
	}
	atWork := c.AtWork(t)
	if d.working() {
		c.leave(t, false)
	}
	stopped := c.StopTimer(t)
	c.batteries.Deplete(t, now)
	c.NoteLevel(t)
	if c.Available(t) {
		c.unavailable++
	}
	d.phase = depleted
	d.set(paused, false)
	c.noteActivity(t)
	if at, charged := c.batteries.RestoreAt(t); charged {
		c.clock.Schedule(at, EventRecharged, t)
	}
	if atWork {
		c.noteFailure(t, BatteryDepleted)
		c.listener.Failed(t, BatteryDepleted)
	}
	c.listener.Depleted(t, atWork || stopped)
}

// recharge lets device t work again when its battery is full enough.
func (c *Clients) recharge(t int) {
	d, now := &c.devices[t], c.clock.Now()
	c.batteries.Account(t, now)
	if at, ok := c.batteries.RestoreAt(t); at > now {
		if ok { // its charger has been unplugged meanwhile
			c.clock.Schedule(at, EventRecharged, t)
		}
		return
	}
	c.batteries.Restore(t, now)
	c.NoteLevel(t)
	c.sleep(t)
	d.set(refuses, c.refusing() && c.batteries.Low(t, now))
	c.rest(t)
	if !c.Available(t) {
		return
	}
	c.unavailable--
	c.listener.Recharged(t)
	c.listener.Available(t)
}

// refusing reports whether devices with a low battery take no new work.
func (c *Clients) refusing() bool {
	d := &c.setup.Devices
	return d.LowBattery > 0 && d.LowBatteryAction == devices.Refuse
}

// updateRefusal lets device t, whose battery is not empty, decide whether it takes new
// work from now on. It completes the attempt that it is at.
func (c *Clients) updateRefusal(t int) {
	d := &c.devices[t]
	if low := c.refusing() && c.batteries.Low(t, c.clock.Now()); low != d.is(refuses) {
		before := c.Available(t)
		d.set(refuses, low)
		c.updateAvailable(t, before)
		if !low && c.Available(t) {
			c.listener.Available(t)
		}
	}
}

// step returns the frequency step of device t for work that begins now.
func (c *Clients) step(t int) int {
	if step, ok := c.fleet.FixedStep(t); ok {
		return step
	}
	now := c.clock.Now()
	if c.batteries.Depleted(t) {
		return 0 // it begins nothing
	}
	return c.fleet.Step(t, c.batteries.Level(t, now), c.batteries.Low(t, now))
}

// CannotComplete reports whether the battery of a client, which was just recharged, is
// certain to be depleted before the client completes its last attempt again. It is
// recharged to the same level every time, and each try takes the same energy. With
// jitter, a speed that changes, or a charging plan, nothing is certain.
func (c *Clients) CannotComplete(t int) bool {
	d := &c.devices[t]
	if _, until := c.speed(t, c.clock.Now()); until != engine.Never {
		return false
	}
	if c.setup.Network.Jitter > 0 || c.setup.Charging != nil || c.setup.Devices.Charging != devices.WhenDepleted {
		return false
	}
	down := c.cost.down(t, int(d.number), int(d.try), c.downBytes(t)).Duration
	d.step = uint8(c.step(t))
	work := c.computing(t)
	up := c.cost.up(t, int(d.number), int(d.try), d.bytesUp).Duration
	connected, before, behind := c.connected(t), waiting(c.latency(t, downlink), down), waiting(c.latency(t, uplink), up)
	receiving, working, sending := c.receiving(t, down-before), c.power(t, compute), c.sending(t, up-behind)
	need := float64(connected*(before+behind).Seconds()) + float64(receiving*(down-before).Seconds()) +
		float64(working*work.Seconds()) + float64(sending*(up-behind).Seconds()) +
		c.between(t, work) + c.moving(t, c.downBytes(t), d.bytesUp)
	// Ends of phases and of batteries are whole nanoseconds, rounded up or off.
	const rounding = 4e-9
	return need > float64(c.batteries.Left(t)*(1+1e-9))+float64(rounding*(receiving+working+sending))
}
