package ledger

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fedsim/clients"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/internal/tools/expect"
	"fedsim/results"
)

// at returns an entry at so many seconds, in round 1.
func at(s float64, kind federation.EntryKind, device int, amount float64) federation.Entry {
	now := engine.FromSeconds(s)
	return federation.Entry{Kind: kind, Device: int32(device), Round: 1, From: now, To: now, Amount: amount}
}

func why(s float64, kind federation.EntryKind, device int, why clients.Reason) federation.Entry {
	e := at(s, kind, device, 0)
	e.Why = why
	return e
}

// span returns an entry of an activity between two times in seconds.
func span(from, to float64, a clients.Activity, device int, amount float64) federation.Entry {
	e := at(to, federation.ActivitySpan, device, amount)
	e.Activity, e.From = a, engine.FromSeconds(from)
	return e
}

// part is a span that is cut.
func part(from, to float64, a clients.Activity, device int, amount float64) federation.Entry {
	e := span(from, to, a, device, amount)
	e.Cut = true
	return e
}

// post returns the rows that a ledger for a number of devices makes of entries. Between
// the spans of a device it is idle.
func post(devices int, entries ...federation.Entry) []results.DeviceRow {
	until := make([]engine.Time, devices)
	var all []federation.Entry
	idle := func(device int, e federation.Entry) {
		if until[device] < e.From {
			all = append(all,
				federation.Entry{Kind: federation.ActivitySpan, Device: int32(device), Round: e.Round,
					From: until[device], To: e.From})
		}
		until[device] = e.To
	}
	for _, e := range entries {
		switch e.Kind {
		case federation.ActivitySpan:
			idle(int(e.Device), e)
		case federation.RoundEnded:
			for client := range devices {
				idle(client, e)
			}
		}
		all = append(all, e)
	}
	return rowsOf(devices, all)
}

// rowsOf returns the rows that a ledger makes of entries.
func rowsOf(devices int, entries []federation.Entry) []results.DeviceRow {
	var rows []results.DeviceRow
	l := New(devices, func(r []results.DeviceRow) error {
		rows = append(rows, r...)
		return nil
	})
	for _, e := range entries {
		l.Note(e)
	}
	return rows
}

// slow returns a span of computing of which a share is overheads.
func slow(e federation.Entry, share float64) federation.Entry {
	e.Overhead = share
	return e
}

