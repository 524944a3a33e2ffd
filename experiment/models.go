package experiment

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// modelDevices sets the model of devices of a run, combined with its traces. Speeds multiply. A
// device is available if both model and traces have it available. Charging has one source only,
// which replaces the default.
func modelDevices(s *clients.System, c *devices.Config) error {
	if c.Model == "" {
		return nil
	}
	factory, ok := devices.LookupModel(c.Model)
	if !ok {
		return fmt.Errorf("device model %q is not registered", c.Model)
	}
	start := func() (devices.Behavior, error) {
		return factory.New(devices.ModelSetup{Devices: s.Clients, Seed: s.Seed}, c.Options.(config.Options))
	}
	m, err := start()
	if err != nil {
		return fmt.Errorf("starting device model %s: %w", c.Model, err)
	}
	seen := func(again func(devices.Behavior) any) *watch {
		return newWatch(fmt.Sprintf("device model %q", c.Model), s.Clients, func() (any, error) {
			m, err := start()
			return again(m), err
		})
	}
	if m == (devices.Behavior{}) {
		return fmt.Errorf("device model %s sets nothing: must set one of Speed, Availability, Charging and Machine",
			c.Model)
	}
	if m.Speed != nil {
		s.Speed = combinedSpeed{c.Model, m.Speed, s.Speed, seen(func(m devices.Behavior) any { return m.Speed })}
	}
	if m.Availability != nil {
		s.Availability = combinedAvailability{c.Model, m.Availability, s.Availability,
			seen(func(m devices.Behavior) any { return m.Availability })}
	}
	if m.Charging != nil {
		if s.Charging != nil || c.Charging != devices.Defaults().Charging {
			return config.Problem{Key: "devices.model", Value: c.Model,
				Want: "must be one that leaves charging alone, beside a trace of it or charging other than " +
					"\"daily\": there can be one plan"}
		}
		s.Charging = watchedCharging{m.Charging, seen(func(m devices.Behavior) any { return m.Charging })}
	}
	if m.Machine != nil {
		heated := c.KPerW > 0
		if s.Fleet != nil {
			heated = slices.ContainsFunc(s.Fleet.Heat(c.HeatConfig),
				func(h devices.HeatConfig) bool { return h.KPerW > 0 })
		}
		if heated {
			return config.Problem{Key: "devices.model", Value: c.Model,
				Want: "must be one without a Machine, beside heat (devices.heat.k_per_w): there can be one"}
		}
		s.Machine = watchedMachine{c.Model, m.Machine, seen(func(m devices.Behavior) any { return m.Machine })}
	}
	return nil
}

// modelLinks sets the model of links of a run, which receives the rates of its traces.
func modelLinks(s *clients.System, c *network.Config) error {
	if c.Model == "" {
		return nil
	}
	factory, ok := network.LookupModel(c.Model)
	if !ok {
		return fmt.Errorf("link model %q is not registered", c.Model)
	}
	start := func() (any, error) {
		return factory.New(network.ModelSetup{Devices: s.Clients, Seed: s.Seed}, c.Options.(config.Options))
	}
	started, err := start()
	m, _ := started.(network.Bandwidth)
	if err == nil && m == nil {
		err = errors.New("it returned no model")
	}
	if err != nil {
		return fmt.Errorf("starting link model %s: %w", c.Model, err)
	}
	s.Bandwidth = combinedBandwidth{c.Model, m, s.Bandwidth,
		newWatch(fmt.Sprintf("link model %q", c.Model), s.Clients, start)}
	modelChannel(s, c, started, start)
	return modelCapacity(s, c, started, start)
}

// The next types combine a model with the traces of a run (nil: none). They panic at
// invalid values, with which the clock would stop or go back.

type combinedSpeed struct {
	name      string
	of, other devices.Speed
	seen      *watch
}

func (cs combinedSpeed) Speed(device int, at engine.Time) (factor float64, until engine.Time) {
	factor, until = cs.of.Speed(device, at)
	require(cs.name, "speed", factor, device, at, until)
	cs.seen.note(device, call{method: "Speed", at: at, value: factor, until: until})
	if cs.other != nil {
		traced, next := cs.other.Speed(device, at)
		factor, until = factor*traced, min(until, next)
	}
	return factor, until
}

func (cs combinedSpeed) checkAgain() error {
	return cs.seen.check(true,
		func(of any, device int, c *call) { c.value, c.until = of.(devices.Speed).Speed(device, c.at) })
}

type combinedAvailability struct {
	name      string
	of, other devices.Availability
	seen      *watch
}

