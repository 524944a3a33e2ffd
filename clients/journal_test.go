package clients

import (
	"slices"
	"testing"

	"fedsim/devices"
	"fedsim/engine"
)

// page is a journal that keeps its entries.
type page []Entry

func (p *page) Note(e Entry) { *p = append(*p, e) }

// The entries of an attempt: a message of 1000 bytes takes 5 ms and 8 ms each way, the work
// half a second. A transfer began when the radio was awake; the level follows each span of work.
func TestEntriesOfAnAttempt(t *testing.T) {
	var p page
	c := start(t, setup(1, func(s *Setup) { s.Journal, s.Devices.BatteryWh = &p, 10./3600 }), Listener{})
	c.Start(0, Attempt{BytesDown: 1000, Work: devices.Work{FLOPs: 500}, BytesUp: 1000})
	c.RunUntil(second)
	c.CutSpans()
	type entry struct {
		kind     EntryKind
		activity Activity
		from, to engine.Time // ms
		amount   float64
	}
	var got []entry
	levels := 0
	for _, e := range p {
		if e.Kind == Level {
			levels++
			continue
		}
		got = append(got, entry{e.Kind, e.Activity, e.From * 1000 / second, e.To * 1000 / second, e.Amount})
	}
	want := []entry{
		{Span, Idle, 0, 0, 0}, {Start, Idle, 0, 0, 0}, {Span, Downlink, 0, 13, 1000}, {Span, Compute, 13, 513, 500},
		{Span, Uplink, 513, 526, 1000}, {Span, Idle, 526, 1000, 0},
	}
	if !slices.Equal(got, want) || levels != 4 {
		t.Errorf("got  %v and %d levels\nwant %v and 4", got, levels, want)
	}
}

// Spans follow each other without gaps, and are cut without an end. An activity that continues
// begins no span.
func TestSpans(t *testing.T) {
	var p page
	s := setup(1, func(s *Setup) { s.Journal = &p })
	clock := engine.New(1, engine.Options{})
	r := newRecorder(&s, devices.NewBatteries(s.Devices, 1, 1, nil), clock, func(int) float64 { return 0.25 })
	at := func(seconds engine.Time, do func()) {
		clock.Schedule(seconds*second, EventTimer, 0)
		clock.Run(func(engine.Event) { do() })
	}
	d := &client{}
	r.activity(0, d)
	at(1, func() { r.start(0); d.phase = compute; r.activity(0, d) })
	at(2, func() { r.CutSpans() })
	at(3, func() { r.activity(0, d) })
	at(4, func() { r.endWork(0, 1*second, Entry{Amount: 500}); r.failure(0, DroppedOut); r.NoteLevel(0) })
	want := []Entry{
		{Kind: Span, Activity: Idle, To: 1 * second},
		{Kind: Start, Began: 1 * second, From: 1 * second, To: 1 * second},
		{Kind: Span, Activity: Compute, Cut: true, Began: 1 * second, From: 1 * second, To: 2 * second, Overhead: 0.25},
		{Kind: Span, Activity: Compute, Began: 1 * second, From: 2 * second, To: 4 * second, Overhead: 0.25,
			Amount: 500},
		{Kind: Failure, Why: DroppedOut, Began: 4 * second, From: 4 * second, To: 4 * second},
	}
	if !slices.Equal(p, want) {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
}
