package experiment

import (
	"errors"
	"fmt"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// modelDevices sets the model of devices of a run, combined with its traces. Speeds multiply. A
// device is available if both model and traces have it available. Charging has one source only.
func modelDevices(s *clients.System, c *devices.Config) error {
	if c.Model == "" {
		return nil
	}
	factory, ok := devices.LookupModel(c.Model)
	if !ok {
		return fmt.Errorf("device model %q is not registered", c.Model)
	}
	m, err := factory.New(devices.ModelSetup{Devices: s.Clients, Seed: s.Seed}, c.Options.(config.Options))
	if err != nil {
		return fmt.Errorf("starting device model %s: %w", c.Model, err)
	}
	if m == (devices.Behavior{}) {
		return fmt.Errorf("device model %s sets nothing: must set one of Speed, Availability and Charging", c.Model)
	}
	if m.Speed != nil {
		s.Speed = combinedSpeed{name: c.Model, of: m.Speed, other: s.Speed}
	}
	if m.Availability != nil {
		s.Availability = combinedAvailability{name: c.Model, of: m.Availability, other: s.Availability}
	}
	if m.Charging != nil {
		if s.Charging != nil || c.Charging != devices.WhenDepleted {
			return config.Problem{Key: "devices.model", Value: c.Model, Want: "must be one that leaves charging alone, beside a trace of it or charging = \"daily\": there can be one plan"}
		}
		s.Charging = m.Charging
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
	m, err := factory.New(network.ModelSetup{Devices: s.Clients, Seed: s.Seed}, c.Options.(config.Options))
	if err == nil && m == nil {
		err = errors.New("it returned no model")
	}
	if err != nil {
		return fmt.Errorf("starting link model %s: %w", c.Model, err)
	}
	s.Bandwidth = combinedBandwidth{name: c.Model, of: m, other: s.Bandwidth}
	return nil
}

// The next types combine a model with the traces of a run (nil: none). They panic at
// invalid values, with which the clock would stop or go back.

type combinedSpeed struct {
	name      string
	of, other devices.Speed
}

func (p combinedSpeed) Speed(device int, at engine.Time) (factor float64, until engine.Time) {
	factor, until = p.of.Speed(device, at)
	require(p.name, "speed", factor, device, at, until)
	if p.other != nil {
		traced, next := p.other.Speed(device, at)
		factor, until = factor*traced, min(until, next)
	}
	return factor, until
}

type combinedAvailability struct {
	name      string
	of, other devices.Availability
}

func (p combinedAvailability) Available(device int, at engine.Time) (available bool, until engine.Time) {
	available, until = p.of.Available(device, at)
	require(p.name, "availability", 0, device, at, until)
	if p.other == nil {
		return available, until
	}
	traced, next := p.other.Available(device, at)
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

type combinedBandwidth struct {
	name      string
	of, other network.Bandwidth
}

func (b combinedBandwidth) Downlink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time) {
	next := engine.Never
	if b.other != nil {
		usual, next = b.other.Downlink(device, usual, at)
	}
	mbps, until = b.of.Downlink(device, usual, at)
	require(b.name, "downlink", mbps, device, at, until)
	return mbps, min(until, next)
}

func (b combinedBandwidth) Uplink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time) {
	next := engine.Never
	if b.other != nil {
		usual, next = b.other.Uplink(device, usual, at)
	}
	mbps, until = b.of.Uplink(device, usual, at)
	require(b.name, "uplink", mbps, device, at, until)
	return mbps, min(until, next)
}

// require panics unless the value of a model is a number that is not negative, valid
// until a later time.
func require(model, what string, value float64, device int, at, until engine.Time) {
	const most = 1e12
	if !(value >= 0 && value <= most) {
		panic(fmt.Sprintf("model %s: %s of device %d at %v is %g: must be in [0, %g]", model, what, device, at, value, most))
	}
	if until <= at {
		panic(fmt.Sprintf("model %s: %s of device %d at %v holds until %v: must be later", model, what, device, at, until))
	}
}
