package engine

import (
	"math/rand/v2"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// naive is an engine written as its definition: a list of events, searched for the least
// by comparing all four keys.
type naive struct {
	now      Time
	pending  []Event
	counters map[int]uint32
	timers   map[int]Event // the last one of each device
}

func (n *naive) schedule(at Time, k Kind, device int) Event {
	n.counters[device]++
	ev := Event{At: at, Kind: k, Device: int32(device), Seq: n.counters[device]}
	n.pending = append(n.pending, ev)
	return ev
}

func (n *naive) cancel(target Event) bool {
	for i, ev := range n.pending {
		if ev == target {
			n.pending = append(n.pending[:i], n.pending[i+1:]...)
			return true
		}
	}
	return false
}

// timerKind lies between the kinds of other events.
const timerKind Kind = 1

// timer replaces the timer of a device.
func (n *naive) timer(at Time, device int) {
	n.cancel(n.timers[device])
	n.timers[device] = n.schedule(at, timerKind, device)
}

func (n *naive) least() Event {
	least := n.pending[0]
	for _, ev := range n.pending {
		if precedes(ev, least) {
			least = ev
		}
	}
	return least
}

func (n *naive) step(fn func(Event)) bool {
	if len(n.pending) == 0 {
		return false
	}
	least := n.least()
	n.cancel(least)
	n.now = least.At
	fn(least)
	return true
}

// world drives an engine of every queue and the naive one through the same operations.
// Handles and events with the same index correspond.
type world struct {
	t       *rapid.T
	engines []*Engine
	handles [][]Handle
	naive   naive
	events  []Event
}

func newWorld(t *rapid.T, devices int) *world {
	w := &world{t: t, naive: naive{counters: map[int]uint32{}, timers: map[int]Event{}}}
	for _, queue := range Queues() {
		w.engines = append(w.engines, New(devices, Options{Queue: queue}))
	}
	w.handles = make([][]Handle, len(w.engines))
	return w
}

func (w *world) schedule(span Time, k Kind, device int) {
	for i, e := range w.engines {
		w.handles[i] = append(w.handles[i], e.Schedule(e.Now()+span, k, device))
	}
	w.events = append(w.events, w.naive.schedule(w.naive.now+span, k, device))
}

// timer sets the timer of a device.
func (w *world) timer(span Time, device int) {
	for _, e := range w.engines {
		e.SetTimer(e.Now()+span, timerKind, device)
	}
	w.naive.timer(w.naive.now+span, device)
}

// batch schedules many events at once in every engine.
func (w *world) batch(n int, seed uint64, longest Time) {
	for i, e := range w.engines {
		e.ScheduleBatch(func() {
			r := rand.New(rand.NewPCG(seed, 0))
			for range n {
				w.handles[i] = append(w.handles[i],
					e.Schedule(e.Now()+Time(r.Int64N(int64(longest)+1)), Kind(r.IntN(3)), r.IntN(4)-1))
			}
		})
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for range n {
		w.events = append(w.events,
			w.naive.schedule(w.naive.now+Time(r.Int64N(int64(longest)+1)), Kind(r.IntN(3)), r.IntN(4)-1))
	}
}

// runUntil advances every clock and fires the events on the way; handlers do nothing.
func (w *world) runUntil(span Time) {
	limit := w.naive.now + span
	var want []Event
	for len(w.naive.pending) > 0 && w.naive.least().At <= limit {
		w.naive.step(func(ev Event) { want = append(want, ev) })
	}
	w.naive.now = limit
	for i, e := range w.engines {
		var got []Event
		e.RunUntil(limit, func(ev Event) { got = append(got, ev) })
		if d := cmp.Diff(want, got); d != "" || e.Now() != limit {
			w.t.Fatalf("%s: run until %d to %d:\n%s", Queues()[i], limit, e.Now(), d)
		}
	}
}

func (w *world) cancel(which int) {
	want := w.naive.cancel(w.events[which])
	for i, e := range w.engines {
		cancel := func() bool { return e.Cancel(w.handles[i][which]) }
		if which%2 == 0 {
			cancel = func() bool { return e.CancelSeq(int(w.events[which].Device), w.handles[i][which].Seq()) }
		}
		if got := cancel(); got != want {
			w.t.Fatalf("%s: canceling event %d gives %v, want %v", Queues()[i], which, got, want)
		}
	}
}

func (w *world) reschedule(which int, span Time) {
	ev := w.events[which]
	want := w.naive.cancel(ev)
	if want {
		w.events[which] = w.naive.schedule(w.naive.now+span, ev.Kind, int(ev.Device))
	}
	for i, e := range w.engines {
		h, got := reschedule(e, w.handles[i][which], e.Now()+span)
		if got != want {
			w.t.Fatalf("%s: moving event %d gives %v, want %v", Queues()[i], which, got, want)
		}
		if got {
			w.handles[i][which] = h
		}
	}
}

// step fires one event in every engine. Its handler schedules up to two more, chosen by
// the event alone, many of them at the same instant.
func (w *world) step(more bool) {
	var fired Event
	chosen := func(ev Event, schedule func(span Time, k Kind, device int), timer func(span Time, device int)) {
		r := rand.New(rand.NewPCG(uint64(ev.At), uint64(ev.Device)<<32|uint64(ev.Seq)))
		if r.IntN(3) == 0 {
			timer(Time(r.IntN(3)), r.IntN(3))
		}
		for range r.IntN(3) {
			schedule(Time(r.IntN(3)), Kind(r.IntN(3)), r.IntN(4)-1)
		}
	}
	want := w.naive.step(func(ev Event) {
		fired = ev
		if more {
			chosen(ev, func(span Time, k Kind, device int) {
				w.events = append(w.events, w.naive.schedule(w.naive.now+span, k, device))
			}, func(span Time, device int) { w.naive.timer(w.naive.now+span, device) })
		}
	})
	for i, e := range w.engines {
		before := e.Now()
		got := e.Step(func(ev Event) {
			if ev != fired || e.Now() != ev.At || ev.At < before {
				w.t.Fatalf("%s: fired %s at %d, want %s", Queues()[i], describe(ev), e.Now(), describe(fired))
			}
			if more {
				chosen(ev, func(span Time, k Kind, device int) {
					w.handles[i] = append(w.handles[i], e.Schedule(e.Now()+span, k, device))
				}, func(span Time, device int) { e.SetTimer(e.Now()+span, timerKind, device) })
			}
		})
		if got != want {
			w.t.Fatalf("%s: step gives %v, want %v", Queues()[i], got, want)
		}
	}
}

func (w *world) compare() {
	for i, e := range w.engines {
		if e.Pending() != len(w.naive.pending) {
			w.t.Fatalf("%s: %d pending, want %d", Queues()[i], e.Pending(), len(w.naive.pending))
		}
		if e.Digest() != w.engines[0].Digest() {
			w.t.Fatalf("%s: digest %x, want %x", Queues()[i], e.Digest(), w.engines[0].Digest())
		}
	}
}

func TestQueuesAgainstTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const devices = 3
		w := newWorld(t, devices)
		span := rapid.Custom(func(t *rapid.T) Time {
			return Time(rapid.OneOf(rapid.Int64Range(0, 2), rapid.Int64Range(0, 1000),
				rapid.Int64Range(0, int64(year))).Draw(t, "span"))
		})
		some := func() int { return rapid.IntRange(0, len(w.events)-1).Draw(t, "which") }
		for range rapid.IntRange(1, 200).Draw(t, "operations") {
			op := rapid.IntRange(0, 13).Draw(t, "operation")
			switch {
			case op >= 12:
				w.timer(span.Draw(t, "span"), rapid.IntRange(0, devices-1).Draw(t, "device"))
			case op <= 3 || len(w.events) == 0:
				w.schedule(span.Draw(t, "span"), Kind(rapid.IntRange(0, 2).Draw(t, "kind")),
					rapid.IntRange(-1, devices-1).Draw(t, "device"))
			case op <= 5:
				w.cancel(some())
			case op <= 7:
				w.reschedule(some(), span.Draw(t, "span"))
			case op <= 9:
				w.step(true)
			case op == 10:
				w.runUntil(span.Draw(t, "span"))
			case len(w.events) < 1000:
				w.batch(rapid.SampledFrom([]int{3, 70}).Draw(t, "events"), rapid.Uint64().Draw(t, "seed"),
					span.Draw(t, "longest"))
			}
			w.compare()
		}
		for len(w.naive.pending) > 0 {
			w.step(false)
		}
		w.step(false)
		w.compare()
	})
}

