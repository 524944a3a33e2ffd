package federation

import (
	"fmt"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// power returns what device t draws in a phase, in watts: the processor's power
// while it computes, and that of the radio on top of idling while it transfers.
func (f *Federation) power(t int, p phase) float64 {
	switch p {
	case download:
		length := f.devices[t].down
		return f.receiving(t, length-waiting(f.latency(t, p), length))
	case compute:
		return f.fleet.ComputePower(t, int(f.devices[t].step))
	case upload:
		length := f.devices[t].up
		return f.sending(t, length-waiting(f.latency(t, p), length))
	default:
		return f.fleet.IdlePower(t)
	}
}

// newDevices returns the devices, batteries and links of a setup.
func newDevices(s *Setup, n int) (*devices.Processors, *devices.Batteries, *network.Links) {
	if s.Fleet == nil {
		return devices.NewProcessors(s.Devices, n, s.Seed), newBatteries(s, n), network.NewLinks(s.Network.DeviceLinks(), n, s.Seed)
	}
	machines, links := s.Fleet.Assemble(n, s.Size.Rows, s.Seed)
	return devices.NewMixedProcessors(s.Devices, machines), devices.NewMixedBatteries(s.Devices, machines, s.Seed, s.Charging),
		network.NewMixedLinks(s.Network, links, s.Seed)
}

// newBatteries returns the batteries of a setup without a fleet.
func newBatteries(s *Setup, n int) *devices.Batteries {
	if s.Charging != nil {
		return devices.NewChargedBatteries(s.Devices, n, s.Seed, s.Charging)
	}
	return devices.NewBatteries(s.Devices, n, s.Seed)
}

// draw sets the power that device t, which transfers nothing, draws from now on, the
// tail of its radio aside.
func (f *Federation) draw(t int, watts float64) {
	if f.radios == nil {
		f.batteries.SetPower(t, f.clock.Now(), watts)
	} else {
		f.batteries.SetPowerSequence(t, f.clock.Now(), f.load(t, watts))
	}
	f.guard(t)
}

// guard sees to it that the battery of device t, whose load has changed, is looked at
// no later than it can be empty. A look that turns out to be early is renewed by
// checkBattery, so that most changes of power schedule nothing.
func (f *Federation) guard(t int) {
	if at, ok := f.turn(t); ok {
		if look, pending := f.clock.Timer(t); !pending || at < look {
			f.clock.SetTimer(at, batteryEmpty, t)
		}
	}
}

// turn returns when the battery of device t is to be looked at: no later than it
// is empty, or the device changes its mind about new work.
func (f *Federation) turn(t int) (at engine.Time, ok bool) {
	at, ok = f.batteries.EmptyAt(t)
	if f.refusing() {
		if low, changes := f.batteries.LowChangeAt(t); changes {
			return low, true
		}
	}
	return at, ok
}

// checkBattery lets device t die when its battery is empty now, and refuse work
// when it is low.
func (f *Federation) checkBattery(t int) {
	d, now := &f.devices[t], f.clock.Now()
	f.batteries.Account(t, now)
	if f.batteries.Depleted(t) {
		return
	}
	if at, ok := f.batteries.EmptyAt(t); !ok || at > now {
		if at, ok := f.turn(t); ok {
			f.clock.SetTimer(at, batteryEmpty, t)
		}
		f.judge(t)
		return
	}
	atWork := d.working() || d.paused
	if d.working() {
		f.leave(t, false)
	}
	again := d.phase == lost && f.clock.CancelSeq(t, d.next) // the server would have asked again
	f.batteries.Deplete(t, now)
	f.note(WentFlat, t, 0)
	f.noteLevel(t)
	if f.reachable(t) {
		f.absent++
	}
	d.phase, d.paused = flat, false
	at, comes := f.batteries.RestoreAt(t)
	if comes {
		f.clock.Schedule(at, returned, t)
	}
	if !d.chosen || d.answered {
		return
	}
	f.markDropped(t, Flat)
	if atWork {
		f.noteLoss(t, Flat)
	}
	switch {
	case f.asynchronous():
		f.forget(t)
	case f.setup.Config.Protocol != WaitForAll:
		if atWork || again {
			f.without(t)
		}
	case !comes:
		f.stall(t, "has an empty battery and is never charged")
	}
}

// comeBack brings device t up again. Under wait-for-all it is asked at once for
// the answer that it owes.
func (f *Federation) comeBack(t int) {
	d, now := &f.devices[t], f.clock.Now()
	f.batteries.Account(t, now)
	if at, ok := f.batteries.RestoreAt(t); at > now {
		if ok { // its charger has been unplugged meanwhile
			f.clock.Schedule(at, returned, t)
		}
		return
	}
	f.batteries.Restore(t, now)
	f.note(Recharged, t, 0)
	f.noteLevel(t)
	f.sleep(t)
	d.refuses = f.refusing() && f.batteries.Low(t, now)
	f.rest(t)
	if !f.reachable(t) {
		return
	}
	f.absent--
	if f.owes(t) && f.hopeless(t) {
		f.stall(t, "comes back with a battery that cannot last for one attempt (devices.return_level)")
		return
	}
	f.greet(t)
}

// hopeless reports whether the battery of device t, which has just come back, is
// sure to run empty before any answer to this round is sent. It comes back with no
// more every time, and an attempt takes as much every time: its work is that of the
// round, and links are steady. With jitter, at a pace that changes, or charged by a
// plan, nothing is sure.
func (f *Federation) hopeless(t int) bool {
	if _, until := f.pace(t, f.clock.Now()); until != engine.Never {
		return false
	}
	if f.setup.Network.Jitter > 0 || f.setup.Charging != nil || f.setup.Devices.Charging != devices.WhenDepleted {
		return false
	}
	round, attempt := int(f.devices[t].round), int(f.devices[t].attempt) // any
	down := f.cost.down(t, round, attempt, f.bytes.down).Duration
	f.devices[t].step = uint8(f.step(t))
	work := f.computing(t)
	up := f.cost.up(t, round, attempt, f.uploadBytes(t)).Duration
	connected, before, behind := f.connected(t), waiting(f.latency(t, download), down), waiting(f.latency(t, upload), up)
	receiving, working, sending := f.receiving(t, down-before), f.power(t, compute), f.sending(t, up-behind)
	need := float64(connected*(before+behind).Seconds()) + float64(receiving*(down-before).Seconds()) +
		float64(working*work.Seconds()) + float64(sending*(up-behind).Seconds()) +
		f.between(t, work) + f.moving(t, f.bytes.down, f.uploadBytes(t))
	// Ends of phases and of batteries are whole nanoseconds, rounded up or off.
	const rounding = 4e-9
	return need > float64(f.batteries.Left(t)*(1+1e-9))+float64(rounding*(receiving+working+sending))
}

// stall ends the run: the round can never be completed.
func (f *Federation) stall(t int, why string) {
	f.stalled = fmt.Sprintf("device %d %s, and protocol %q waits for it", t, why, WaitForAll)
	f.clock.Stop()
}
