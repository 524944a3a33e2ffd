package engine

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		r := recover()
		expect.That(t, r != nil && strings.Contains(fmt.Sprint(r), want), "panic is %v, want one with %q", r, want)
	}()
	f()
}

// record returns a handler and the list it fills.
func record() (func(Event), *[]string) {
	var got []string
	return func(ev Event) { got = append(got, describe(ev)) }, &got
}

func describe(ev Event) string {
	return fmt.Sprintf("at %d kind %d device %d seq %d", int64(ev.At), ev.Kind, ev.Device, ev.Seq)
}

func TestEventsAreSmall(t *testing.T) {
	size := unsafe.Sizeof(item{})
	expect.That(t, size == 16, "a pending event has %d bytes, want 16", size)
	size = unsafe.Sizeof(window{})
	expect.That(t, size == 8, "a device has %d bytes, want 8", size)
	size = unsafe.Sizeof(Handle{})
	expect.That(t, size == 8, "a handle has %d bytes, want 8", size)
}

func TestStaleHandles(t *testing.T) {
	e := New(1, Options{})
	ignore := func(Event) {}
	expect.That(t, !e.Cancel(Handle{}), "the zero handle cancels something")
	fired := e.Schedule(1, 0, 0)
	e.Step(func(Event) {
		expect.That(t, !e.Cancel(fired), "an event cancels itself while it fires")
	})
	canceled := e.Schedule(2, 0, 0)
	expect.That(t, e.Cancel(canceled) && !e.Cancel(canceled), "an event must be canceled once")
	old := e.Schedule(3, 0, 0)
	moved, ok := reschedule(e, old, 4)
	expect.Must(t, ok, "a pending event cannot be moved")
	// The slots of all of these are in use again.
	for name, h := range map[string]Handle{"fired": fired, "canceled": canceled, "moved": old} {
		expect.That(t, !e.Cancel(h), "the handle of an event that was %s cancels another", name)
	}
	expect.That(t, e.Pending() == 1 && e.Cancel(moved) && !e.Step(ignore),
		"exactly the moved event must have been pending")
}

func TestRunUntil(t *testing.T) {
	e := New(1, Options{})
	for _, at := range []Time{10, 20, 20, 21} {
		e.Schedule(at, 0, 0)
	}
	fired := 0
	e.RunUntil(20, func(Event) { fired++ })
	expect.That(t, fired == 3 && e.Now() == 20 && e.Pending() == 1,
		"until 20: fired %d, now %d, pending %d; want 3, 20, 1", fired, e.Now(), e.Pending())
	e.RunUntil(20, func(Event) { fired++ })
	e.RunUntil(100, func(Event) { fired++ })
	expect.That(t, fired == 4 && e.Now() == 100, "until 100: fired %d, now %d; want 4, 100", fired, e.Now())
	mustPanic(t, "the clock is at 100ns (100 ns)", func() { e.RunUntil(99, func(Event) {}) })
}

func TestStop(t *testing.T) {
	e := New(1, Options{})
	e.Schedule(1, 0, 0)
	e.Schedule(2, 0, 0)
	e.Schedule(3, 0, 0)
	stopAt := func(at Time) func(Event) {
		return func(ev Event) {
			if ev.At == at {
				e.Stop()
			}
		}
	}
	e.RunUntil(50, stopAt(1))
	expect.That(t, e.Now() == 1 && e.Pending() == 2,
		"stopped at %d with %d pending, want 1 with 2", e.Now(), e.Pending())
	e.Run(stopAt(2))
	expect.That(t, e.Now() == 2 && e.Pending() == 1,
		"stopped at %d with %d pending, want 2 with 1", e.Now(), e.Pending())
	e.Run(stopAt(0))
	expect.That(t, e.Now() == 3 && e.Pending() == 0, "ended at %d with %d pending, want 3 with 0", e.Now(), e.Pending())
}

func TestNeverDoesNotFire(t *testing.T) {
	for _, queue := range Queues() {
		e := New(1, Options{Queue: queue})
		h := e.Schedule(Never, 0, 0)
		fail := func(ev Event) { t.Errorf("%s: fired %s", queue, describe(ev)) }
		e.Run(fail)
		e.RunUntil(Never, fail)
		expect.That(t, !e.Step(fail) && e.Now() == 0 && e.Pending() == 1,
			"%s: now %d, pending %d; want 0, 1", queue, e.Now(), e.Pending())
		if _, ok := reschedule(e, h, 8); !ok || !e.Step(func(Event) {}) || e.Now() != 8 {
			t.Errorf("%s: an event at Never cannot be moved to 8", queue)
		}
	}
}

