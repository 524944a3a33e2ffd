package explain

import (
	"fedsim/federation"
	"fedsim/results"
	"fedsim/scenarios"
)

// Cause is what ended a round.
type Cause string

const (
	Response Cause = "response" // the last answer that the server waited for
	Deadline Cause = "deadline" // the clock cycle was over
	Charge   Cause = "charge"   // the time was over that every device is charged
	Dropout  Cause = "dropout"  // no other answer could come any more
	Count    Cause = "count"    // without rounds: as many answers had come as make one; nobody waited for any
)

// Causes are all of them.
var Causes = []Cause{Response, Deadline, Charge, Dropout, Count}

// Path is what the time of a round was spent on, in seconds that add up to it: on
// the way of the answer that ended it, or on waiting for something else to end it.
type Path struct {
	DownlinkS    float64 // receiving, all attempts of the device in the round
	ComputeS     float64
	UplinkS      float64
	WaitS        float64 // the device waits to be asked, or asked again, or for its hub
	UnavailableS float64 // it is out of reach
	DepletedS    float64 // its battery is empty
	ClockS       float64 // of rounds that no answer ended: until they did
	ServerS      float64 // the server's own work after the last answer
}

func (p *Path) add(q *Path) {
	p.DownlinkS += q.DownlinkS
	p.ComputeS += q.ComputeS
	p.UplinkS += q.UplinkS
	p.WaitS += q.WaitS
	p.UnavailableS += q.UnavailableS
	p.DepletedS += q.DepletedS
	p.ClockS += q.ClockS
	p.ServerS += q.ServerS
}

// Round is what held up one round.
type Round struct {
	Round    int     // as in rounds.csv
	LengthS  float64 // since the round before ended, seconds
	Cause    Cause
	Device   int     // whose answer ended it; -1: none did
	ExcessS  float64 // by how much that answer came after the one before; 0 when it was the only one
	Path     Path
	IdleS    float64 // device-seconds of waiting, all devices
	Selected int     // devices that the server asked
	Taken    int     // devices whose answer it took
}

// rules are what decides how rounds end.
type rules struct {
	config federation.Config // its Protocol is the run's
}

func newRules(run *scenarios.Run) rules {
	return rules{run.Settings.Federation}
}

// resolution is how far apart two sums of virtual times may be that mean the same:
// the clock counts nanoseconds, rows have seconds rounded to a float64.
func resolution(timeS float64) float64 { return 1e-9 + float64(4e-16*timeS) }

// attribute says what held up a round that began at a time.
func (r *rules) attribute(began float64, rows []results.DeviceRow) Round {
	x := Round{Round: rows[0].Round, LengthS: rows[0].TimeS - began, Device: -1}
	answers := 0
	for t := range rows {
		row := &rows[t]
		x.IdleS += row.WaitS
		if row.Attempts > 0 {
			x.Selected++
		}
		if row.Taken > 0 {
			x.Taken++
		}
		if row.Answers > 0 {
			answers++
		}
	}
	x.Cause = r.cause(x.LengthS, answers, len(rows), resolution(rows[0].TimeS))
	if x.Cause != Response {
		x.Path.ClockS = x.LengthS
		return x
	}
	last := lastOf(rows)
	if last < 0 {
		x.Path.ClockS = x.LengthS
		return x
	}
	x.Device = last
	if before, ok := latest(rows, last); ok {
		x.ExcessS = rows[last].AnsweredS - before
	}
	x.Path = pathOf(&rows[last], x.LengthS)
	return x
}

// cause says what ended a round of so many seconds and answers.
func (r *rules) cause(lengthS float64, answers, devices int, resolution float64) Cause {
	switch r.config.Protocol {
	case federation.Deadline:
		return Deadline
	case federation.Charged:
		return Charge
	case federation.First:
		wanted, _ := r.config.Sizes(devices)
		switch {
		case answers >= wanted:
			return Response
		case r.config.DeadlineS > 0 && lengthS >= r.config.DeadlineS-resolution:
			return Deadline
		default:
			return Dropout
		}
	case federation.Asynchronous:
		return Count
	default:
		return Response
	}
}

// lastOf returns the device whose answer came last. Of those that share a hub, whose
// answers come together, it is the one that waited least. -1: no answer came.
func lastOf(rows []results.DeviceRow) int {
	last := -1
	for t := range rows {
		row := &rows[t]
		if row.Answers == 0 {
			continue
		}
		if last < 0 || row.AnsweredS > rows[last].AnsweredS ||
			row.AnsweredS == rows[last].AnsweredS && row.WaitS < rows[last].WaitS {
			last = t
		}
	}
	return last
}

// latest returns when the last answer of all devices but one came.
func latest(rows []results.DeviceRow, but int) (s float64, ok bool) {
	for t := range rows {
		if row := &rows[t]; t != but && row.Answers > 0 && (!ok || row.AnsweredS > s) {
			s, ok = row.AnsweredS, true
		}
	}
	return s, ok
}

// pathOf splits the time of a round by what the device of its last answer did until
// then.
func pathOf(row *results.DeviceRow, lengthS float64) Path {
	p := Path{DownlinkS: row.DownlinkS, ComputeS: row.ComputeS, UplinkS: row.UplinkS}
	p.ServerS = beyond(lengthS, row.AnsweredS, row.TimeS)
	left := row.AnsweredS - p.DownlinkS - p.ComputeS - p.UplinkS
	// What does not fit in before the answer, the device did while the server worked.
	p.UnavailableS = min(row.AwayS, max(0, left))
	p.DepletedS = min(row.FlatS, max(0, left-p.UnavailableS))
	p.WaitS = beyond(left, p.UnavailableS+p.DepletedS, row.TimeS)
	return p
}

// beyond returns by how much a time is longer than another; 0 when it only seems so.
func beyond(longer, shorter, timeS float64) float64 {
	if d := longer - shorter; d > resolution(timeS) {
		return d
	}
	return 0
}