func (ca combinedAvailability) Available(device int, at engine.Time) (available bool, until engine.Time) {
	available, until = ca.of.Available(device, at)
	require(ca.name, "availability", 0, device, at, until)
	ca.seen.note(device, call{method: "Available", at: at, value: truth(available), until: until})
	if ca.other == nil {
		return available, until
	}
	traced, next := ca.other.Available(device, at)
	switch {
	case available && traced:
		return true, min(until, next)
	case !available && !traced:
		return false, max(until, next)
	case available:
		return false, next
	default:
		return false, until
	}
}

func (ca combinedAvailability) checkAgain() error {
	return ca.seen.check(false, func(of any, device int, c *call) {
		available, until := of.(devices.Availability).Available(device, c.at)
		c.value, c.until = truth(available), until
	})
}

type watchedCharging struct {
	of   devices.ChargingSchedule
	seen *watch
}

func (w watchedCharging) PluggedIn(device int, at engine.Time) (plugged bool, change engine.Time) {
	plugged, change = w.of.PluggedIn(device, at)
	w.seen.note(device, call{method: "PluggedIn", at: at, value: truth(plugged), until: change})
	return plugged, change
}

func (w watchedCharging) checkAgain() error {
	return w.seen.check(false, func(of any, device int, c *call) {
		plugged, change := of.(devices.ChargingSchedule).PluggedIn(device, c.at)
		c.value, c.until = truth(plugged), change
	})
}

type watchedMachine struct {
	name string
	of   devices.Machine
	seen *watch
}

func (w watchedMachine) Pace(device int, s devices.State, u devices.Use, at engine.Time) (speed, power float64,
	until engine.Time) {
	speed, power, until = w.of.Pace(device, s, u, at)
	require(w.name, "speed", speed, device, at, until)
	require(w.name, "power", power, device, at, until)
	w.seen.note(device, call{method: "Pace", at: at, use: u, state: s, value: speed, other: power, until: until})
	return speed, power, until
}

func (w watchedMachine) After(device int, s devices.State, u devices.Use, from, to engine.Time) devices.State {
	after := w.of.After(device, s, u, from, to)
	for _, x := range after {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			panic(fmt.Sprintf("model %s: the state of device %d at %v is %v: must be finite numbers", w.name, device,
				to, after))
		}
	}
	w.seen.note(device, call{method: "After", at: from, use: u, state: s, value: after[0], other: after[1], until: to})
	return after
}

func (w watchedMachine) checkAgain() error {
	return w.seen.check(true, func(of any, device int, c *call) {
		m := of.(devices.Machine)
		if c.method == "Pace" {
			c.value, c.other, c.until = m.Pace(device, c.state, c.use, c.at)
			return
		}
		after := m.After(device, c.state, c.use, c.at, c.until)
		c.value, c.other = after[0], after[1]
	})
}

type combinedBandwidth struct {
	name      string
	of, other network.Bandwidth
	seen      *watch
}

func (b combinedBandwidth) Downlink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time) {
	next := engine.Never
	if b.other != nil {
		usual, next = b.other.Downlink(device, usual, at)
	}
	mbps, until = b.of.Downlink(device, usual, at)
	require(b.name, "downlink", mbps, device, at, until)
	b.seen.note(device, call{method: "Downlink", at: at, usual: usual, value: mbps, until: until})
	return mbps, min(until, next)
}

func (b combinedBandwidth) Uplink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time) {
	next := engine.Never
	if b.other != nil {
		usual, next = b.other.Uplink(device, usual, at)
	}
	mbps, until = b.of.Uplink(device, usual, at)
	require(b.name, "uplink", mbps, device, at, until)
	b.seen.note(device, call{method: "Uplink", at: at, usual: usual, value: mbps, until: until})
	return mbps, min(until, next)
}

func (b combinedBandwidth) checkAgain() error {
	return b.seen.check(true, func(of any, device int, c *call) {
		if c.method == "Downlink" {
			c.value, c.until = of.(network.Bandwidth).Downlink(device, c.usual, c.at)
		} else {
			c.value, c.until = of.(network.Bandwidth).Uplink(device, c.usual, c.at)
		}
	})
}

// require panics unless the value of a model is a number that is not negative, valid
// until a later time.
func require(model, what string, value float64, device int, at, until engine.Time) {
	const most = 1e12
	if !(value >= 0 && value <= most) {
		panic(fmt.Sprintf("model %s: %s of device %d at %v is %g: must be in [0, %g]", model, what, device, at, value,
			most))
	}
	if until <= at {
		panic(fmt.Sprintf("model %s: %s of device %d at %v holds until %v: must be later", model, what, device, at,
			until))
	}
}