// Each thing that can happen to a device, and the row it makes.
func TestARowForEachOutcome(t *testing.T) {
	const server = engine.Server
	type row = results.DeviceRow
	nan := math.NaN()
	for _, c := range []struct {
		name    string
		entries []federation.Entry
		want    row
	}{
		{"overheads, in a cut span too", []federation.Entry{
			slow(span(2, 4, clients.Compute, 0, 0), 0.25), slow(span(4, 5, clients.Compute, 0, 7), 0.5),
		}, row{Outcome: results.OutcomeNotSelected, ResponseS: nan, WaitS: 7, ComputeS: 3, OverheadS: 1, FLOPs: 7}},
		{"not asked", nil, row{Outcome: results.OutcomeNotSelected, WaitS: 10, ResponseS: nan}},
		{"answered", []federation.Entry{
			at(1, federation.AttemptStarted, 0, 0), span(1, 2, clients.Downlink, 0, 100),
			span(2, 5, clients.Compute, 0, 3e6), span(5, 7, clients.Uplink, 0, 50),
			at(7, federation.ResponseArrived, 0, 30), at(9, federation.ThetaMeasured, 0, 0.25),
			at(9, federation.UpdateTaken, 0, 0), at(10, federation.EnergyUsed, 0, 4),
		}, row{Outcome: results.OutcomeAccepted, Attempts: 1, Responses: 1, Taken: 1, ResponseS: 7, WaitS: 1 + 3,
			DownlinkS: 1, ComputeS: 3, UplinkS: 2, Steps: 30, Theta: 0.25, FLOPs: 3e6, BytesDown: 100, BytesUp: 50,
			EnergyJ: 4}},
		{"dropped at once, then answered", []federation.Entry{
			at(0, federation.AttemptStarted, 0, 0), why(0, federation.AttemptFailed, 0, clients.DroppedOut),
			why(0, federation.ClientDropped, 0, clients.DroppedOut), at(4, federation.AttemptStarted, 0, 0),
			span(4, 5, clients.Downlink, 0, 100), span(5, 6, clients.Compute, 0, 1), span(6, 8, clients.Uplink, 0, 50),
			at(8, federation.ResponseArrived, 0, 3),
			at(9, federation.UpdateTaken, 0, 0),
		}, row{Outcome: results.OutcomeAccepted, Attempts: 2, Responses: 1, Taken: 1, Dropped: 1, ResponseS: 8,
			WaitS: 4 + 2, DownlinkS: 1, ComputeS: 1, UplinkS: 2, Steps: 3, FLOPs: 1, BytesDown: 100, BytesUp: 50}},
		{"message lost", []federation.Entry{
			at(0, federation.AttemptStarted, 0, 0), span(0, 3, clients.Downlink, 0, 100),
			why(3, federation.AttemptFailed, 0, clients.MessageLost),
			why(3, federation.ClientDropped, 0, clients.MessageLost),
		}, row{Outcome: results.OutcomeMessageLost, Attempts: 1, Dropped: 1, ResponseS: nan, DownlinkS: 3, WaitS: 7,
			BytesDown: 100}},
		{"no time", []federation.Entry{
			at(0, federation.AttemptStarted, 0, 0), span(0, 3, clients.Downlink, 0, 100),
			why(3, federation.AttemptFailed, 0, clients.NoTime), at(10, federation.ResponseLate, 0, 0),
		},
			row{Outcome: results.OutcomeNoTime, Attempts: 1, Late: 1, ResponseS: nan, DownlinkS: 3, WaitS: 7,
				BytesDown: 100}},
		{"late", []federation.Entry{
			at(0, federation.AttemptStarted, 0, 0), span(0, 3, clients.Downlink, 0, 100),
			at(10, federation.ResponseLate, 0, 0), span(3, 10, clients.Compute, 0, 7),
			why(10, federation.AttemptFailed, 0, clients.Canceled),
		},
			row{Outcome: results.OutcomeLate, Attempts: 1, Late: 1, ResponseS: nan, DownlinkS: 3, ComputeS: 7,
				BytesDown: 100, FLOPs: 7}},
		{"refused", []federation.Entry{
			at(0, federation.AttemptStarted, 0, 0), span(0, 1, clients.Downlink, 0, 1),
			span(1, 2, clients.Compute, 0, 1), span(2, 3, clients.Uplink, 0, 1),
			at(3, federation.ResponseArrived, 0, 1), at(3, federation.UpdateRefused, 0, 0),
			at(3, federation.ResponseLate, 0, 0),
		}, row{Outcome: results.OutcomeRefused, Attempts: 1, Responses: 1, Late: 1, ResponseS: 3, DownlinkS: 1,
			ComputeS: 1, UplinkS: 1, WaitS: 7, Steps: 1, FLOPs: 1, BytesDown: 1, BytesUp: 1}},
		{"under way", []federation.Entry{
			at(2, federation.AttemptStarted, 0, 0), span(2, 3, clients.Downlink, 0, 1),
			at(10, federation.ResponseLate, 0, 0), part(3, 10, clients.Compute, 0, 0),
		},
			row{Outcome: results.OutcomeUnderWay, Attempts: 1, Late: 1, ResponseS: nan, WaitS: 2, DownlinkS: 1,
				ComputeS: 7, BytesDown: 1}},
		{"answered for the next round", []federation.Entry{
			at(0, federation.AttemptStarted, 0, 0), span(0, 1, clients.Downlink, 0, 1),
			span(1, 2, clients.Compute, 0, 1), span(2, 3, clients.Uplink, 0, 1),
			at(3, federation.ResponseArrived, 0, 1),
		}, row{Outcome: results.OutcomeUnderWay, Attempts: 1, ResponseS: nan, DownlinkS: 1, ComputeS: 1, UplinkS: 1,
			WaitS: 7, FLOPs: 1, BytesDown: 1, BytesUp: 1}},
		{"away from the beginning", []federation.Entry{
			why(1, federation.ClientDropped, 0, clients.BecameUnavailable), span(0, 6, clients.Unavailable, 0, 0),
		}, row{Outcome: results.OutcomeUnavailable, Dropped: 1, ResponseS: nan, UnavailableS: 6, WaitS: 4}},
		{"interrupted, then resumed", []federation.Entry{
			at(0, federation.AttemptStarted, 0, 0), span(0, 1, clients.Downlink, 0, 1),
			span(1, 4, clients.Compute, 0, 3), span(4, 6, clients.Unavailable, 0, 0),
			span(6, 7, clients.Compute, 0, 1), span(7, 9, clients.Uplink, 0, 1),
			at(9, federation.ResponseArrived, 0, 2), at(10, federation.UpdateTaken, 0, 0),
		}, row{Outcome: results.OutcomeAccepted, Attempts: 1, Responses: 1, Taken: 1, ResponseS: 9, DownlinkS: 1,
			ComputeS: 3 + 1, UnavailableS: 2, UplinkS: 2, WaitS: 1, Steps: 2, FLOPs: 4, BytesDown: 1, BytesUp: 1}},
		{"interrupted, and loses it", []federation.Entry{
			at(0, federation.AttemptStarted, 0, 0), span(0, 4, clients.Downlink, 0, 3),
			why(4, federation.AttemptFailed, 0, clients.BecameUnavailable),
			why(4, federation.ClientDropped, 0, clients.BecameUnavailable), span(4, 6, clients.Unavailable, 0, 0),
		},
			row{Outcome: results.OutcomeUnavailable, Attempts: 1, Dropped: 1, ResponseS: nan, DownlinkS: 4,
				UnavailableS: 2, WaitS: 4, BytesDown: 3}},
		{"flat at work, charged while away", []federation.Entry{
			at(0, federation.AttemptStarted, 0, 0), span(0, 4, clients.Downlink, 0, 3),
			why(4, federation.ClientDropped, 0, clients.BatteryDepleted),
			why(4, federation.AttemptFailed, 0, clients.BatteryDepleted), span(4, 5, clients.Depleted, 0, 0),
			span(5, 7, clients.Depleted, 0, 0), span(7, 9, clients.Unavailable, 0, 0),
		}, row{Outcome: results.OutcomeDepleted, Attempts: 1, Dropped: 1, ResponseS: nan, DownlinkS: 4, DepletedS: 3,
			UnavailableS: 2, WaitS: 1, BytesDown: 3}},
		{"lost on its hub's way", []federation.Entry{why(3, federation.ClientDropped, 0, clients.MessageLost)},
			row{Outcome: results.OutcomeMessageLost, Dropped: 1, ResponseS: nan, WaitS: 10}},
		{"low battery", []federation.Entry{why(1, federation.ClientDropped, 0, clients.BatteryLow)},
			row{Outcome: results.OutcomeLowBattery, Dropped: 1, ResponseS: nan, WaitS: 10}},
	} {
		c.want.Round, c.want.TimeS = 1, 10
		if c.want.Theta == 0 {
			c.want.Theta = nan
		}
		got := post(1, append(c.entries, at(10, federation.RoundEnded, server, 0))...)
		d := cmp.Diff(withStaleness(c.want), got, cmpopts.EquateNaNs())
		expect.That(t, d == "", "%s: %s", c.name, d)
	}
}