// churn is a small simulation: every event moves or cancels another one and schedules
// the next.
func churn(o Options) *Engine {
	const devices = 50
	e := New(devices, o)
	r := rand.New(rand.NewPCG(3, 4))
	handles := make([]Handle, devices)
	for d := range handles {
		handles[d] = e.Schedule(Time(r.IntN(10)), 0, d)
	}
	e.Run(func(ev Event) {
		if e.Fired() > 5000 {
			e.Stop()
		}
		handles[ev.Device] = e.Schedule(e.Now()+Time(r.IntN(10)), Kind(r.IntN(3)), int(ev.Device))
		other := r.IntN(devices)
		if h, ok := reschedule(e, handles[other], e.Now()+Time(r.IntN(10))); ok {
			handles[other] = h
		}
	})
	return e
}

func TestDigestIgnoresHooksAndQueue(t *testing.T) {
	want := churn(Options{})
	var scheduled, fired, canceled int
	count := func(n *int) func(Event) { return func(Event) { *n++ } }
	for _, queue := range Queues() {
		for _, hooks := range []*Hooks{nil, {},
			{Scheduled: count(&scheduled), Fired: count(&fired), Canceled: count(&canceled)}} {
			got := churn(Options{Queue: queue, Hooks: hooks})
			if got.Digest() != want.Digest() || got.Now() != want.Now() {
				t.Errorf("%s with hooks %v: digest %x at %d, want %x at %d", queue, hooks != nil, got.Digest(),
					got.Now(), want.Digest(), want.Now())
			}
		}
	}
	n := len(Queues())
	expect.That(t, fired == n*int(want.Fired()) && scheduled == fired+canceled+n*want.Pending(),
		"hooks saw %d scheduled, %d fired, %d canceled; %d are pending", scheduled, fired, canceled, n*want.Pending())
}

// Shuffling the order of scheduling between devices, but not within a device, does not
// change the order in which events fire.
func TestOrderDoesNotDependOnInterleaving(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const devices = 4
		type plan struct {
			at   Time
			kind Kind
		}
		plans := make([][]plan, devices)
		var turns []int
		for d := range plans {
			for range rapid.IntRange(0, 6).Draw(t, "events") {
				plans[d] = append(plans[d],
					plan{Time(rapid.IntRange(0, 3).Draw(t, "at")), Kind(rapid.IntRange(0, 1).Draw(t, "kind"))})
				turns = append(turns, d)
			}
		}
		run := func(turns []int) ([]string, uint64) {
			e := New(devices, Options{})
			next := make([]int, devices)
			for _, d := range turns {
				p := plans[d][next[d]]
				next[d]++
				e.Schedule(p.at, p.kind, d)
			}
			fn, got := record()
			e.Run(fn)
			return *got, e.Digest()
		}
		want, wantDigest := run(turns)
		got, digest := run(rapid.Permutation(turns).Draw(t, "turns"))
		if d := cmp.Diff(want, got); d != "" || digest != wantDigest {
			t.Fatalf("digest %x, want %x; order differs:\n%s", digest, wantDigest, d)
		}
	})
}
