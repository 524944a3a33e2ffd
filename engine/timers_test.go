package engine

import (
	"math/rand/v2"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const year = Time(365.25 * 24 * 3600 * 1e9)

// The tree of minima agrees with a scan of all timers, for trees of one to three levels.
// Timers are set, cleared and moved, many at the same instant.
func TestTimersAgainstAScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		devices := rapid.SampledFrom([]int{1, fanOut - 1, fanOut, fanOut + 1, fanOut * fanOut, 5000}).Draw(t, "devices")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		span := rapid.SampledFrom([]int64{3, 1000, int64(year)}).Draw(t, "span")
		a := timers{kind: 3}
		a.grow(devices)
		scan := func() (first item, ok bool) {
			for d := range devices {
				if a.seqs[d] == 0 || a.at[d] == Never {
					continue
				}
				if it := a.item(d); !ok || it.Before(first) {
					first, ok = it, true
				}
			}
			return first, ok
		}
		seq, pending := uint32(0), 0
		for range rapid.IntRange(1, 200).Draw(t, "operations") {
			d := r.IntN(devices)
			if a.seqs[d] != 0 {
				a.clear(d)
				pending--
			}
			if r.IntN(4) > 0 {
				seq++
				pending++
				at := Time(r.Int64N(span))
				if r.IntN(10) == 0 {
					at = Never
				}
				a.set(d, at, seq)
			}
			if r.IntN(3) > 0 { // otherwise stale minima accumulate
				want, ok := scan()
				got, found := a.first(endOf(Never))
				expect.Must(t, found == ok && (!ok || got == want),
					"the first timer is %s, %t, want %s, %t", describe(eventOf(got)), found, describe(eventOf(want)),
					ok)
				_, before := a.first(want)
				expect.Must(t, !before || !ok, "an timer is before the first")
			}
			expect.Must(t, a.n == pending, "%d pending, want %d", a.n, pending)
		}
	})
}

// Timers call hooks and count like events that are canceled and scheduled again. A
// timer at Never is pending and does not fire.
func TestTimersAreEvents(t *testing.T) {
	var told [2][]string
	note := func(k int) *Hooks {
		as := func(what string) func(Event) {
			return func(ev Event) { told[k] = append(told[k], what+" "+describe(ev)) }
		}
		return &Hooks{Scheduled: as("scheduled"), Fired: as("fired"), Canceled: as("canceled")}
	}
	timers, events := New(2, Options{Hooks: note(0)}), New(2, Options{Hooks: note(1)})
	var handles [2]Handle
	set := func(at Time, device int) {
		timers.SetTimer(at, 5, device)
		events.Cancel(handles[device])
		handles[device] = events.Schedule(at, 5, device)
		got, ok := timers.Timer(device)
		expect.That(t, ok && got == at, "the timer of device %d is at %v, %t, want %v", device, got, ok, at)
	}
	set(70, 0)
	set(50, 1)
	for _, e := range []*Engine{timers, events} {
		e.Schedule(50, 5, 0)
		e.Schedule(50, 4, 1)
	}
	set(60, 0)
	set(50, 0) // after the event with the same instant, kind and device
	set(80, 1)
	for range 3 {
		timers.Step(func(Event) {})
		events.Step(func(Event) {})
	}
	set(Never, 0)
	for _, e := range []*Engine{timers, events} {
		e.Run(func(Event) {})
	}
	if d := cmp.Diff(told[1], told[0]); d != "" || timers.Digest() != events.Digest() || timers.Pending() != 1 ||
		events.Pending() != 1 {
		t.Errorf("%d and %d pending, digests %x and %x; events and timers:\n%s", events.Pending(), timers.Pending(),
			events.Digest(), timers.Digest(), d)
	}
	if _, ok := timers.Timer(1); ok {
		t.Error("an timer that has fired is pending")
	}
	if at, ok := timers.Timer(0); !ok || at != Never {
		t.Errorf("the timer at Never is at %v, %t", at, ok)
	}
}

func TestTimerMisuse(t *testing.T) {
	e := New(2, Options{})
	e.RunUntil(10, func(Event) {})
	for _, device := range []int{Server, 0, 7} {
		_, ok := e.Timer(device)
		expect.That(t, !ok, "device %d has an timer", device)
	}
	mustPanic(t, "must be at a device", func() { e.SetTimer(20, 1, Server) })
	mustPanic(t, "must be in -1..1", func() { e.SetTimer(20, 1, 2) })
	mustPanic(t, "the clock is at", func() { e.SetTimer(9, 1, 0) })
	e.SetTimer(20, 1, 0)
	mustPanic(t, "others have kind 1", func() { e.SetTimer(20, 2, 0) })
	mustPanic(t, "must be in -1..1", func() { e.SetTimer(20, 1, 2) })
	expect.That(t, e.Pending() == 1, "%d pending, want 1", e.Pending())
}

// BenchmarkTimers is the hold model with timers: each one that fires moves another one.
func BenchmarkTimers(b *testing.B) {
	const devices = 1e6
	e, after := New(devices, Options{}), increments(1e9)
	for d := range int(devices) {
		e.SetTimer(after[d%len(after)]+Time(d), 0, d)
	}
	r, n := rand.New(rand.NewPCG(5, 6)), 0
	move := func(ev Event) {
		n++
		e.SetTimer(ev.At+after[n%len(after)], 0, int(ev.Device))
		e.SetTimer(ev.At+after[n*7%len(after)], 0, r.IntN(devices))
	}
	b.ReportAllocs()
	for b.Loop() {
		e.Step(move)
	}
}