// withStaleness completes rows: those without an update have no staleness.
func withStaleness(rows ...results.DeviceRow) []results.DeviceRow {
	for i := range rows {
		if rows[i].Taken == 0 {
			rows[i].Staleness = math.NaN()
		}
	}
	return rows
}

// The staleness of a row is the mean over its updates.
func TestStalenessOfUpdates(t *testing.T) {
	aged := func(e federation.Entry, age float64) federation.Entry { e.Amount = age; return e }
	rows := post(1, aged(at(1, federation.UpdateTaken, 0, 0), 4), aged(at(2, federation.UpdateTaken, 0, 0), 7),
		at(3, federation.RoundEnded, engine.Server, 0))
	expect.That(t, rows[0].Taken == 2 && rows[0].Staleness == 5.5, "%d updates of staleness %g", rows[0].Taken,
		rows[0].Staleness)
}

// An activity that extends over rounds counts in each for its time there. The next round
// has nothing else of the round before.
func TestRoundsAreSeparate(t *testing.T) {
	next := func(e federation.Entry) federation.Entry { e.Round = 2; return e }
	rows := post(2,
		at(0, federation.AttemptStarted, 0, 0), at(0, federation.AttemptStarted, 1, 0),
		why(0, federation.AttemptFailed, 1, clients.DroppedOut),
		why(0, federation.ClientDropped, 1, clients.DroppedOut), span(0, 2, clients.Downlink, 0, 8),
		at(3, federation.EnergyUsed, 0, 5), part(2, 3, clients.Compute, 0, 0),
		at(3, federation.RoundEnded, engine.Server, 0), next(span(3, 7, clients.Compute, 0, 9)),
		next(span(7, 8, clients.Uplink, 0, 4)), next(at(8, federation.ResponseArrived, 0, 6)),
		next(at(9, federation.UpdateTaken, 0, 0)),
		next(at(9, federation.RoundEnded, engine.Server, 0)),
	)
	nan := math.NaN()
	want := []results.DeviceRow{
		{Round: 1, TimeS: 3, Device: 0, Outcome: results.OutcomeUnderWay, Attempts: 1, ResponseS: nan, DownlinkS: 2,
			ComputeS: 1, Theta: nan, BytesDown: 8, EnergyJ: 5},
		{Round: 1, TimeS: 3, Device: 1, Outcome: results.OutcomeDropped, Attempts: 1, Dropped: 1, ResponseS: nan,
			WaitS: 3, Theta: nan},
		{Round: 2, TimeS: 9, Device: 0, Outcome: results.OutcomeAccepted, Responses: 1, Taken: 1, ResponseS: 5,
			ComputeS: 4, UplinkS: 1, WaitS: 1, Steps: 6, Theta: nan, FLOPs: 9, BytesUp: 4},
		{Round: 2, TimeS: 9, Device: 1, Outcome: results.OutcomeNotSelected, ResponseS: nan, WaitS: 6, Theta: nan},
	}
	d := cmp.Diff(withStaleness(want...), rows, cmpopts.EquateNaNs())
	expect.That(t, d == "", "%v", d)
}

