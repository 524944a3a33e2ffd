package calibration

import (
	"fmt"
	"math"
	"reflect"

	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/internal/attemptlog"
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
	var all []*attemptlog.Attempt
	for _, name := range run.Clients() {
		all = append(all, last[name])
	}
	return all
}

// Fleet returns the fleet of a run under the calibration: a class for each client, which the
// devices take in turn, in the order of run.Clients, and sentences about what was assumed. A client has the constants of
// [Calibration.Device].
func (c *Calibration) Fleet(run *attemptlog.Run) (*fleets.Fleet, []string, error) {
	return newFleet(run, "Calibrated on logs of real runs", c.Device, func(k *fleets.Class) {
		set(k, "wire_factor", c.Network.WireFactor.Or(1))
		set(k, "burst_bytes", math.Round(c.Network.BurstBytes.Or(0)))
	})
}

// Nominal returns the fleet of a run by nominal values alone: gflops, down_mbps and up_mbps.
func Nominal(run *attemptlog.Run) (*fleets.Fleet, []string, error) {
	return newFleet(run, "Nominal rates and speeds", func(a *attemptlog.Attempt) Device {
		return Device{GFLOPS: a.GFLOPS, DownMbps: a.DownMbps, UpMbps: a.UpMbps, RTTms: 0, Known: true}
	}, func(*fleets.Class) {})
}

// newFleet returns a fleet with a class for each client of a run.
func newFleet(run *attemptlog.Run, about string, device func(*attemptlog.Attempt) Device, links func(*fleets.Class)) (*fleets.Fleet, []string, error) {
	clients := lastAttempts(run)
	if len(clients) > mostClasses {
		return nil, nil, fmt.Errorf("run %s has %d clients: a fleet has at most %d classes", run.Name, len(clients), mostClasses)
	}
	f := &fleets.Fleet{Description: about}
	var notes []string
	p := (&devices.Config{Profile: power}).Device()
	for i, a := range clients {
		d := device(a)
		if !d.Known {
			notes = append(notes, fmt.Sprintf("client %s is not in the calibration: it has the constants of its class and its nominal values", a.Client))
		}
		k := fleets.Class{
			Name: a.Client, Share: 1 / float64(len(clients)),
			ClockGHz: d.GFLOPS, FlopsPerCycle: 1, IdleW: p.IdleW, ComputeW: p.ComputeW, BatteryWh: devices.Mains,
			Link: "ethernet", DownlinkMbps: orZero(d.DownMbps), UplinkMbps: orZero(d.UpMbps), RTTms: max(1e-6, d.RTTms),
		}
		if math.IsNaN(d.RTTms) {
			k.RTTms = 0 // the profile's
		}
		if !(k.ClockGHz > 0) || k.ClockGHz > fastest {
			k.ClockGHz = fastest
			notes = append(notes, fmt.Sprintf("client %s has no known rate of FLOPs: they take no time", a.Client))
		}
		if k.DownlinkMbps == 0 || k.UplinkMbps == 0 {
			notes = append(notes, fmt.Sprintf("client %s has no known rates: those of ethernet hold", a.Client))
		}
		links(&k)
		set(&k, "task_overhead_s", d.TaskOverheadS)
		set(&k, "step_overhead_s", d.StepOverheadS)
		set(&k, "traffic_s_per_gb", d.TrafficSPerGB)
		set(&k, "compute_jitter", d.Jitter)
		f.Classes = append(f.Classes, k)
		f.InTurn = append(f.InTurn, uint8(i))
	}
	return f, notes, nil
}

// set sets the field of a struct, or of one that it embeds, with a key of TOML; it reports whether
// there is one.
func set(structPtr any, key string, value float64) bool {
	v := reflect.ValueOf(structPtr).Elem()
	for i := range v.NumField() {
		field, about := v.Field(i), v.Type().Field(i)
		switch {
		case about.Anonymous && field.Kind() == reflect.Struct:
			if set(field.Addr().Interface(), key, value) {
				return true
			}
		case about.Tag.Get("toml") != key:
		case field.Kind() == reflect.Float64:
			field.SetFloat(value)
			return true
		case field.Kind() == reflect.Int || field.Kind() == reflect.Int64:
			field.SetInt(int64(value))
			return true
		}
	}
	return false
}
