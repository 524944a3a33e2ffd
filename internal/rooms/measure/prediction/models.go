package prediction

import (
	"path/filepath"
	"slices"

	"fedsim/devices/fleets"
	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/rooms/measure/calibration"
)

// drawn is how often a run is played whose polls have random phases.
const drawn = 20

// noWaiting are the settings without polls, launches and cold starts.
var noWaiting = []string{
	"overhead.runtime=none", "overhead.client_poll_s=0", "overhead.server_poll_s=0", "overhead.launch_poll_s=0",
	"overhead.launch_s=0", "overhead.launch_gflop=0", "overhead.cold_start_s=0",
}

// NewModels returns the models of a run under the calibration in a directory, and sentences about
// what was assumed of clients that it does not know. Computations take their mean times.
func NewModels(dir string, c *calibration.Calibration, run *attemptlog.Run) (*Models, []string, error) {
	fleet, notes, err := c.Fleet(run)
	if err != nil {
		return nil, nil, err
	}
	for i := range fleet.Classes {
		fleet.Classes[i].Jitter = 0
	}
	file := filepath.Join(dir, calibration.ScenarioFile)
	on := &System{Scenario: file, Fleet: fleet, Gap: c.Waiting.RoundGapS.Or(0), Seed: 1}
	if slices.ContainsFunc(run.Attempts, func(a attemptlog.Attempt) bool { return a.EnergyJ > 0 }) {
		if on.Powers, err = setPowers(fleet, filepath.Join(dir, calibration.FleetFile)); err != nil {
			return nil, nil, err
		}
	}
	m := &Models{Calibrated: on, Seeds: 1, AtSpeed: func(speed float64) *System {
		faster := *on
		faster.Fleet = atSpeed(fleet, speed)
		return &faster
	}}
	m.Beyond, m.Missing = c.Beyond(run)
	if w := &c.Waiting; w.ClientPollS.Known() || w.ServerPollS.Known() || w.LaunchPollS.Known() {
		m.Seeds = drawn
	}
	if nominal, _, err := calibration.Nominal(run); err == nil && calibration.HasNominal(run) {
		m.Nominal = &System{Scenario: file, Set: noWaiting, Fleet: nominal, Seed: 1}
	}
	return m, notes, nil
}

// setPowers gives the classes of a fleet the powers that they have in a file. It reports whether the
// user has set all of them there: those that a calibration has are assumed, not measured.
func setPowers(f *fleets.Fleet, file string) (known bool, err error) {
	own, err := fleets.Read(file)
	if err != nil {
		return false, err
	}
	known = true
	for i := range f.Classes {
		k := &f.Classes[i]
		j := slices.IndexFunc(own.Classes, func(o fleets.Class) bool { return o.Name == k.Name })
		if j < 0 {
			return false, nil
		}
		idle, compute := own.Classes[j].IdleW, own.Classes[j].ComputeW
		known = known && idle > 0 && compute > 0 && (idle != k.IdleW || compute != k.ComputeW)
		k.IdleW, k.ComputeW = idle, compute
	}
	return known, nil
}

// atSpeed returns a fleet whose devices compute so many times as fast.
func atSpeed(f *fleets.Fleet, speed float64) *fleets.Fleet {
	faster := *f
	faster.Classes = slices.Clone(f.Classes)
	for i := range faster.Classes {
		k := &faster.Classes[i]
		k.ClockGHz *= speed
		k.TaskS /= speed
		k.StepS /= speed
		k.TrafficSPerGB /= speed
	}
	return &faster
}
