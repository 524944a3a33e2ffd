package explain

import (
	"math"
	"strconv"

	"fedsim/experiment/scenario"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/results"
)

// Cause is what ended a round.
type Cause string

const (
	Response Cause = "response" // the last response that the server waited for
	Deadline Cause = "deadline" // the deadline of the round
	Charge   Cause = "charge"   // the time that protocol "charged" charges every device
	Dropout  Cause = "dropout"  // every attempt without a response had failed
	Count    Cause = "count"    // asynchronous: enough responses to count as a round
	Driver   Cause = "driver"   // the program that drives the run, later than the last response
	Unknown  Cause = "unknown"  // the rows do not show what ended a round of a plugin's protocol
)

// Causes lists all causes.
var Causes = []Cause{Response, Deadline, Charge, Dropout, Count, Driver, Unknown}

// Path divides the time of a round, in seconds: along the response that ended the
// round, or waiting for something else to end it.
type Path struct {
	Activities
	ClockS  float64 `json:"clock_s"`  // whole rounds that did not end with a response, or are not known to
	ServerS float64 `json:"server_s"` // server work after the last response
}

func (p *Path) add(q *Path) {
	p.Activities.add(&q.Activities)
	p.ClockS += q.ClockS
	p.ServerS += q.ServerS
}

// RoundAnalysis is the analysis of one round.
type RoundAnalysis struct {
	Round    int     `json:"round"`    // as in rounds.parquet
	LengthS  float64 `json:"length_s"` // seconds since the end of the previous round
	Cause    Cause   `json:"cause"`
	Device   Number  `json:"device"`   // device whose response ended the round; -1: none
	ExcessS  float64 `json:"excess_s"` // seconds between that response and the one before it; 0 if it was the only one
	Path     Path    `json:"path"`
	IdleS    float64 `json:"idle_s"`   // device-seconds of waiting, all devices
	Selected int     `json:"selected"` // devices that the server requested an update from
	Taken    int     `json:"taken"`    // devices with a response that the server used
	Missed   int     `json:"missed"`   // devices that were asked and missed its deadline
	Link     string  `json:"link"`     // shared link that delayed the response which ended the round; empty: none
}

// Number is the number of a device, or -1 for none, which is null in JSON.
type Number int

// MarshalJSON returns the number or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if n < 0 {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

// resolution returns the largest rounding difference of two equal virtual times. The
// clock counts nanoseconds; rows hold seconds rounded to float64.
func resolution(timeS float64) float64 { return 1e-9 + float64(4e-16*timeS) }

// attribute analyzes a round of a run that started at a virtual time.
func attribute(run *scenario.RunSpec, startS float64, rows []results.DeviceRow) RoundAnalysis {
	cfg := &run.Settings.Federation
	x := RoundAnalysis{Round: rows[0].Round, LengthS: rows[0].TimeS - startS, Device: -1}
	responses := 0
	for client := range rows {
		row := &rows[client]
		x.IdleS += row.WaitS
		if row.Attempts > 0 {
			x.Selected++
		}
		if row.Taken > 0 {
			x.Taken++
		}
		if row.Responses > 0 {
			responses++
		}
	}
	last := lastOf(rows)
	if judgedByRows(run) {
		x.Cause = causeByRows(run, &x, rows, last)
	} else {
		x.Cause = cause(cfg, x.LengthS, responses, len(rows), resolution(rows[0].TimeS))
	}
	if x.Cause != Response || last < 0 {
		x.Path.ClockS = x.LengthS
		return x
	}
	x.Device = Number(last)
	if before, ok := latest(rows, last); ok {
		x.ExcessS = rows[last].ResponseS - before
	}
	x.Path = pathOf(&rows[last], x.LengthS, run.Settings.Network.InForce().ServerPollS)
	return x
}

