package explain

import (
	"cmp"
	"slices"

	"fedsim/results"
)

// Total sums up the activity of one or more devices in a run. Seconds and counts are sums
// over the devices.
type Total struct {
	Ended        int     // rounds that ended with their response
	ExcessS      float64 // sum of Round.ExcessS over these rounds
	Selected     int     // rounds in which the server requested an update
	Taken        int     // rounds in which the server used a response
	Dropped      int     // as in rounds.csv
	Late         int     // as in rounds.csv
	DownlinkS    float64
	ComputeS     float64
	UplinkS      float64
	WaitS        float64
	UnavailableS float64
	DepletedS    float64
	EnergyJ      float64

	responseS float64 // sum of the response times; a missing response counts until the end of its round
	responses int     // rounds in responseS
}

// ResponseS returns the mean response time: seconds from the start of a round to the
// response, over the rounds with a request or a response. A missing response counts
// until the end of its round. It is 0 if there is no such round.
func (t *Total) ResponseS() float64 {
	if t.responses == 0 {
		return 0
	}
	return t.responseS / float64(t.responses)
}

// WaitShare returns the fraction of the time spent waiting, 0 if the time is 0.
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
	t.responseS += o.responseS
	t.responses += o.responses
}

// Device is the total of one device.
type Device struct {
	Device int    // number, from 0
	Class  string // of the fleet; empty without a fleet
	Total
}

// Class is the total of one device class of a fleet.
type Class struct {
	Name    string
	Devices int
	Total
}

// All returns the total of all devices.
func (r *Report) All() Total {
	var all Total
	for t := range r.Devices {
		all.add(&r.Devices[t].Total)
	}
	return all
}

// Slowest returns the devices by decreasing ResponseS, then by number.
func (r *Report) Slowest() []int {
	return r.sorted(func(a, b *Device) int { return cmp.Compare(b.ResponseS(), a.ResponseS()) })
}

// Stragglers returns the devices by decreasing ExcessS, then by decreasing Ended, then
// by decreasing ResponseS, then by number.
func (r *Report) Stragglers() []int {
	return r.sorted(func(a, b *Device) int {
		return cmp.Or(cmp.Compare(b.ExcessS, a.ExcessS), cmp.Compare(b.Ended, a.Ended), cmp.Compare(b.ResponseS(), a.ResponseS()))
	})
}

// sorted returns the numbers of the devices in an order.
func (r *Report) sorted(compare func(a, b *Device) int) []int {
	order := make([]int, len(r.Devices))
	for t := range order {
		order[t] = t
	}
	slices.SortStableFunc(order, func(a, b int) int { return compare(&r.Devices[a], &r.Devices[b]) })
	return order
}

// count adds a round to the totals of its devices.
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
		case row.Responses > 0:
			d.responseS += row.ResponseS
			d.responses++
		case row.Attempts > 0:
			d.responseS += x.LengthS
			d.responses++
		}
		d.Dropped += row.Dropped
		d.Late += row.Late
		d.DownlinkS += row.DownlinkS
		d.ComputeS += row.ComputeS
		d.UplinkS += row.UplinkS
		d.WaitS += row.WaitS
		d.UnavailableS += row.UnavailableS
		d.DepletedS += row.DepletedS
		d.EnergyJ += row.EnergyJ
		switch row.Outcome {
		case results.OutcomeDepleted, results.OutcomeLowBattery:
			r.depleted = true
		}
		r.depleted = r.depleted || row.DepletedS > 0
	}
	if x.Device >= 0 {
		r.Devices[x.Device].Ended++
		r.Devices[x.Device].ExcessS += x.ExcessS
	}
}

// classify sets the classes of the devices of a fleet and sums up each class.
func (r *Report) classify() {
	fleet := r.Run.Settings.Fleet.Fleet()
	if fleet == nil || len(r.Devices) == 0 {
		return
	}
	// The class of a device does not depend on its data.
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
