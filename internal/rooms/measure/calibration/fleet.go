package calibration

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/internal/rooms/measure/attemptlog"
)

// mostClasses is the largest number of classes of a fleet.
const mostClasses = 256

// power is the profile whose powers classes have: a log has none.
const power = "raspberry-pi-4"

// fastest is the rate in GFLOP/s of a client whose FLOPs take no time.
const fastest = 1e6

// lastAttempts returns the last attempt of each client of a run, in the order of run.Clients.
func lastAttempts(run *attemptlog.Run) []*attemptlog.Attempt {
	last := map[string]*attemptlog.Attempt{}
	for i := range run.Attempts {
		last[run.Attempts[i].Client] = &run.Attempts[i]
	}
	return slices.SortedFunc(maps.Values(last), func(a, b *attemptlog.Attempt) int {
		return attemptlog.CompareNames(a.Client, b.Client)
	})
}

// Fleet returns the fleet of a run under the calibration, and sentences about what was assumed: a
// class for each client, which the devices take in turn, in the order of run.Clients. A client has
// the constants of its [Device]. More than 256 clients are devices of the classes of the
// log, whose speeds and rates spread.
func (c *Calibration) Fleet(run *attemptlog.Run) (*fleets.Fleet, []string, error) {
	return newFleet(run, "Calibrated on logs of real runs", c.index().device, func(k *fleets.Class) {
		k.WireFactor = max(1, c.Network.WireFactor.Or(1))
		k.BurstBytes = c.Network.BurstBytes.Or(0)
	})
}

// Nominal returns the fleet of a run by nominal values alone: gflops, down_mbps and up_mbps.
func Nominal(run *attemptlog.Run) (*fleets.Fleet, []string, error) {
	return newFleet(run, "Nominal rates and speeds", func(a *attemptlog.Attempt) Device {
		return Device{GFLOPS: a.GFLOPS, DownMbps: a.DownMbps, UpMbps: a.UpMbps, RTTms: 0, Known: true}
	}, func(*fleets.Class) {})
}

// newFleet returns a fleet with a class for each client of a run, or for each class of them.
func newFleet(run *attemptlog.Run, about string, device func(*attemptlog.Attempt) Device,
	links func(*fleets.Class)) (*fleets.Fleet, []string, error) {
	clients := lastAttempts(run)
	groups, names := make([][]Device, len(clients)), make([]string, len(clients))
	f := &fleets.Fleet{Description: about}
	var notes []string
	for i, a := range clients {
		groups[i], names[i] = []Device{device(a)}, a.Client
		if len(clients) <= mostClasses {
			f.InTurn = append(f.InTurn, uint8(i))
		}
	}
	if len(clients) > mostClasses {
		groups, names = byClass(clients, groups)
		notes = append(notes,
			fmt.Sprintf("%d clients are more than %d classes: devices have the classes of the log, "+
				"whose speeds and rates spread", len(clients), mostClasses))
	}
	if len(groups) > mostClasses {
		return nil, nil,
			fmt.Errorf("run %s has clients of %d classes: a fleet has at most %d", run.Name, len(groups), mostClasses)
	}
	for i, group := range groups {
		k, more := newClass(names[i], group)
		k.Share = float64(len(group)) / float64(len(clients))
		links(&k)
		f.Classes, notes = append(f.Classes, k), append(notes, more...)
	}
	return f, notes, nil
}

// byClass returns the devices by the class of their clients, and the names of the classes.
func byClass(clients []*attemptlog.Attempt, each [][]Device) (groups [][]Device, names []string) {
	for i, a := range clients {
		name := cmp.Or(a.Class, "all")
		at := slices.Index(names, name)
		if at < 0 {
			at = len(names)
			names, groups = append(names, name), append(groups, nil)
		}
		groups[at] = append(groups[at], each[i]...)
	}
	return groups, names
}

// newClass returns a class of devices: the geometric means of their constants and rates, and the
// spread of speeds and rates.
func newClass(name string, group []Device) (k fleets.Class, notes []string) {
	mean := func(of func(*Device) float64) (m, spread float64) {
		if len(group) == 1 {
			return max(0, orZero(of(&group[0]))), 0
		}
		var logs []float64
		for i := range group {
			if x := of(&group[i]); x > 0 && !math.IsInf(x, 0) {
				logs = append(logs, math.Log(x))
			}
		}
		if len(logs) == 0 {
			return 0, 0
		}
		m, variance := moments(logs)
		return math.Exp(m), cv(orZero(variance)) // NaN of one value
	}
	p := (&devices.Config{Profile: power}).Device()
	k = fleets.Class{Name: name, FlopsPerCycle: 1, IdleW: p.IdleW, ComputeW: p.ComputeW, BatteryWh: devices.Mains,
		Link: "ethernet"}
	k.ClockGHz, k.SpeedSpread = mean(func(d *Device) float64 { return d.GFLOPS })
	k.DownlinkMbps, k.RateSpread = mean(func(d *Device) float64 { return d.DownMbps })
	k.UplinkMbps, _ = mean(func(d *Device) float64 { return d.UpMbps })
	k.RTTms, _ = mean(func(d *Device) float64 { return max(1e-6, d.RTTms) }) // NaN: 0, the profile's
	if !(k.ClockGHz > 0) || k.ClockGHz > fastest {
		k.ClockGHz = fastest
		notes = append(notes, name+" has no known rate of FLOPs: they take no time")
	}
	if k.DownlinkMbps == 0 || k.UplinkMbps == 0 {
		notes = append(notes, name+" has no known rates: those of ethernet hold")
	}
	if len(group) == 1 && !group[0].Known {
		notes = append(notes,
			name+" is not in the calibration: it has the constants of its class and its nominal values")
	}
	k.TaskS, _ = mean(func(d *Device) float64 { return d.TaskOverheadS })
	k.StepS, _ = mean(func(d *Device) float64 { return d.StepOverheadS })
	k.TrafficSPerGB, _ = mean(func(d *Device) float64 { return d.TrafficSPerGB })
	k.Jitter, _ = mean(func(d *Device) float64 { return d.Jitter })
	return k, notes
}