// cause returns what ended a round of the given length and number of responses.
func cause(cfg *federation.Config, lengthS float64, responses, devices int, resolution float64) Cause {
	traits := cfg.Traits()
	switch traits.End {
	case federation.EndsAtDeadline:
		return Deadline
	case federation.EndsWithCharge:
		return Charge
	case federation.EndsWithCount:
		return Count
	default:
		if traits.WaitsForAll {
			return Response
		}
		needed, _ := cfg.Sizes(devices)
		switch {
		case responses >= needed:
			return Response
		case cfg.DeadlineS > 0 && lengthS >= cfg.DeadlineS-resolution:
			return Deadline
		default:
			return Dropout
		}
	}
}

// judgedByRows reports whether a driver ends the rounds, or a plugin's protocol does with
// responses. Only the plugin knows how many, so that the rows decide what ended a round.
func judgedByRows(run *scenario.RunSpec) bool {
	if run.Algorithm == scenario.Driven {
		return true
	}
	cfg := &run.Settings.Federation
	switch cfg.Protocol {
	case federation.WaitForAll, protocols.First:
		return false
	}
	return cfg.Traits().End == federation.EndsWithResponses
}

// causeByRows returns what ended a round: the last response if it arrived at the end of
// the round, the deadline if the round was as long. Work of the server after the round
// hides both.
func causeByRows(run *scenario.RunSpec, x *RoundAnalysis, rows []results.DeviceRow, last int) Cause {
	near, deadline := resolution(rows[0].TimeS), run.Settings.Federation.DeadlineS
	switch {
	case last >= 0 && math.Abs(x.LengthS-rows[last].ResponseS) <= near:
		return Response
	case deadline > 0 && math.Abs(x.LengthS-deadline) <= near:
		return Deadline
	case run.Algorithm == scenario.Driven:
		return Driver
	default:
		return Unknown
	}
}

// lastOf returns the device with the last response, or -1 if there is none. The
// devices of a hub respond together: of these it is the one that waited least.
func lastOf(rows []results.DeviceRow) int {
	last := -1
	for client := range rows {
		row := &rows[client]
		if row.Responses == 0 {
			continue
		}
		if last < 0 || row.ResponseS > rows[last].ResponseS ||
			row.ResponseS == rows[last].ResponseS && row.WaitS < rows[last].WaitS {
			last = client
		}
	}
	return last
}

// latest returns the time of the last response of all devices but one.
func latest(rows []results.DeviceRow, but int) (s float64, ok bool) {
	for client := range rows {
		if row := &rows[client]; client != but && row.Responses > 0 && (!ok || row.ResponseS > s) {
			s, ok = row.ResponseS, true
		}
	}
	return s, ok
}

// pathOf divides the time of a round by the activities of the device with the last
// response, which lay at the server for at most a period of its polls.
func pathOf(row *results.DeviceRow, lengthS, serverPollS float64) Path {
	p := Path{Activities: Activities{
		DownlinkS: row.DownlinkS, ComputeS: row.ComputeS, OverheadS: row.OverheadS, ThrottledS: row.ThrottledS,
		UplinkS: row.UplinkS, PollS: row.PollS,
		DownSharedS: min(row.DownSharedS, row.DownlinkS), UpSharedS: min(row.UpSharedS, row.UplinkS),
	}}
	p.ServerS = beyond(lengthS, row.ResponseS, row.TimeS)
	left := row.ResponseS - p.DownlinkS - p.ComputeS - p.UplinkS - p.PollS
	// Any time beyond the response, the device spent while the server worked.
	p.UnavailableS = min(row.UnavailableS, max(0, left))
	p.DepletedS = min(row.DepletedS, max(0, left-p.UnavailableS))
	p.WaitS = beyond(left, p.UnavailableS+p.DepletedS, row.TimeS)
	seen := min(p.WaitS, serverPollS)
	p.PollS += seen
	p.WaitS -= seen
	return p
}

// beyond returns longer - shorter, or 0 if the difference is within the resolution.
func beyond(longer, shorter, timeS float64) float64 {
	if d := longer - shorter; d > resolution(timeS) {
		return d
	}
	return 0
}
