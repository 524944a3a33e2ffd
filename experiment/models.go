package experiment

import (
	"errors"
	"fmt"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/network"
	"fedsim/scenarios"
)

// model lets the devices and links of a run do what the models say that its settings
// name, on top of what traces tell: speeds are multiplied, a device can be reached when
// both say so, and a link model is given what traces leave of a link's usual rate. Of
// charging there can be one plan.
func model(s *federation.Setup, settings *scenarios.Settings) error {
	if err := modelDevices(s, &settings.Devices); err != nil {
		return err
	}
	return modelLinks(s, &settings.Network)
}

func modelDevices(s *federation.Setup, c *devices.Config) error {
	if c.Model == "" {
		return nil
	}
	factory, ok := devices.LookupModel(c.Model)
	if !ok {
		return fmt.Errorf("device model %q is not registered", c.Model)
	}
	m, err := factory.New(devices.ModelSetup{Devices: s.Size.Devices, Seed: s.Seed}, c.Options.(config.Options))
	if err != nil {
		return fmt.Errorf("starting device model %s: %w", c.Model, err)
	}
	if m == (devices.Model{}) {
		return fmt.Errorf("device model %s says nothing: must set one of Speed, Availability and Charging", c.Model)
	}
	if m.Speed != nil {
		s.Pace = pace{name: c.Model, of: m.Speed, other: s.Pace}
	}
	if m.Availability != nil {
		s.Presence = presence{name: c.Model, of: m.Availability, other: s.Presence}
	}
	if m.Charging != nil {
		if s.Charging != nil || c.Charging != devices.WhenDepleted {
			return config.Problem{Key: "devices.model", Value: c.Model, Want: "must be one that leaves charging alone, beside a trace of it or charging = \"daily\": there can be one plan"}
		}
		s.Charging = m.Charging
	}
	return nil
}

func modelLinks(s *federation.Setup, c *network.Config) error {
	if c.Model == "" {
		return nil
	}
	factory, ok := network.LookupModel(c.Model)
	if !ok {
		return fmt.Errorf("link model %q is not registered", c.Model)
	}
	m, err := factory.New(network.ModelSetup{Devices: s.Size.Devices, Seed: s.Seed}, c.Options.(config.Options))
	if err == nil && m == nil {
		err = errors.New("there is none")
	}
	if err != nil {
		return fmt.Errorf("starting link model %s: %w", c.Model, err)
	}
	s.Bandwidth = bandwidth{name: c.Model, of: m, other: s.Bandwidth}
	return nil
}

// The models as federation asks them, with those of traces below them (nil: none).
// They panic at answers that no model may give, which would end in a clock that stands
// still or goes back.

type pace struct {
	name      string
	of, other devices.Speed
}

func (p pace) Speed(device int, at engine.Time) (factor float64, until engine.Time) {
	factor, until = p.of.Speed(device, at)
	require(p.name, "pace", factor, device, at, until)
	if p.other != nil {
		told, next := p.other.Speed(device, at)
		factor, until = factor*told, min(until, next)
	}
	return factor, until
}

type presence struct {
	name      string
	of, other devices.Availability
}

func (p presence) Available(device int, at engine.Time) (present bool, until engine.Time) {
	present, until = p.of.Available(device, at)
	require(p.name, "presence", 0, device, at, until)
	if p.other == nil {
		return present, until
	}
	told, next := p.other.Available(device, at)
	switch {
	case present && told:
		return true, min(until, next)
	case !present && !told:
		return false, max(until, next)
	case present:
		return false, next
	default:
		return false, until
	}
}

type bandwidth struct {
	name      string
	of, other network.Bandwidth
}

func (b bandwidth) Downlink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time) {
	next := engine.Never
	if b.other != nil {
		usual, next = b.other.Downlink(device, usual, at)
	}
	mbps, until = b.of.Downlink(device, usual, at)
	require(b.name, "downlink", mbps, device, at, until)
	return mbps, min(until, next)
}

func (b bandwidth) Uplink(device int, usual float64, at engine.Time) (mbps float64, until engine.Time) {
	next := engine.Never
	if b.other != nil {
		usual, next = b.other.Uplink(device, usual, at)
	}
	mbps, until = b.of.Uplink(device, usual, at)
	require(b.name, "uplink", mbps, device, at, until)
	return mbps, min(until, next)
}

// require panics unless a model's answer is one: a number that is not negative, up to
// an instant that is yet to come.
func require(model, what string, value float64, device int, at, until engine.Time) {
	const most = 1e12
	if !(value >= 0 && value <= most) {
		panic(fmt.Sprintf("model %s: %s of device %d at %v is %g: must be in [0, %g]", model, what, device, at, value, most))
	}
	if until <= at {
		panic(fmt.Sprintf("model %s: %s of device %d at %v holds until %v: must be later", model, what, device, at, until))
	}
}
