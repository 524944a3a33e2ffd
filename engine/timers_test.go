package engine

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The tree of minima against a look at every alarm, for trees of one to three levels:
// alarms that come, go, and are moved back and forth, many at the same instant.
func TestAlarmsAgainstAScan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		devices := rapid.SampledFrom([]int{1, fanOut - 1, fanOut, fanOut + 1, fanOut * fanOut, 5000}).Draw(t, "devices")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		span := rapid.SampledFrom([]int64{3, 1000, int64(year)}).Draw(t, "span")
		a := alarms{kind: 3}
		a.grow(devices)
		scan := func() (first item, ok bool) {
			for d := range devices {
				if a.seqs[d] == 0 || a.at[d] == Never {
					continue
				}
				if it := a.item(d); !ok || it.before(first) {
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
			if r.IntN(3) > 0 { // else what is not known piles up
				want, ok := scan()
				got, found := a.first(endOf(Never))
				if found != ok || ok && got != want {
					t.Fatalf("the first alarm is %s, %t, want %s, %t", describe(got.event()), found, describe(want.event()), ok)
				}
				if _, before := a.first(want); before && ok {
					t.Fatal("an alarm is before the first")
				}
			}
			if a.n != pending {
				t.Fatalf("%d pending, want %d", a.n, pending)
			}
		}
	})
}

// Alarms are hooked and counted as events that are cancelled and scheduled anew; one
// at Never is pending and does not happen.
func TestAlarmsAreEvents(t *testing.T) {
	var told [2][]string
	note := func(k int) *Hooks {
		as := func(what string) func(Event) {
			return func(ev Event) { told[k] = append(told[k], what+" "+describe(ev)) }
		}
		return &Hooks{Scheduled: as("scheduled"), Fired: as("fired"), Cancelled: as("cancelled")}
	}
	alarms, events := New(2, Options{Hooks: note(0)}), New(2, Options{Hooks: note(1)})
	var handles [2]Handle
	set := func(at Time, device int) {
		alarms.SetTimer(at, 5, device)
		events.Cancel(handles[device])
		handles[device] = events.Schedule(at, 5, device)
		if got, ok := alarms.Timer(device); !ok || got != at {
			t.Errorf("the alarm of device %d is at %v, %t, want %v", device, got, ok, at)
		}
	}
	set(70, 0)
	set(50, 1)
	for _, e := range []*Engine{alarms, events} {
		e.Schedule(50, 5, 0)
		e.Schedule(50, 4, 1)
	}
	set(60, 0)
	set(50, 0) // behind the event of the same instant, kind and device
	set(80, 1)
	for range 3 {
		alarms.Step(func(Event) {})
		events.Step(func(Event) {})
	}
	set(Never, 0)
	for _, e := range []*Engine{alarms, events} {
		e.Run(func(Event) {})
	}
	if d := cmp.Diff(told[1], told[0]); d != "" || alarms.Digest() != events.Digest() || alarms.Pending() != 1 || events.Pending() != 1 {
		t.Errorf("%d and %d pending, digests %x and %x; events and alarms:\n%s", events.Pending(), alarms.Pending(), events.Digest(), alarms.Digest(), d)
	}
	if _, ok := alarms.Timer(1); ok {
		t.Error("an alarm that has fired is pending")
	}
	if at, ok := alarms.Timer(0); !ok || at != Never {
		t.Errorf("the alarm at Never is at %v, %t", at, ok)
	}
}

func TestAlarmMisuse(t *testing.T) {
	e := New(2, Options{})
	e.RunUntil(10, func(Event) {})
	for _, device := range []int{Server, 0, 7} {
		if _, ok := e.Timer(device); ok {
			t.Errorf("device %d has an alarm", device)
		}
	}
	mustPanic(t, "must be at a device", func() { e.SetTimer(20, 1, Server) })
	mustPanic(t, "must be in -1..1", func() { e.SetTimer(20, 1, 2) })
	mustPanic(t, "already", func() { e.SetTimer(9, 1, 0) })
	e.SetTimer(20, 1, 0)
	mustPanic(t, "others are of kind 1", func() { e.SetTimer(20, 2, 0) })
	mustPanic(t, "must be in -1..1", func() { e.SetTimer(20, 1, 2) })
	if e.Pending() != 1 {
		t.Errorf("%d pending, want 1", e.Pending())
	}
}

// BenchmarkAlarms is the hold model of alarms, each of which fires moves another one.
func BenchmarkAlarms(b *testing.B) {
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
