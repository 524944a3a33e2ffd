package priority

import (
	"math/rand/v2"
	"testing"

	"fedsim/internal/tools/expect"
)

func newDrive(t *testing.T, span func(*rand.Rand, int) Time) (*drive, *wheel) {
	w := newWheel(everything)
	return &drive{t: t, got: w, want: new(heap4), random: rand.New(rand.NewPCG(1, 2)), span: span}, w
}

// A few items far apart make one bucket of minutes and bring the limit to its end. Many
// items pushed before it must not stay in the heap.
func TestLateItemsSpill(t *testing.T) {
	d, w := newDrive(t, spans["minutes"])
	for i := range Time(10) {
		d.push(1<<40 + i<<36)
	}
	d.popBefore(endOf(Never))
	expect.Must(t, w.limit.At == 2<<40,
		"the limit is %v, want the end of the bucket, %v", Time(w.limit.At), Time(2<<40))
	for range 50 {
		d.pushSome(1000)
		late := w.late.Len()
		expect.Must(t, late < spillSize, "%d items of %d are late, want less than %d", late, w.Len(), spillSize)
		for range 900 {
			d.popBefore(endOf(Never))
		}
	}
	d.drain()
}

// All items have the same time. The digits of the key must separate them, also from
// those pushed while that instant is being handled.
func TestManySimultaneousItems(t *testing.T) {
	d, w := newDrive(t, spans["now"])
	d.now = 1e15
	d.pushSome(100_000)
	for range 50_000 {
		d.popBefore(endOf(Never))
		d.pushSome(2)
	}
	late, all := w.late.Len(), w.Len()
	expect.That(t, late <= all/2, "%d items of %d are late, want most of them in buckets", late, all)
	d.drain()
}

// A large bucket has moved one level down and its first item lies behind the bound.
// Pushes before and after the items in the buckets must be ordered right.
func TestBoundWithinALargeBucket(t *testing.T) {
	d, w := newDrive(t, func(r *rand.Rand, _ int) Time { return 1<<40 + 1<<33 + Time(r.IntN(1<<35)) })
	d.pushSome(2 * mostSorted)
	d.now = 1<<40 + 1<<20
	expect.Must(t, !d.popBefore(endOf(d.now)) && w.base.At == 1<<40 && w.levels == 1<<(atLevel+4),
		"the base is %v, want the start of the bucket, %v, and its items a level down", Time(w.base.At), Time(1<<40))
	for at := Time(1 << 40); at < 1<<41; at += 1 << 32 { // fewer than cause a spill
		d.push(at)
	}
	d.push(1<<40 - 1)
	d.drain()
}

// Items before the base cannot spill. Clients that follow the rule of Queue have few of
// them. Other clients pay for a heap, not for a spill every time.
func TestItemsBeforeTheBase(t *testing.T) {
	d, w := newDrive(t, spans["milliseconds"])
	d.push(year)
	d.push(year + 1)
	d.popBefore(endOf(Never))
	d.now = 0
	d.pushSome(5000)
	if late := w.late.Len(); late != 5000 || w.spillAt < late {
		t.Errorf("%d items are late and would spill at %d, want 5000 and more", late, w.spillAt)
	}
	d.drain()
	d.now = 0
	d.pushSome(5000)
	expect.That(t, w.late.Len() <= 0, "%d items are late in a wheel that was empty", w.late.Len())
	d.drain()
}

// A search up to a bound must not move the base beyond it: later items would all be late.
func TestLookingAheadLeavesTheBase(t *testing.T) {
	w := newWheel(everything)
	w.Push(Item{At: 1})
	w.Push(Item{At: 1000e9})
	for _, limit := range []Time{10e9, 20e9, 999e9} {
		for {
			if _, ok := w.PopBefore(endOf(limit)); !ok {
				break
			}
		}
		expect.That(t, Time(w.base.At) <= limit, "at %v the base is %v", limit, w.base.At)
	}
	for i := range uint64(10_000) {
		w.Push(Item{At: 999e9 + i})
	}
	expect.That(t, w.late.Len() <= spillSize, "%d items are late", w.late.Len())
}

// The memory covers the items, one partial chunk per bucket, and the last slab. It does
// not grow over many turnovers of any kind.
func TestChunksAreRecycled(t *testing.T) {
	for name, span := range spans {
		const pending = 5000
		d, w := newDrive(t, span)
		d.pushSome(pending)
		for range 20 * pending {
			d.popBefore(endOf(Never))
			d.pushSome(1)
		}
		const most = pending/chunkSize + levels*digits + slabChunks
		n := len(w.chunks.next)
		expect.That(t, n <= most, "%s: %d chunks for %d items, want at most %d", name, n, pending, most)
		d.drain()
		free := 0
		for c := w.chunks.free; c != noChunk; c = w.chunks.next[c] {
			free++
		}
		expect.That(t, free == len(w.chunks.next),
			"%s: %d chunks of %d are free in an empty wheel", name, free, len(w.chunks.next))
	}
}
