// Package fatigue is a device model that sees work: phones become slower by steps the longer they compute, and recover
// while they do not. It keeps nothing itself: fedsim has the state of each device, its fatigue.
//
// The default steps follow one phone (Snapdragon 8 Gen 3) that ran a language model for 30 minutes: 12.4, 9.1, 6.2, 4.1
// and 3.8 tokens a second at 0 to 2, 5, 10, 15 and 30 minutes. The log has no method: measure your own. How fast a
// phone recovers is our choice.
package fatigue

import (
	"math"
	"slices"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
)

// Options are decoded strictly from [devices.model_options], over the factory's defaults.
type Options struct {
	AfterS   []float64 `toml:"after_s" doc:"fatigue at which each step begins, in seconds of computing"`
	Speeds   []float64 `toml:"speeds" doc:"share of speed, and of power beyond idling, at each step"`
	Recovery float64   `toml:"recovery" doc:"seconds of fatigue that a second without computing takes away"`
}

// Validate reports everything wrong with the options.
func (o *Options) Validate(c *config.Checker) {
	rises := len(o.AfterS) > 0 && o.AfterS[0] > 0 && slices.IsSorted(o.AfterS) && slices.Max(o.AfterS) <= 1e6 &&
		len(slices.Compact(slices.Clone(o.AfterS))) == len(o.AfterS)
	c.Require(rises, "after_s", o.AfterS, "must be positive, ascending and at most 1e6")
	c.Require(len(o.Speeds) == len(o.AfterS), "speeds", o.Speeds, "must have as many values as after_s")
	for _, speed := range o.Speeds {
		c.Require(speed > 0 && speed <= 1, "speeds", speed, "must be in (0, 1]")
	}
	c.Require(o.Recovery >= 0 && o.Recovery <= 1e6, "recovery", o.Recovery, "must be in [0, 1e6]")
}

func init() {
	devices.RegisterModel(devices.ModelFactory{
		Name:    "fatigue",
		Summary: "phones that become slower the longer they compute",
		Options: func() config.Options {
			return &Options{AfterS: []float64{120, 300, 600, 900}, Speeds: []float64{0.73, 0.5, 0.33, 0.31},
				Recovery: 1}
		},
		New: func(_ devices.ModelSetup, o config.Options) (devices.Behavior, error) {
			return devices.Behavior{Machine: newPhones(*o.(*Options))}, nil
		},
	})
}

// phones are all devices. The first number of a state is the fatigue in nanoseconds, at most that of the last step.
type phones struct {
	after    []float64 // nanoseconds
	speeds   []float64
	recovery float64
}

func newPhones(o Options) *phones {
	p := &phones{speeds: o.Speeds, recovery: o.Recovery}
	for _, s := range o.AfterS {
		p.after = append(p.after, s*1e9)
	}
	return p
}

// Pace returns the factors of speed and power at the step of a device, and when the next one begins.
func (p *phones) Pace(_ int, s devices.State, u devices.Use, at engine.Time) (speed, power float64, until engine.Time) {
	if !u.Computes() {
		return 1, 1, engine.Never
	}
	k, speed := p.step(s), 1.0
	if k > 0 {
		speed = p.speeds[k-1]
	}
	return speed, speed, p.next(k, s, at)
}

// step returns how many steps a device has reached.
func (p *phones) step(s devices.State) int {
	k := 0
	for k < len(p.after) && s[0] >= p.after[k] {
		k++
	}
	return k
}

// next returns when a device that computes reaches step k.
func (p *phones) next(k int, s devices.State, at engine.Time) engine.Time {
	if k == len(p.after) {
		return engine.Never
	}
	return at.Add(max(1, engine.Time(math.Ceil(p.after[k]-s[0]))))
}

// After returns the state after some time under one use.
func (p *phones) After(_ int, s devices.State, u devices.Use, from, to engine.Time) devices.State {
	span := float64(to - from)
	if !u.Computes() {
		return devices.State{max(0, s[0]-float64(p.recovery*span))}
	}
	k := p.step(s)
	if to == p.next(k, s, from) {
		return devices.State{p.after[k]}
	}
	return devices.State{min(p.after[len(p.after)-1], s[0]+span)}
}
