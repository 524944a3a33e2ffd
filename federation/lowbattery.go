package federation

import "fedsim/devices"

// refusing reports whether devices with a low battery take no new work.
func (f *Federation) refusing() bool {
	d := &f.setup.Devices
	return d.LowBattery > 0 && d.LowBatteryAction == devices.Refuse
}

// judge lets device t, which is up, decide whether it takes new work from now on.
// Work that it has begun it ends.
func (f *Federation) judge(t int) {
	d := &f.devices[t]
	if low := f.refusing() && f.batteries.Low(t, f.clock.Now()); low != d.refuses {
		before := f.reachable(t)
		d.refuses = low
		f.recount(t, before)
		if !low {
			f.greet(t)
		}
	}
}

// step returns the frequency step at which device t computes what it begins now.
func (f *Federation) step(t int) int {
	if step, ok := f.fleet.FixedStep(t); ok {
		return step
	}
	now := f.clock.Now()
	if f.batteries.Depleted(t) {
		return 0 // it begins nothing
	}
	return f.fleet.Step(t, f.batteries.Level(t, now), f.batteries.Low(t, now))
}
