package ledger

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fedsim/engine"
	"fedsim/federation"
	"fedsim/results"
)

// at returns an entry at so many seconds, in round 1.
func at(s float64, kind federation.EntryKind, device int, amount float64) federation.Entry {
	now := engine.FromSeconds(s)
	return federation.Entry{Kind: kind, Device: int32(device), Round: 1, From: now, To: now, Amount: amount}
}

func why(s float64, kind federation.EntryKind, device int, why federation.Loss) federation.Entry {
	e := at(s, kind, device, 0)
	e.Why = why
	return e
}

// post lets a ledger of so many devices note entries, and returns its rows.
func post(devices int, entries ...federation.Entry) []results.DeviceRow {
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
		{"not asked", nil, row{Outcome: results.OutcomeNotSelected, WaitS: 10, ResponseS: nan}},
		{"answered", []federation.Entry{
			at(1, federation.Asked, 0, 0), at(2, federation.Received, 0, 100), at(5, federation.Computed, 0, 3e6),
			at(7, federation.Sent, 0, 50), at(7, federation.Answered, 0, 30), at(9, federation.Measured, 0, 0.25),
			at(9, federation.Taken, 0, 0), at(10, federation.Spent, 0, 4),
		}, row{Outcome: results.OutcomeAccepted, Attempts: 1, Responses: 1, Taken: 1, ResponseS: 7, WaitS: 1 + 3, DownlinkS: 1, ComputeS: 3, UplinkS: 2,
			Steps: 30, Theta: 0.25, FLOPs: 3e6, BytesDown: 100, BytesUp: 50, EnergyJ: 4}},
		{"dropped at once, then answered", []federation.Entry{
			at(0, federation.Asked, 0, 0), why(0, federation.Lost, 0, federation.Dropped), why(0, federation.Missed, 0, federation.Dropped),
			at(4, federation.Asked, 0, 0), at(5, federation.Received, 0, 100), at(6, federation.Computed, 0, 1),
			at(8, federation.Sent, 0, 50), at(8, federation.Answered, 0, 3), at(9, federation.Taken, 0, 0),
		}, row{Outcome: results.OutcomeAccepted, Attempts: 2, Responses: 1, Taken: 1, Dropped: 1, ResponseS: 8, WaitS: 4 + 2, DownlinkS: 1, ComputeS: 1, UplinkS: 2,
			Steps: 3, FLOPs: 1, BytesDown: 100, BytesUp: 50}},
		{"message lost", []federation.Entry{
			at(0, federation.Asked, 0, 0), at(3, federation.Received, 0, 100), why(3, federation.Lost, 0, federation.Message), why(3, federation.Missed, 0, federation.Message),
		}, row{Outcome: results.OutcomeMessageLost, Attempts: 1, Dropped: 1, ResponseS: nan, DownlinkS: 3, WaitS: 7, BytesDown: 100}},
		{"no time", []federation.Entry{
			at(0, federation.Asked, 0, 0), at(3, federation.Received, 0, 100), why(3, federation.Lost, 0, federation.NoTime), at(10, federation.Late, 0, 0),
		}, row{Outcome: results.OutcomeNoTime, Attempts: 1, Late: 1, ResponseS: nan, DownlinkS: 3, WaitS: 7, BytesDown: 100}},
		{"late", []federation.Entry{
			at(0, federation.Asked, 0, 0), at(3, federation.Received, 0, 100),
			at(10, federation.Late, 0, 0), at(10, federation.Computed, 0, 7), why(10, federation.Lost, 0, federation.OutOfTime),
		}, row{Outcome: results.OutcomeLate, Attempts: 1, Late: 1, ResponseS: nan, DownlinkS: 3, ComputeS: 7, BytesDown: 100, FLOPs: 7}},
		{"refused", []federation.Entry{
			at(0, federation.Asked, 0, 0), at(1, federation.Received, 0, 1), at(2, federation.Computed, 0, 1), at(3, federation.Sent, 0, 1),
			at(3, federation.Answered, 0, 1), at(3, federation.Refused, 0, 0), at(3, federation.Late, 0, 0),
		}, row{Outcome: results.OutcomeRefused, Attempts: 1, Responses: 1, Late: 1, ResponseS: 3, DownlinkS: 1, ComputeS: 1, UplinkS: 1, WaitS: 7, Steps: 1, FLOPs: 1, BytesDown: 1, BytesUp: 1}},
		{"under way", []federation.Entry{
			at(2, federation.Asked, 0, 0), at(3, federation.Received, 0, 1), at(10, federation.Late, 0, 0),
		}, row{Outcome: results.OutcomeUnderWay, Attempts: 1, Late: 1, ResponseS: nan, WaitS: 2, DownlinkS: 1, ComputeS: 7, BytesDown: 1}},
		{"answered for the next round", []federation.Entry{
			at(0, federation.Asked, 0, 0), at(1, federation.Received, 0, 1), at(2, federation.Computed, 0, 1), at(3, federation.Sent, 0, 1),
			at(3, federation.Answered, 0, 1),
		}, row{Outcome: results.OutcomeUnderWay, Attempts: 1, ResponseS: nan, DownlinkS: 1, ComputeS: 1, UplinkS: 1, WaitS: 7, FLOPs: 1, BytesDown: 1, BytesUp: 1}},
		{"away from the beginning", []federation.Entry{
			at(0, federation.GoneAway, 0, 0), why(1, federation.Missed, 0, federation.Away), at(6, federation.BackAgain, 0, 0),
		}, row{Outcome: results.OutcomeUnavailable, Dropped: 1, ResponseS: nan, UnavailableS: 6, WaitS: 4}},
		{"interrupted, and goes on", []federation.Entry{
			at(0, federation.Asked, 0, 0), at(1, federation.Received, 0, 1),
			at(4, federation.GoneAway, 0, 0), at(4, federation.Computed, 0, 3), at(6, federation.BackAgain, 0, 0),
			at(7, federation.Computed, 0, 1), at(9, federation.Sent, 0, 1), at(9, federation.Answered, 0, 2), at(10, federation.Taken, 0, 0),
		}, row{Outcome: results.OutcomeAccepted, Attempts: 1, Responses: 1, Taken: 1, ResponseS: 9, DownlinkS: 1, ComputeS: 3 + 1, UnavailableS: 2, UplinkS: 2, WaitS: 1,
			Steps: 2, FLOPs: 4, BytesDown: 1, BytesUp: 1}},
		{"interrupted, and loses it", []federation.Entry{
			at(0, federation.Asked, 0, 0), at(4, federation.GoneAway, 0, 0), at(4, federation.Received, 0, 3),
			why(4, federation.Lost, 0, federation.Away), why(4, federation.Missed, 0, federation.Away), at(6, federation.BackAgain, 0, 0),
		}, row{Outcome: results.OutcomeUnavailable, Attempts: 1, Dropped: 1, ResponseS: nan, DownlinkS: 4, UnavailableS: 2, WaitS: 4, BytesDown: 3}},
		{"flat at work, charged while away", []federation.Entry{
			at(0, federation.Asked, 0, 0), at(4, federation.Received, 0, 3), at(4, federation.WentFlat, 0, 0), why(4, federation.Missed, 0, federation.Flat),
			why(4, federation.Lost, 0, federation.Flat), at(5, federation.GoneAway, 0, 0), at(7, federation.Recharged, 0, 0), at(9, federation.BackAgain, 0, 0),
		}, row{Outcome: results.OutcomeDepleted, Attempts: 1, Dropped: 1, ResponseS: nan, DownlinkS: 4, DepletedS: 3, UnavailableS: 2, WaitS: 1, BytesDown: 3}},
		{"lost on its hub's way", []federation.Entry{why(3, federation.Missed, 0, federation.Message)},
			row{Outcome: results.OutcomeMessageLost, Dropped: 1, ResponseS: nan, WaitS: 10}},
		{"low battery", []federation.Entry{why(1, federation.Missed, 0, federation.Low)},
			row{Outcome: results.OutcomeLowBattery, Dropped: 1, ResponseS: nan, WaitS: 10}},
	} {
		c.want.Round, c.want.TimeS = 1, 10
		if c.want.Theta == 0 {
			c.want.Theta = nan
		}
		got := post(1, append(c.entries, at(10, federation.Closed, server, 0))...)
		if d := cmp.Diff([]results.DeviceRow{c.want}, got, cmpopts.EquateNaNs()); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// What goes on beyond the end of a round counts in each for the time that lies in
// it; the next round knows nothing else of the one before.
func TestRoundsAreSeparate(t *testing.T) {
	next := func(e federation.Entry) federation.Entry { e.Round = 2; return e }
	rows := post(2,
		at(0, federation.Asked, 0, 0), at(0, federation.Asked, 1, 0), why(0, federation.Lost, 1, federation.Dropped), why(0, federation.Missed, 1, federation.Dropped),
		at(2, federation.Received, 0, 8), at(3, federation.Spent, 0, 5), at(3, federation.Closed, engine.Server, 0),
		next(at(7, federation.Computed, 0, 9)), next(at(8, federation.Sent, 0, 4)), next(at(8, federation.Answered, 0, 6)),
		next(at(9, federation.Taken, 0, 0)), next(at(9, federation.Closed, engine.Server, 0)),
	)
	nan := math.NaN()
	want := []results.DeviceRow{
		{Round: 1, TimeS: 3, Device: 0, Outcome: results.OutcomeUnderWay, Attempts: 1, ResponseS: nan, DownlinkS: 2, ComputeS: 1, Theta: nan, BytesDown: 8, EnergyJ: 5},
		{Round: 1, TimeS: 3, Device: 1, Outcome: results.OutcomeDropped, Attempts: 1, Dropped: 1, ResponseS: nan, WaitS: 3, Theta: nan},
		{Round: 2, TimeS: 9, Device: 0, Outcome: results.OutcomeAccepted, Responses: 1, Taken: 1, ResponseS: 5, ComputeS: 4, UplinkS: 1, WaitS: 1, Steps: 6, Theta: nan, FLOPs: 9, BytesUp: 4},
		{Round: 2, TimeS: 9, Device: 1, Outcome: results.OutcomeNotSelected, ResponseS: nan, WaitS: 6, Theta: nan},
	}
	if d := cmp.Diff(want, rows, cmpopts.EquateNaNs()); d != "" {
		t.Error(d)
	}
}

// An answer that comes while the server computes is one of the next round, which
// takes it.
func TestAnAnswerCountsWhereItIsTaken(t *testing.T) {
	next := func(e federation.Entry) federation.Entry { e.Round = 2; return e }
	rows := post(1,
		at(0, federation.Asked, 0, 0), at(1, federation.Received, 0, 8), at(2, federation.Computed, 0, 9), at(3, federation.Late, 0, 0),
		at(4, federation.Sent, 0, 4), at(4, federation.Answered, 0, 6), at(5, federation.Closed, engine.Server, 0),
		next(at(7, federation.Taken, 0, 0)), next(at(9, federation.Closed, engine.Server, 0)),
	)
	nan := math.NaN()
	want := []results.DeviceRow{
		{Round: 1, TimeS: 5, Outcome: results.OutcomeUnderWay, Attempts: 1, Late: 1, ResponseS: nan, DownlinkS: 1, ComputeS: 1, UplinkS: 2, WaitS: 1, Theta: nan, FLOPs: 9, BytesDown: 8, BytesUp: 4},
		{Round: 2, TimeS: 9, Outcome: results.OutcomeAccepted, Responses: 1, Taken: 1, ResponseS: 0, WaitS: 4, Steps: 6, Theta: nan},
	}
	if d := cmp.Diff(want, rows, cmpopts.EquateNaNs()); d != "" {
		t.Error(d)
	}
}

// The first error ends the writing, and is kept.
func TestTheFirstErrorIsKept(t *testing.T) {
	full, calls := errors.New("full"), 0
	l := New(1, func([]results.DeviceRow) error {
		calls++
		if calls == 2 {
			return full
		}
		return nil
	})
	for i := range 4 {
		if l.Note(at(float64(i), federation.Closed, engine.Server, 0)); (l.Err() != nil) != (i >= 1) {
			t.Errorf("after %d rounds: %v", i+1, l.Err())
		}
	}
	if !errors.Is(l.Err(), full) || calls != 2 {
		t.Errorf("error %v after %d calls, want %v after 2", l.Err(), calls, full)
	}
}

// Entries and ends of rounds allocate nothing.
func TestNothingIsAllocated(t *testing.T) {
	l := New(100, func([]results.DeviceRow) error { return nil })
	if n := testing.AllocsPerRun(10, func() {
		for t := range 100 {
			for _, e := range []federation.Entry{
				at(0, federation.Asked, t, 0), at(0, federation.Received, t, 1), at(0, federation.Computed, t, 1),
				at(0, federation.Sent, t, 1), at(0, federation.Answered, t, 1), at(0, federation.Taken, t, 0), at(0, federation.Spent, t, 1),
			} {
				l.Note(e)
			}
		}
		l.Note(at(0, federation.Closed, engine.Server, 0))
	}); n != 0 {
		t.Errorf("a round of 100 devices allocates %g times", n)
	}
}
