package devices

import (
	"fmt"
	"slices"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/internal/tools/elementary"
)

// HeatConfig is the table [devices.heat]: devices warm up as they compute, and throttle. A device is one node,
//
//	C dT/dt = P - (T - Ta)/R,
//
// of the power P that it draws without its radio.
type HeatConfig struct {
	// thermal resistance R from the device to the air: how many kelvins it is warmer in the end for each watt
	KPerW float64 `toml:"k_per_w" absent:"0: without heat"`
	// heat capacity C, in joules a kelvin: a device follows its load with the time constant R C
	JPerK float64 `toml:"j_per_k" absent:"0: without heat"`
	// temperature Ta of the air, in degrees Celsius
	AmbientC float64 `toml:"ambient_c"`
	// temperature at which a device throttles, in degrees Celsius
	ThrottleC float64 `toml:"throttle_c"`
	// temperature at which a device that has throttled recovers
	RecoverC float64 `toml:"recover_c"`
	// clock of a device that throttles, as a share of its own, at f (0.6 + 0.4 f)^2 of its power beyond idling
	// (docs/time.md#heat). With a low battery the slower of both clocks holds
	ThrottleClock float64 `toml:"throttle_clock"`
}

// defaultHeat has the lowest threshold of the skin of a Pixel 4a, with its hysteresis (thermal_info_config.json of
// device/google/sunfish in AOSP).
var defaultHeat = HeatConfig{AmbientC: 25, ThrottleC: 43, RecoverC: 41.1, ThrottleClock: 0.5}

// Validate reports all errors in the table.
func (h *HeatConfig) Validate(c *config.Checker) {
	c.Require(h.KPerW >= 0 && h.KPerW <= 1e6, "k_per_w", h.KPerW, "must be positive and at most 1e+06")
	c.Require(h.JPerK >= 0 && h.JPerK <= 1e9, "j_per_k", h.JPerK, "must be positive and at most 1e+09")
	c.Require(h.JPerK > 0 || h.KPerW == 0, "j_per_k", nil, "must be given with k_per_w")
	c.Require(h.JPerK == 0 || h.KPerW != 0, "k_per_w", nil, "must be given with j_per_k")
	c.Require(h.AmbientC >= -273 && h.AmbientC <= 1000, "ambient_c", h.AmbientC, "must be in [-273, 1000]")
	c.Require(h.ThrottleC >= -273 && h.ThrottleC <= 1000, "throttle_c", h.ThrottleC, "must be in [-273, 1000]")
	c.Require(h.RecoverC >= -273 && h.RecoverC <= 1000, "recover_c", h.RecoverC, "must be in [-273, 1000]")
	c.Require(h.RecoverC < h.ThrottleC, "recover_c", h.RecoverC,
		fmt.Sprintf("must be below throttle_c = %g", h.ThrottleC))
	c.Require(h.ThrottleClock > 0 && h.ThrottleClock < 1, "throttle_clock", h.ThrottleClock, "must be in (0, 1)")
}

// CheckProfile reports a device of a profile that never recovers.
func (h *HeatConfig) CheckProfile(c *config.Checker, p Profile) {
	rest := h.Settles(p.IdleW)
	c.Require(h.KPerW == 0 || h.RecoverC > rest, "recover_c", h.RecoverC,
		fmt.Sprintf("must be above %.4g, the temperature of a device at rest, which would never recover", rest))
}

// Settles returns the temperature of a device in the end, in degrees Celsius, that draws so many watts for ever.
func (h *HeatConfig) Settles(watts float64) float64 { return h.AmbientC + float64(h.KPerW*watts) }

// heat is the heat of the devices of a class. Temperatures are kelvins above that at rest.
type heat struct {
	full      float64 // in the end, at the full clock
	tau       float64 // R C in seconds
	high, low float64 // where a device throttles and recovers
	throttled Step    // of a device that throttles
	slow      Step    // of one with a low battery
}

// newHeat returns the heat of devices of a profile; nil without any.
func newHeat(h *HeatConfig, p Profile) *heat {
	if h.KPerW == 0 {
		return nil
	}
	f, rest := h.ThrottleClock, h.Settles(p.IdleW)
	volts := 0.6 + float64(0.4*f)
	slow := p.Low
	if slow == (Step{}) {
		slow = Step{1, 1}
	}
	return &heat{
		full: h.KPerW * (p.ComputeW - p.IdleW), tau: h.KPerW * h.JPerK, high: h.ThrottleC - rest,
		low: h.RecoverC - rest, throttled: Step{f, f * volts * volts}, slow: slow,
	}
}

// factors returns the factors of Pace of a device, and how much warmer than at rest it is in the end.
func (h *heat) factors(throttled bool, u Use) (speed, power, end float64) {
	speed, power = 1, 1
	usual := Step{1, 1}
	if u == ComputingSlowly {
		usual = h.slow
	}
	if throttled {
		speed, power = min(1, h.throttled.Clock/usual.Clock), min(1, h.throttled.Power/usual.Power)
	}
	if u.Computes() {
		end = float64(h.full*usual.Power) * power
	}
	return speed, power, end
}

// lasts returns how long a device that approaches an end stays throttled, or not throttled.
func (h *heat) lasts(x float64, throttled bool, end float64) engine.Time {
	switch {
	case throttled && end < h.low:
		return max(1, engine.CeilSeconds(h.tau*max(0, elementary.Log((x-end)/(h.low-end)))))
	case !throttled && end > h.high:
		return max(1, engine.CeilSeconds(h.tau*max(0, elementary.Log((end-x)/(end-h.high)))))
	default:
		return engine.Never
	}
}

// heating is the built-in Machine. The state of a device is how much warmer than at rest it is, and 1 if it throttles.
type heating struct{ fleet *Processors }

// Heat returns the built-in Machine of devices with heat; nil when no device has any.
func (p *Processors) Heat() Machine {
	if !slices.ContainsFunc(p.kinds, func(k kind) bool { return k.heat != nil }) {
		return nil
	}
	return heating{p}
}

func (m heating) Pace(device int, s State, u Use, at engine.Time) (speed, power float64, until engine.Time) {
	h := m.fleet.kind(device).heat
	if h == nil {
		return 1, 1, engine.Never
	}
	speed, power, end := h.factors(s[1] == 1, u)
	return speed, power, at.Add(h.lasts(s[0], s[1] == 1, end))
}

func (m heating) After(device int, s State, u Use, from, to engine.Time) State {
	h := m.fleet.kind(device).heat
	if h == nil {
		return s
	}
	_, _, end := h.factors(s[1] == 1, u)
	switch {
	case to < from.Add(h.lasts(s[0], s[1] == 1, end)):
		return State{end + float64((s[0]-end)*elementary.Exp(-(to-from).Seconds()/h.tau)), s[1]}
	case s[1] == 1:
		return State{h.low, 0}
	default:
		return State{h.high, 1}
	}
}