// An answer that comes while the server computes is one of the next round, which
// takes it.
func TestAResponseCountsWhereItIsAccepted(t *testing.T) {
	next := func(e federation.Entry) federation.Entry { e.Round = 2; return e }
	rows := post(1,
		at(0, federation.AttemptStarted, 0, 0), span(0, 1, clients.Downlink, 0, 8), span(1, 2, clients.Compute, 0, 9),
		at(3, federation.ResponseLate, 0, 0), span(2, 4, clients.Uplink, 0, 4), at(4, federation.ResponseArrived, 0, 6),
		at(5, federation.RoundEnded, engine.Server, 0), next(at(7, federation.UpdateTaken, 0, 0)),
		next(at(9, federation.RoundEnded, engine.Server, 0)),
	)
	nan := math.NaN()
	want := []results.DeviceRow{
		{Round: 1, TimeS: 5, Outcome: results.OutcomeUnderWay, Attempts: 1, Late: 1, ResponseS: nan, DownlinkS: 1,
			ComputeS: 1, UplinkS: 2, WaitS: 1, Theta: nan, FLOPs: 9, BytesDown: 8, BytesUp: 4},
		{Round: 2, TimeS: 9, Outcome: results.OutcomeAccepted, Responses: 1, Taken: 1, ResponseS: 0, WaitS: 4, Steps: 6,
			Theta: nan},
	}
	d := cmp.Diff(withStaleness(want...), rows, cmpopts.EquateNaNs())
	expect.That(t, d == "", "%v", d)
}

// After the first error nothing more is written, and Err returns it.
func TestTheFirstErrorIsReported(t *testing.T) {
	full, calls := errors.New("full"), 0
	l := New(1, func([]results.DeviceRow) error {
		calls++
		if calls == 2 {
			return full
		}
		return nil
	})
	for i := range 4 {
		if l.Note(at(float64(i), federation.RoundEnded, engine.Server, 0)); (l.Err() != nil) != (i >= 1) {
			t.Errorf("after %d rounds: %v", i+1, l.Err())
		}
	}
	expect.That(t, errors.Is(l.Err(), full) && calls == 2,
		"error %v after %d calls, want %v after 2", l.Err(), calls, full)
}

// Entries and ends of rounds allocate nothing.
func TestNothingIsAllocated(t *testing.T) {
	l := New(100, func([]results.DeviceRow) error { return nil })
	if n := testing.AllocsPerRun(10, func() {
		for client := range 100 {
			for _, e := range []federation.Entry{
				at(0, federation.AttemptStarted, client, 0), span(0, 0, clients.Downlink, client, 1),
				span(0, 0, clients.Compute, client, 1), span(0, 0, clients.Uplink, client, 1),
				at(0, federation.ResponseArrived, client, 1), at(0, federation.UpdateTaken, client, 0),
				at(0, federation.EnergyUsed, client, 1),
			} {
				l.Note(e)
			}
		}
		l.Note(at(0, federation.RoundEnded, engine.Server, 0))
	}); n != 0 {
		t.Errorf("a round of 100 devices allocates %g times", n)
	}
}
