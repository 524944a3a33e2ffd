package explain

import (
	"cmp"
	"slices"
	"strconv"

	"fedsim/results"
)

// Total sums up the activity of one or more devices in a run. Seconds and counts are sums
// over the devices, except ResponseS: the mean response time since the start of a round,
// over rounds with a request or a response. A missing response counts until the end of its
// round.
type Total struct {
	Ended     int     `json:"ended"`      // rounds that ended with their response
	ExcessS   float64 `json:"excess_s"`   // sum of Round.ExcessS over these rounds
	ResponseS float64 `json:"response_s"` // mean response time
	Selected  int     `json:"selected"`   // rounds in which the server requested an update
	Taken     int     `json:"taken"`      // rounds in which the server used a response
	Dropped   int     `json:"dropped"`    // as in rounds.parquet
	Late      int     `json:"late"`       // as in rounds.parquet
	Missed    int     `json:"missed"`     // rounds whose deadline it missed
	LateByS   float64 `json:"late_by_s"`  // by so much on average; estimated where the round ended its attempt
	// whether it was later than LateByS: where no response of a device says how long its work takes
	LateAtLeast bool `json:"late_at_least"`
	Activities
	WaitShare float64 `json:"wait_share"` // fraction of the time spent waiting
	EnergyJ   float64 `json:"energy_j"`

	responseS float64 // sum of the response times
	responses int     // rounds in responseS
	lateS     float64 // sum of how late its responses were
	lates     int     // responses in lateS
}

// Activities are the seconds that devices spend on each activity.
type Activities struct {
	DownlinkS float64 `json:"downlink_s"` // receiving, over all attempts
	ComputeS  float64 `json:"compute_s"`
	OverheadS float64 `json:"overhead_s"` // the part of ComputeS that is not FLOPs at the device's rate
	// the part of ComputeS at less than the usual speed, by heat or a device model
	ThrottledS float64 `json:"throttled_s"`
	UplinkS    float64 `json:"uplink_s"`
	// waiting within an attempt for a poll; of a Path also that of the server for the response
	PollS        float64 `json:"poll_s"`
	WaitS        float64 `json:"wait_s"` // waiting for a request, a retry or the hub
	UnavailableS float64 `json:"unavailable_s"`
	DepletedS    float64 `json:"depleted_s"` // with an empty battery
	// the part of DownlinkS and UplinkS that transfers took longer than alone on shared links
	DownSharedS float64 `json:"down_shared_s"`
	UpSharedS   float64 `json:"up_shared_s"`
}

func (a *Activities) add(b *Activities) {
	a.DownlinkS += b.DownlinkS
	a.ComputeS += b.ComputeS
	a.OverheadS += b.OverheadS
	a.ThrottledS += b.ThrottledS
	a.UplinkS += b.UplinkS
	a.PollS += b.PollS
	a.WaitS += b.WaitS
	a.UnavailableS += b.UnavailableS
	a.DepletedS += b.DepletedS
	a.DownSharedS += b.DownSharedS
	a.UpSharedS += b.UpSharedS
}

// finish sets ResponseS, LateByS and WaitShare, which are 0 without a round or without time.
func (t *Total) finish() {
	if t.responses > 0 {
		t.ResponseS = t.responseS / float64(t.responses)
	}
	if t.lates > 0 {
		t.LateByS = t.lateS / float64(t.lates)
	}
	t.WaitShare = share(t.WaitS, t.DownlinkS+t.ComputeS+t.UplinkS+t.PollS+t.WaitS+t.UnavailableS+t.DepletedS)
}

func (t *Total) add(o *Total) {
	t.Ended += o.Ended
	t.ExcessS += o.ExcessS
	t.Selected += o.Selected
	t.Taken += o.Taken
	t.Dropped += o.Dropped
	t.Late += o.Late
	t.Missed += o.Missed
	t.LateAtLeast = t.LateAtLeast || o.LateAtLeast
	t.lateS += o.lateS
	t.lates += o.lates
	t.Activities.add(&o.Activities)
	t.EnergyJ += o.EnergyJ
	t.responseS += o.responseS
	t.responses += o.responses
}

