// Package ledger posts what a federation's journal tells to an account for each
// device, and closes the accounts with each round: rows by device and round whose
// seconds add up to the round and whose other figures add up to the round's.
//
// It must not know why anything happens, nor where rows go.
package ledger

import (
	"math"

	"fedsim/engine"
	"fedsim/federation"
	"fedsim/results"
)

// Ledger is a journal that makes rows. It sees no more of a run than the journal
// tells, and allocates nothing after it was made.
type Ledger struct {
	write    func([]results.DeviceRow) error
	accounts []account
	rows     []results.DeviceRow // of the open round, seconds aside
	began    engine.Time         // when the round before ended
	err      error
}

var _ federation.Journal = (*Ledger)(nil)

// New returns a ledger for so many devices. At the end of each round it hands
// write a row for each device, in their order; the slice is used again afterwards.
// After an error of write nothing more is written.
func New(devices int, write func([]results.DeviceRow) error) *Ledger {
	l := &Ledger{write: write, accounts: make([]account, devices), rows: make([]results.DeviceRow, devices)}
	for t := range l.rows {
		l.rows[t] = results.NewDeviceRow(t)
	}
	return l
}

// Err returns the first error of write.
func (l *Ledger) Err() error { return l.err }

// state is what a device can be at.
type state uint8

const (
	waiting state = iota
	downloading
	computing
	uploading
	away
	flat
	states
)

// account is what is known of a device.
type account struct {
	since     engine.Time // up to when its time is spent
	spent     [states]engine.Time
	doing     state // at work or waiting; continued when it is back
	away      bool
	flat      bool
	why       federation.Loss // why it has brought no answer in this round; 0: for no reason so far
	delivered bool            // its answer is there, and the server has neither taken nor refused it
	steps     int64           // behind the answer that is delivered
}

// at returns what the device's time is spent on.
func (a *account) at() state {
	switch {
	case a.flat:
		return flat
	case a.away:
		return away
	default:
		return a.doing
	}
}

// spend books the time up to now.
func (a *account) spend(now engine.Time) {
	a.spent[a.at()] += now - a.since
	a.since = now
}

// advance lets the device, whose stretch of work is over, go on to the next. Who is
// away or flat has been interrupted, and goes on with the same when it is back.
func (a *account) advance(next state) {
	if !a.away && !a.flat {
		a.doing = next
	}
}

// Note posts an entry.
func (l *Ledger) Note(e federation.Entry) {
	if e.Device == engine.Server {
		if e.Kind == federation.Closed {
			l.close(e)
		}
		return
	}
	a, row := &l.accounts[e.Device], &l.rows[e.Device]
	a.spend(e.To)
	switch e.Kind {
	case federation.Asked:
		row.Attempts++
		a.doing, a.delivered = downloading, false
	case federation.Received:
		row.BytesDown += e.Amount
		a.advance(computing)
	case federation.Computed:
		row.FLOPs += e.Amount
		a.advance(uploading)
	case federation.Sent:
		row.BytesUp += e.Amount
		a.advance(waiting)
	case federation.Answered:
		a.doing, a.delivered, a.steps = waiting, true, int64(e.Amount)
		a.deliver(row, e.To-l.began)
	case federation.Lost:
		a.doing, a.why = waiting, e.Why
	case federation.Taken:
		row.Taken++
		a.delivered = false
	case federation.Refused:
		row.Outcome = results.OutcomeRefused
		a.delivered = false
	case federation.Missed:
		row.Dropped++
		a.why = e.Why
	case federation.Late:
		row.Late++
	case federation.Measured:
		row.Theta = e.Amount
	case federation.GoneAway:
		a.away = true
	case federation.BackAgain:
		a.away = false
	case federation.WentFlat:
		a.flat = true
	case federation.Recharged:
		a.flat = false
	case federation.Spent:
		row.EnergyJ += e.Amount
	}
}

// deliver books the answer that is there, so long after the round began.
func (a *account) deliver(row *results.DeviceRow, after engine.Time) {
	row.Responses++
	row.Steps += a.steps
	row.ResponseS = after.Seconds()
}

// postpone takes the answer out of a round that has neither taken nor refused it: it
// came while the server computed, and is one of the next round.
func (a *account) postpone(row *results.DeviceRow) {
	row.Responses--
	row.Steps -= a.steps
	row.ResponseS = math.NaN()
}

// outcomes are the names of losses.
var outcomes = [...]results.Outcome{
	0:                    results.OutcomeNotSelected,
	federation.Dropped:   results.OutcomeDropped,
	federation.Message:   results.OutcomeMessageLost,
	federation.Away:      results.OutcomeUnavailable,
	federation.Flat:      results.OutcomeDepleted,
	federation.OutOfTime: results.OutcomeLate,
	federation.NoTime:    results.OutcomeNoTime,
	federation.Low:       results.OutcomeLowBattery,
}

// outcome returns how the round ends for a device. What has been achieved counts
// before what was lost on the way.
func (a *account) outcome(row *results.DeviceRow) results.Outcome {
	switch {
	case row.Taken > 0:
		return results.OutcomeAccepted
	case row.Outcome == results.OutcomeRefused:
		return results.OutcomeRefused
	case a.doing != waiting || a.delivered:
		return results.OutcomeUnderWay
	default:
		return outcomes[a.why]
	}
}

// close ends the round.
func (l *Ledger) close(e federation.Entry) {
	for t := range l.accounts {
		a, row := &l.accounts[t], &l.rows[t]
		a.spend(e.To)
		if a.delivered {
			a.postpone(row)
		}
		row.Round, row.TimeS, row.Outcome = int(e.Round), e.To.Seconds(), a.outcome(row)
		row.WaitS, row.DownlinkS, row.ComputeS = a.spent[waiting].Seconds(), a.spent[downloading].Seconds(), a.spent[computing].Seconds()
		row.UplinkS, row.UnavailableS, row.DepletedS = a.spent[uploading].Seconds(), a.spent[away].Seconds(), a.spent[flat].Seconds()
	}
	if l.err == nil {
		l.err = l.write(l.rows)
	}
	for t := range l.rows {
		a := &l.accounts[t]
		l.rows[t] = results.NewDeviceRow(t)
		if a.delivered {
			a.deliver(&l.rows[t], 0)
		}
		a.spent, a.why = [states]engine.Time{}, 0
	}
	l.began = e.To
}
