package engine

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

// rounds is a small synchronous protocol. In each round every device gets a message, and
// sometimes a failure on the way, scheduled in a batch or one by one. An arrival
// schedules a response. A failure cancels the arrival. The end of the round cancels all
// pending events.
func rounds(queue string, spread Time, batch func(*Engine, func())) (*Engine, []string) {
	const devices, arrival, failure, response, end = 700, 0, 1, 2, 3
	e := New(devices, Options{Queue: queue})
	r := rand.New(rand.NewPCG(7, 8))
	next := make([]Handle, devices)
	record, log := record()
	handle := func(ev Event) {
		record(ev)
		switch ev.Kind {
		case arrival:
			next[ev.Device] = e.Schedule(ev.At+spread/2+Time(ev.Device%5), response, int(ev.Device))
		case failure:
			e.Cancel(next[ev.Device])
		case end:
			e.Stop()
		}
	}
	for range 6 {
		batch(e, func() {
			for d := range devices {
				if r.IntN(4) == 0 {
					e.Schedule(e.Now()+Time(r.Int64N(int64(spread))), failure, d)
				}
				e.Cancel(next[d])
				next[d] = e.Schedule(e.Now()+Time(r.Int64N(int64(spread))), arrival, d)
				if r.IntN(8) == 0 {
					next[d], _ = reschedule(e, next[d], e.Now()+1)
				}
			}
			e.Schedule(e.Now()+spread*9/8, end, Server)
		})
		e.Run(handle)
	}
	return e, *log
}

func TestBatchIsAsOneByOne(t *testing.T) {
	for _, spread := range []Time{1, 3, 1000, 5e9} {
		want, wantLog := rounds("sorted", spread, func(_ *Engine, fill func()) { fill() })
		expect.Must(t, want.Fired() >= 5000 && want.Pending() != 0,
			"only %d events, %d pending: the test shows nothing", want.Fired(), want.Pending())
		for _, queue := range Queues() {
			got, log := rounds(queue, spread, (*Engine).ScheduleBatch)
			if got.Digest() != want.Digest() || got.Pending() != want.Pending() || got.Now() != want.Now() {
				t.Errorf("%s, spread %d: digest %x, %d pending at %d, want %x, %d, %d:\n%s", queue, spread,
					got.Digest(), got.Pending(), got.Now(), want.Digest(), want.Pending(), want.Now(),
					cmp.Diff(wantLog, log))
			}
		}
	}
}

// A second batch comes before the first has fired. A larger one absorbs the rest of the
// first; a smaller one goes to the queue.
func TestBatchesOverlap(t *testing.T) {
	for _, second := range []int{10, 500, 5000} {
		t.Run(fmt.Sprint(second), func(t *testing.T) {
			const first = 1000
			r := rand.New(rand.NewPCG(9, 9))
			twins := []*Engine{New(1, Options{}), New(1, Options{Queue: "sorted"})}
			batched, single := twins[0], twins[1]
			add := func(n int) {
				at := make([]Time, n)
				for i := range at {
					at[i] = batched.Now() + Time(r.IntN(100))
				}
				schedule := func(e *Engine) {
					for _, at := range at {
						e.Schedule(at, 0, 0)
					}
				}
				batched.ScheduleBatch(func() { schedule(batched) })
				schedule(single)
			}
			add(first)
			for _, e := range twins {
				for range first / 2 {
					e.Step(func(Event) {})
				}
			}
			add(second)
			if inQueue := batched.queue.Len() > 0; inQueue != (second < first/2) {
				t.Errorf("with %d events before, %d are in the queue", first/2, batched.queue.Len())
			}
			for _, e := range twins {
				e.Run(func(Event) {})
			}
			if batched.Fired() != int64(first+second) || batched.Digest() != single.Digest() {
				t.Errorf("fired %d with digest %x, want %d with %x", batched.Fired(), batched.Digest(), single.Fired(),
					single.Digest())
			}
		})
	}
}

func TestBatchMisuse(t *testing.T) {
	e := New(1, Options{})
	ignore := func(Event) {}
	mustPanic(t, "ScheduleBatch within ScheduleBatch",
		func() { e.ScheduleBatch(func() { e.ScheduleBatch(func() {}) }) })
	mustPanic(t, "within ScheduleBatch", func() { e.ScheduleBatch(func() { e.Step(ignore) }) })
	mustPanic(t, "within ScheduleBatch", func() { e.ScheduleBatch(func() { e.Run(ignore) }) })
	mustPanic(t, "within ScheduleBatch",
		func() { e.ScheduleBatch(func() { e.Schedule(1, 0, 0); e.RunUntil(5, ignore) }) })
	// The event scheduled before the panic is pending.
	expect.That(t, e.Pending() == 1 && e.Step(ignore),
		"%d pending after the panic, want the one that was scheduled", e.Pending())
	// A handler may call ScheduleBatch.
	e.Schedule(7, 0, 0)
	fired := 0
	e.Run(func(ev Event) {
		if fired++; ev.At == 7 {
			e.ScheduleBatch(func() {
				for range 100 {
					e.Schedule(8, 1, 0)
				}
			})
		}
	})
	expect.That(t, fired == 101, "fired %d events, want 101", fired)
}

// Canceling a whole batch while it is collected or fired frees its memory for the next.
func TestTombstonesOfABatchAreBounded(t *testing.T) {
	const n = 1000
	e := New(1, Options{})
	handles := make([]Handle, n)
	for range 50 {
		e.ScheduleBatch(func() {
			for i := range handles {
				e.Cancel(handles[i])
				handles[i] = e.Schedule(Time(1+i), 0, 0)
			}
		})
		held := e.queue.Len() + e.sorted.Len()
		expect.Must(t, held <= 2*n+mostTombstones+1, "%d items are held for %d pending", held, e.Pending())
	}
	expect.That(t, e.Pending() == n, "%d pending, want %d", e.Pending(), n)
}

// Timing mode must take at most 200 bytes per device with three pending events each. The
// engine takes 8 for the device and 3 times 16, a tenth more for partial chunks, and a
// constant (a chunk for each of 4096 buckets is 2 MB).
func TestBytesPerDevice(t *testing.T) {
	const devices, each = 200_000, 3
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	e := New(devices, Options{})
	r := rand.New(rand.NewPCG(1, 2))
	for k := range each {
		for t := range devices {
			e.Schedule(Time(r.ExpFloat64()*1e9), Kind(k), t)
		}
	}
	for range devices {
		e.Step(func(ev Event) { e.Schedule(e.Now()+Time(r.ExpFloat64()*1e9), ev.Kind, int(ev.Device)) })
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	got, most := int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(devices*(8+each*16*11/10)+2<<20)
	t.Logf("%.1f bytes a device", float64(got)/devices)
	expect.That(t, got <= most,
		"%d devices with %d events each take %d bytes, want at most %d", devices, each, got, most)
	runtime.KeepAlive(e)
}
