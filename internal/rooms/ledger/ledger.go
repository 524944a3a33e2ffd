// Package ledger makes rows by device and round out of the journal of a federation. The
// seconds of a row add up to the length of the round. The other values of all rows of a
// round add up to those of the round.
//
// The package must not know why anything happens, nor where rows go.
package ledger

import (
	"math"

	"fedsim/clients"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/results"
)

// Ledger is a journal that makes rows. It allocates nothing after New.
type Ledger struct {
	write    func([]results.DeviceRow) error
	accounts []account
	rows     []results.DeviceRow // of the open round, seconds aside
	began    engine.Time         // when the round before ended
	err      error
}

var _ federation.Journal = (*Ledger)(nil)

// New returns a ledger for a number of devices. At the end of each round it calls write
// with a row for each device, in their order. The slice is reused. After an error of
// write it writes nothing more.
func New(devices int, write func([]results.DeviceRow) error) *Ledger {
	l := &Ledger{write: write, accounts: make([]account, devices), rows: make([]results.DeviceRow, devices)}
	for client := range l.rows {
		l.rows[client] = results.NewDeviceRow(client)
	}
	return l
}

// Err returns the first error of write.
func (l *Ledger) Err() error { return l.err }

// account is the state of a device in the open round.
type account struct {
	spent  [clients.Depleted + 1]engine.Time // time by activity
	atWork bool                              // an attempt is under way
	why    clients.Reason                    // why it has brought no response in this round; 0: no reason so far
	// its response has arrived, and the server has neither taken nor refused it
	response bool
	steps    int64 // of the work of that response
}

// Note posts an entry.
func (l *Ledger) Note(e federation.Entry) {
	if e.Device == engine.Server {
		if e.Kind == federation.RoundEnded {
			l.close(e)
		}
		return
	}
	a, row := &l.accounts[e.Device], &l.rows[e.Device]
	switch e.Kind {
	case federation.ActivitySpan:
		a.spent[e.Activity] += e.To - e.From
		switch e.Activity {
		case clients.Downlink:
			row.BytesDown += e.Amount
			row.DownSharedS += e.Shared.Seconds()
		case clients.Compute:
			row.FLOPs += e.Amount
			row.OverheadS += float64((e.To - e.From).Seconds() * e.Overhead)
			row.ThrottledS += e.Throttled.Seconds()
		case clients.Uplink:
			row.BytesUp += e.Amount
			row.UpSharedS += e.Shared.Seconds()
		}
	case federation.AttemptStarted:
		row.Attempts++
		a.atWork, a.response = true, false
	case federation.ResponseArrived:
		a.atWork, a.response, a.steps = false, true, int64(e.Amount)
		a.count(row, e.To-l.began)
	case federation.AttemptFailed:
		a.atWork, a.why = false, e.Why
	case federation.UpdateTaken:
		if row.Taken++; row.Taken == 1 {
			row.Staleness = 0
		}
		row.Staleness += e.Amount
		a.response = false
	case federation.UpdateRefused:
		row.Outcome = results.OutcomeRefused
		a.response = false
	case federation.ResponseRead:
		a.response = false
	case federation.ClientDropped:
		row.Dropped++
		a.why = e.Why
	case federation.ResponseLate:
		row.Late++
	case federation.ThetaMeasured:
		row.Theta = e.Amount
	case federation.EnergyUsed:
		row.EnergyJ += e.Amount
	}
}

// count counts the response that has arrived, at a time after the start of the round.
func (a *account) count(row *results.DeviceRow, after engine.Time) {
	row.Responses++
	row.Steps += a.steps
	row.ResponseS = after.Seconds()
}

// postpone removes a response from a round that has neither taken nor refused it. It
// arrived while the server computed, and belongs to the next round.
func (a *account) postpone(row *results.DeviceRow) {
	row.Responses--
	row.Steps -= a.steps
	row.ResponseS = math.NaN()
}

// outcomes are the outcomes by reason of failure.
var outcomes = [...]results.Outcome{
	0:                         results.OutcomeNotSelected,
	clients.DroppedOut:        results.OutcomeDropped,
	clients.MessageLost:       results.OutcomeMessageLost,
	clients.BecameUnavailable: results.OutcomeUnavailable,
	clients.BatteryDepleted:   results.OutcomeDepleted,
	clients.Canceled:          results.OutcomeLate,
	clients.NoTime:            results.OutcomeNoTime,
	clients.BatteryLow:        results.OutcomeLowBattery,
	clients.TimedOut:          results.OutcomeTimedOut,
}

// outcome returns how the round ends for a device. An accepted update counts before a
// failure on the way to it.
func (a *account) outcome(row *results.DeviceRow) results.Outcome {
	switch {
	case row.Taken > 0:
		return results.OutcomeAccepted
	case row.Outcome == results.OutcomeRefused:
		return results.OutcomeRefused
	case a.atWork || a.response:
		return results.OutcomeUnderWay
	default:
		return outcomes[a.why]
	}
}

// close ends the round.
func (l *Ledger) close(e federation.Entry) {
	for client := range l.accounts {
		a, row := &l.accounts[client], &l.rows[client]
		if a.response {
			a.postpone(row)
		}
		row.Round, row.TimeS, row.Outcome = int(e.Round), e.To.Seconds(), a.outcome(row)
		row.WaitS, row.DownlinkS, row.ComputeS = a.spent[clients.Idle].Seconds(), a.spent[clients.Downlink].Seconds(),
			a.spent[clients.Compute].Seconds()
		row.UplinkS, row.PollS, row.UnavailableS = a.spent[clients.Uplink].Seconds(),
			a.spent[clients.Waiting].Seconds(), a.spent[clients.Unavailable].Seconds()
		row.DepletedS = a.spent[clients.Depleted].Seconds()
		if row.Taken > 0 {
			row.Staleness /= float64(row.Taken)
		}
	}
	if l.err == nil {
		l.err = l.write(l.rows)
	}
	for client := range l.rows {
		a := &l.accounts[client]
		l.rows[client] = results.NewDeviceRow(client)
		if a.response {
			a.count(&l.rows[client], 0)
		}
		a.spent, a.why = account{}.spent, 0
	}
	l.began = e.To
}
