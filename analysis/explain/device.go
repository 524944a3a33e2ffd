package explain

import (
	"cmp"
	"slices"

	"fedsim/results"
)

// Total is what devices did over a run. Seconds are sums over its devices.
type Total struct {
	Ended        int     // rounds that an answer of theirs ended
	ExcessS      float64 // sum over these of Round.ExcessS
	Selected     int     // rounds in which the server asked them
	Taken        int     // rounds in which it took an answer of theirs
	Dropped      int     // as in rounds.csv
	Late         int     // as in rounds.csv
	DownlinkS    float64
	ComputeS     float64
	UplinkS      float64
	WaitS        float64
	UnavailableS float64
	DepletedS    float64
	EnergyJ      float64

	tookS float64 // until its answers came, or until the rounds ended in which none did
	took  int     // rounds that tookS is the sum of
}

// ResponseS returns the mean time from the beginning of a round until an answer came,
// of rounds in which it was asked or answered; one that did not come counts as if it
// had at the end of its round. 0 when there is no such round.
func (t *Total) ResponseS() float64 {
	if t.took == 0 {
		return 0
	}
	return t.tookS / float64(t.took)
}

// WaitShare returns the share of the time that was waiting; 0 of no time.
func (t *Total) WaitShare() float64 {
	if all := t.DownlinkS + t.ComputeS + t.UplinkS + t.WaitS + t.UnavailableS + t.DepletedS; all > 0 {
		return t.WaitS / all
	}
	return 0
}

func (t *Total) add(o *Total) {
	t.Ended += o.Ended
	t.ExcessS += o.ExcessS
	t.Selected += o.Selected
	t.Taken += o.Taken
	t.Dropped += o.Dropped
	t.Late += o.Late
	t.DownlinkS += o.DownlinkS
	t.ComputeS += o.ComputeS
	t.UplinkS += o.UplinkS
	t.WaitS += o.WaitS
	t.UnavailableS += o.UnavailableS
	t.DepletedS += o.DepletedS
	t.EnergyJ += o.EnergyJ
	t.tookS += o.tookS
	t.took += o.took
}

// Device is what one device did.
type Device struct {
	Device int    // its number, from 0
	Class  string // of the fleet; empty without one
	Total
}

// Class is what the devices of one class of a fleet did.
type Class struct {
	Name    string
	Devices int
	Total
}

// All returns what all devices did.
func (r *Report) All() Total {
	var all Total
	for t := range r.Devices {
		all.add(&r.Devices[t].Total)
	}
	return all
}

// Slowest returns the devices, the one with the longest ResponseS first, and then by
// number.
func (r *Report) Slowest() []int {
	order := make([]int, len(r.Devices))
	for t := range order {
		order[t] = t
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(r.Devices[b].ResponseS(), r.Devices[a].ResponseS())
	})
	return order
}

// Stragglers returns the devices, first those that held the rounds up longest: by
// ExcessS, then by the rounds they ended, then by ResponseS and number.
func (r *Report) Stragglers() []int {
	order := make([]int, len(r.Devices))
	for t := range order {
		order[t] = t
	}
	slices.SortStableFunc(order, func(x, y int) int {
		p, q := &r.Devices[x], &r.Devices[y]
		return cmp.Or(cmp.Compare(q.ExcessS, p.ExcessS), cmp.Compare(q.Ended, p.Ended), cmp.Compare(q.ResponseS(), p.ResponseS()))
	})
	return order
}

func newDevices(rows []results.DeviceRow) []Device {
	devices := make([]Device, len(rows))
	for t := range devices {
		devices[t].Device = t
	}
	return devices
}

// count adds a round to what its devices did.
func (r *Report) count(x *Round, rows []results.DeviceRow) {
	for t := range rows {
		row, d := &rows[t], &r.Devices[t]
		if row.Attempts > 0 {
			d.Selected++
		}
		if row.Taken > 0 {
			d.Taken++
		}
		switch {
		case row.Answers > 0:
			d.tookS += row.AnsweredS
			d.took++
		case row.Attempts > 0:
			d.tookS += x.LengthS
			d.took++
		}
		d.Dropped += row.Dropped
		d.Late += row.Late
		d.DownlinkS += row.DownlinkS
		d.ComputeS += row.ComputeS
		d.UplinkS += row.UplinkS
		d.WaitS += row.WaitS
		d.UnavailableS += row.AwayS
		d.DepletedS += row.FlatS
		d.EnergyJ += row.EnergyJ
		switch row.Outcome {
		case results.OutcomeFlat, results.OutcomeLowBattery:
			r.exhausted = true
		}
		r.exhausted = r.exhausted || row.FlatS > 0
	}
	if x.Device >= 0 {
		r.Devices[x.Device].Ended++
		r.Devices[x.Device].ExcessS += x.ExcessS
	}
}

// classify names the classes of the devices of a fleet and adds them up.
func (r *Report) classify() {
	fleet := r.Run.Settings.Fleet.Fleet()
	if fleet == nil || len(r.Devices) == 0 {
		return
	}
	// Which class a device is of does not depend on its data.
	machines, _ := fleet.Assemble(len(r.Devices), nil, r.Run.System)
	for _, c := range fleet.Classes {
		r.Classes = append(r.Classes, Class{Name: c.Name})
	}
	for t := range r.Devices {
		d, c := &r.Devices[t], &r.Classes[machines.Class[t]]
		d.Class = c.Name
		c.Devices++
		c.add(&d.Total)
	}
}
