package explain

import (
	"math"

	"fedsim/clients"
	"fedsim/data"
	"fedsim/devices"
	"fedsim/network"
	"fedsim/results"
)

// lateness collects the attempts that miss the deadlines of a run, and what responses have
// taken, from which it estimates when the missing ones would have arrived.
type lateness struct {
	missed []results.DeviceRow // of attempts that ended with their rounds, whose length is TimeS
	owed   []float64           // by device: seconds that a response is late so far, to be taken later; NaN: none
	whole  []whole             // by device: its last attempt that lay in one round
	down   float64             // bytes of the largest message that a device received, per attempt
	up     float64             // bytes of the largest response
}

// whole is the computation of an attempt.
type whole struct{ seconds, flops float64 }

func newLateness(devices int) *lateness {
	l := &lateness{owed: make([]float64, devices), whole: make([]whole, devices)}
	for client := range l.owed {
		l.owed[client] = math.NaN()
	}
	return l
}

// add adds a round, and counts in it the devices that missed its deadline.
func (l *lateness) add(r *Report, x *RoundAnalysis, rows []results.DeviceRow) {
	for client := range rows {
		row := &rows[client]
		if row.Attempts == 1 {
			l.down = max(l.down, row.BytesDown)
		}
		if row.Attempts == 1 && row.Responses == 1 {
			l.up, l.whole[client] = max(l.up, row.BytesUp), whole{row.ComputeS, row.FLOPs}
		}
		if owed := &l.owed[client]; !math.IsNaN(*owed) {
			switch {
			case row.Responses > 0:
				r.Devices[client].addLate(*owed+row.ResponseS, false)
				*owed = math.NaN()
			case row.Outcome == results.OutcomeUnderWay:
				*owed += x.LengthS
			default:
				*owed = math.NaN()
			}
		}
		if x.Cause != Deadline || row.Attempts == 0 || row.Taken > 0 {
			continue
		}
		switch row.Outcome {
		case results.OutcomeUnderWay:
			l.owed[client] = 0
		case results.OutcomeLate, results.OutcomeNoTime:
			l.missed = append(l.missed, *row)
			l.missed[len(l.missed)-1].TimeS = x.LengthS
		default:
			continue
		}
		x.Missed++
		r.Devices[client].Missed++
	}
}

// addLate adds a response that was late by s seconds, or by more.
func (t *Total) addLate(s float64, atLeast bool) {
	t.lateS += s
	t.lates++
	t.LateAtLeast = t.LateAtLeast || atLeast
}

// finish estimates when the responses of the attempts that ended with their rounds would have
// arrived: what a row does not have takes the usual time of the device.
func (l *lateness) finish(r *Report) {
	if len(l.missed) == 0 {
		return
	}
	rows, _, _, _, err := data.Sizes(r.Run.Settings.Data)
	if err != nil || len(rows) != len(r.Devices) {
		rows = nil
	}
	usual, perRow := usualTimes(r, rows), 0.0
	for client, w := range l.whole {
		if rows != nil && rows[client] > 0 {
			perRow = max(perRow, w.flops/float64(rows[client]))
		}
	}
	for i := range l.missed {
		row := &l.missed[i]
		part := func(way network.Direction, seconds, moved, size float64) float64 {
			if size > 0 && moved >= size {
				return seconds // over
			}
			latency := 0.0
			if usual != nil {
				latency = min(seconds, usual.transfer(way, row.Device, 0))
				if moved == 0 {
					return max(seconds, usual.transfer(way, row.Device, size))
				}
			}
			if moved == 0 {
				return seconds
			}
			return latency + float64((seconds-latency)*size/moved)
		}
		need := part(network.Down, row.DownlinkS, row.BytesDown, l.down)
		compute, known := row.ComputeS, row.UplinkS > 0
		w := l.whole[row.Device]
		if w.flops == 0 && rows != nil {
			w.flops = perRow * float64(rows[row.Device])
		}
		switch {
		case known:
		case row.ThrottledS > 0 && usual != nil && w.flops > row.FLOPs: // the rest takes its usual time, at least
			compute += usual.compute(row.Device, w.flops-row.FLOPs)
		case w.seconds > 0:
			compute, known = max(compute, w.seconds), true
		case usual != nil && perRow > 0:
			compute, known = max(compute, usual.compute(row.Device, w.flops)), true
		}
		need += compute + row.PollS + part(network.Up, row.UplinkS, row.BytesUp, l.up)
		r.Devices[row.Device].addLate(max(0, need-row.TimeS), !known || usual == nil || l.up == 0)
	}
}

// usual is the system of a run, whose transfers are alone on their links, without jitter.
type usual struct{ *clients.Clients }

// usualTimes returns the system of the run, or nil if its times are not those of bytes and FLOPs.
func usualTimes(r *Report, rows []int32) *usual {
	s := &r.Run.Settings
	if r.Relative || s.Federation.Cost == clients.Authors || s.Network.HubSize > 0 {
		return nil
	}
	system := clients.System{Clients: len(r.Devices), Rows: rows, Devices: s.Devices, Network: s.Network,
		Faults: s.Faults, Fleet: s.Fleet.Fleet(), Seed: r.Run.System}
	c, err := clients.New(clients.Setup{System: system}, clients.Listener{})
	if err != nil {
		return nil
	}
	return &usual{c}
}

func (u *usual) transfer(way network.Direction, client int, bytes float64) float64 {
	return u.Links().Expected(way, client, bytes).Seconds()
}

// compute returns how long a computation takes. It has no overheads of steps and memory traffic.
func (u *usual) compute(client int, flops float64) float64 {
	return u.Fleet().Seconds(client, devices.Work{FLOPs: flops})
}