func TestMisusePanics(t *testing.T) {
	e := New(2, Options{})
	e.Schedule(10, 0, 0)
	e.Step(func(Event) {})
	mustPanic(t, "event of kind 3 for device 1 at 9ns (9 ns): the clock is at 10ns", func() { e.Schedule(9, 3, 1) })
	mustPanic(t, "event for device 2: must be in -1..1", func() { e.Schedule(10, 0, 2) })
	mustPanic(t, "event for device -2: must be in -1..1", func() { e.Schedule(10, 0, -2) })
	mustPanic(t, "event of kind 16 for device 1: must be in 0..15", func() { e.Schedule(10, MaxKind+1, 1) })
	mustPanic(t, "1073741821 devices: must be at most 1073741820", func() { New(MaxDevices+1, Options{}) })
	mustPanic(t, `no queue is named "fifo": must be one of radix, heap4, sorted`,
		func() { New(1, Options{Queue: "fifo"}) })
	e.pending.rows[0].last, e.pending.rows[serverRows].last = 1<<30-1, 1<<30-1
	if h := e.Schedule(10, 0, Server); h.Seq() != 1<<30+1 || !e.CancelSeq(Server, h.Seq()) {
		t.Error("the counter of the server has no more bits than that of a device")
	}
	mustPanic(t, "has 2^30 events", func() { e.Schedule(10, 0, 0) })
}

func TestHooksSeeEverything(t *testing.T) {
	var log []string
	note := func(what string) func(Event) {
		return func(ev Event) { log = append(log, what+" "+describe(ev)) }
	}
	hooks := &Hooks{Scheduled: note("scheduled"), Fired: note("fired"), Canceled: note("canceled")}
	e := New(1, Options{Hooks: hooks})
	a := e.Schedule(1, 2, 0)
	reschedule(e, a, 3)
	e.Run(func(ev Event) { log = append(log, "handled") })
	expect.That(t, len(e.traced) == 0, "%d events are traced, none is pending", len(e.traced))
	want := []string{
		"scheduled at 1 kind 2 device 0 seq 1",
		"canceled at 1 kind 2 device 0 seq 1",
		"scheduled at 3 kind 2 device 0 seq 2",
		"fired at 3 kind 2 device 0 seq 2",
		"handled",
	}
	d := cmp.Diff(want, log)
	expect.That(t, d == "", "%v", d)
}

// Any difference in the events, or in their order, must change the digest.
func TestDigestDistinguishesEvents(t *testing.T) {
	base := []Event{{At: 1, Device: 0, Seq: 1}, {At: 2, Device: 1, Seq: 1, Kind: 1}}
	hash := func(events ...Event) (d digest) {
		for _, ev := range events {
			d = d.add(ev)
		}
		return d
	}
	seen := map[digest]string{hash(base...): "base"}
	for name, events := range map[string][]Event{
		"swapped":      {base[1], base[0]},
		"one missing":  {base[0]},
		"other time":   {base[0], {At: 3, Device: 1, Seq: 1, Kind: 1}},
		"other kind":   {base[0], {At: 2, Device: 1, Seq: 1, Kind: 2}},
		"other device": {base[0], {At: 2, Device: Server, Seq: 1, Kind: 1}},
		"other seq":    {base[0], {At: 2, Device: 1, Seq: 2, Kind: 1}},
	} {
		d := hash(events...)
		other, ok := seen[d]
		expect.That(t, !ok, "%s and %s have the digest %x", name, other, d)
		seen[d] = name
	}
}

// Repeated cancellation must not grow the queue.
func TestTombstonesAreBounded(t *testing.T) {
	for _, queue := range Queues() {
		e := New(1, Options{Queue: queue})
		const pending = 100
		handles := make([]Handle, pending)
		for i := range handles {
			handles[i] = e.Schedule(Time(1000+i), 0, 0)
		}
		for i := range 10_000 {
			handles[i%pending], _ = reschedule(e, handles[i%pending], Time(1000+i))
			if n := e.queue.Len(); n > 2*pending+mostTombstones+1 {
				t.Fatalf("%s: %d events in the queue for %d pending", queue, n, e.Pending())
			}
		}
		expect.That(t, e.Pending() == pending, "%s: %d pending, want %d", queue, e.Pending(), pending)
	}
}

func TestTiesFireByKindDeviceCounter(t *testing.T) {
	e := New(3, Options{})
	e.Schedule(5, 1, 0)
	e.Schedule(5, 0, 2)
	e.Schedule(5, 0, Server)
	e.Schedule(5, 0, 2)
	e.Schedule(4, 9, 2)
	e.Schedule(5, 0, 1)
	fn, got := record()
	e.Run(fn)
	want := []string{
		"at 4 kind 9 device 2 seq 3",
		"at 5 kind 0 device -1 seq 1",
		"at 5 kind 0 device 1 seq 1",
		"at 5 kind 0 device 2 seq 1",
		"at 5 kind 0 device 2 seq 2",
		"at 5 kind 1 device 0 seq 1",
	}
	d := cmp.Diff(want, *got)
	expect.That(t, d == "", "%v", d)
	expect.That(t, e.Now() == 5 && e.Pending() == 0 && e.Fired() == 6,
		"now %d, pending %d, fired %d; want 5, 0, 6", e.Now(), e.Pending(), e.Fired())
}