// Device is the total of one device.
type Device struct {
	Device int    `json:"device"`         // number, from 0
	Name   string `json:"name,omitempty"` // of its client in the data; empty: the data have none
	Class  string `json:"class"`          // of the fleet; empty without a fleet
	Total
}

// label returns the name of a device in tables.
func (d *Device) label() string { return cmp.Or(d.Name, strconv.Itoa(d.Device)) }

// label returns the name of a device in sentences.
func (r *Report) label(client int) string {
	if client < len(r.Devices) {
		return r.Devices[client].label()
	}
	return strconv.Itoa(client)
}

// NameDevices names the devices after the clients of the data of the run.
func (r *Report) NameDevices(run *results.Run) {
	if !run.Data.NamesClients() {
		return
	}
	for client := range r.Devices {
		r.Devices[client].Name = run.ClientName(client)
	}
}

// Class is the total of one device class of a fleet.
type Class struct {
	Name    string `json:"name"`
	Devices int    `json:"devices"`
	Total
}

// Slowest returns the devices by decreasing ResponseS, then by number.
func (r *Report) Slowest() []int {
	return r.sorted(func(a, b *Device) int { return cmp.Compare(b.ResponseS, a.ResponseS) })
}

// Stragglers returns the devices by decreasing ExcessS, then by decreasing Ended, Missed, LateByS and
// ResponseS, then by number.
func (r *Report) Stragglers() []int {
	return r.sorted(func(a, b *Device) int {
		return cmp.Or(cmp.Compare(b.ExcessS, a.ExcessS), cmp.Compare(b.Ended, a.Ended),
			cmp.Compare(b.Missed, a.Missed), cmp.Compare(b.LateByS, a.LateByS), cmp.Compare(b.ResponseS, a.ResponseS))
	})
}

// sorted returns the numbers of the devices in an order.
func (r *Report) sorted(compare func(a, b *Device) int) []int {
	order := make([]int, len(r.Devices))
	for client := range order {
		order[client] = client
	}
	slices.SortStableFunc(order, func(a, b int) int { return compare(&r.Devices[a], &r.Devices[b]) })
	return order
}

// count adds a round to the totals of its devices.
func (r *Report) count(x *RoundAnalysis, rows []results.DeviceRow) {
	for client := range rows {
		row, d := &rows[client], &r.Devices[client]
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
		d.Activities.add(&Activities{row.DownlinkS, row.ComputeS, row.OverheadS, row.ThrottledS, row.UplinkS, row.PollS,
			row.WaitS, row.UnavailableS, row.DepletedS, row.DownSharedS, row.UpSharedS})
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

// finish sets the means and the total of the devices, and the classes of the devices of a fleet.
func (r *Report) finish() {
	if r.late != nil {
		r.late.finish(r)
	}
	if r.sharing != nil {
		r.Shared = r.sharing.finish(r.TimeS)
	}
	r.late, r.sharing = nil, nil
	for client := range r.Devices {
		r.All.add(&r.Devices[client].Total)
		r.Devices[client].finish()
	}
	r.All.finish()
	fleet := r.Run.Settings.Fleet.Fleet()
	if fleet == nil || len(r.Devices) == 0 {
		return
	}
	// The class of a device does not depend on its data.
	machines, _ := fleet.Assemble(len(r.Devices), nil, r.Run.System)
	for _, c := range fleet.Classes {
		r.Classes = append(r.Classes, Class{Name: c.Name})
	}
	for client := range r.Devices {
		d, c := &r.Devices[client], &r.Classes[machines.Class[client]]
		d.Class = c.Name
		c.Devices++
		c.add(&d.Total)
	}
	for i := range r.Classes {
		r.Classes[i].finish()
	}
}
