package priority

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Time is an instant in nanoseconds.
type Time int64

const Never = Time(math.MaxInt64)

func (t Time) Add(d Time) Time {
	if d > Never-t {
		return Never
	}
	return t + d
}

// endOf returns the bound before which everything up to and at a limit is.
func endOf(limit Time) Item { return Item{At: uint64(limit) + 1} }

const year = Time(365.25 * 24 * 3600 * 1e9)

// spans draw the time from now to the next event. They are hard cases for queues that
// sort by the digits of the time.
var spans = map[string]func(r *rand.Rand, n int) Time{
	"microseconds": func(r *rand.Rand, _ int) Time { return Time(r.ExpFloat64() * 1e3) },
	"milliseconds": func(r *rand.Rand, _ int) Time { return Time(r.ExpFloat64() * 1e6) },
	"minutes":      func(r *rand.Rand, _ int) Time { return Time(r.ExpFloat64() * 60e9) },
	"now":          func(*rand.Rand, int) Time { return 0 },
	"almost now":   func(r *rand.Rand, _ int) Time { return Time(r.IntN(3)) },
	"any decade":   func(r *rand.Rand, _ int) Time { return Time(math.Exp(r.Float64() * math.Log(float64(100*year)))) },
	"bimodal":      func(r *rand.Rand, _ int) Time { return Time(r.IntN(2)) * 100 * year },
	"falling":      func(_ *rand.Rand, n int) Time { return 1e6 - Time(n%1000)*1e3 },
	"rising":       func(_ *rand.Rand, n int) Time { return Time(n%1000) * 1e3 },
	"digit ends":   func(r *rand.Rand, _ int) Time { return Time(1)<<(8*r.IntN(8)) - Time(r.IntN(2)) },
}

// drive makes the same random calls on a queue and on its twin and compares every
// result. The twin defines the current time.
type drive struct {
	t         interface{ Fatalf(string, ...any) }
	got, want Queue
	random    *rand.Rand
	span      func(*rand.Rand, int) Time
	now       Time
	pushed    int
}

func (d *drive) push(at Time) {
	d.pushed++
	it := Item{At: uint64(at), Key: uint64(d.random.IntN(4))<<60 | uint64(d.random.IntN(1000))<<30 | uint64(d.pushed)}
	d.got.Push(it)
	d.want.Push(it)
	if d.got.Len() != d.want.Len() {
		d.t.Fatalf("after a push the length is %d, want %d", d.got.Len(), d.want.Len())
	}
}

func (d *drive) pushSome(n int) {
	for range n {
		d.push(d.now.Add(d.span(d.random, d.pushed)))
	}
}

func (d *drive) popBefore(bound Item) bool {
	first, ok := d.got.PopBefore(bound)
	want, more := d.want.PopBefore(bound)
	if first != want || ok != more || d.got.Len() != d.want.Len() {
		d.t.Fatalf("popped %x (%v) of %d before %x, want %x (%v) of %d",
			first, ok, d.got.Len()+1, bound, want, more, d.want.Len()+1)
	}
	if ok {
		d.now = max(d.now, Time(first.At))
	}
	return ok
}

func (d *drive) compact() {
	modulus := uint64(2 + d.random.IntN(3))
	wanted := func(items []Item) []Item {
		return slices.DeleteFunc(items, func(it Item) bool { return it.Key%modulus != 0 })
	}
	d.got.Compact(wanted)
	d.want.Compact(wanted)
}

func (d *drive) drain() {
	for d.popBefore(endOf(Never)) {
	}
	if d.got.Len() != 0 {
		d.t.Fatalf("%d items are left in an empty queue", d.got.Len())
	}
}

// Random pushes, bounded and unbounded pops and compactions, in bursts large enough for
// every level of the wheel and for spills.
func TestQueuesAgainstSorted(t *testing.T) {
	for _, name := range Names() {
		if name == "sorted" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				kinds := slices.Sorted(maps.Keys(spans))
				d := &drive{t: t, got: New(name, everything), want: new(sorted)}
				d.random = rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
				burst := rapid.SampledFrom([]int{1, 3, 30, 700, 1500}).Draw(t, "burst")
				for range rapid.IntRange(1, 30).Draw(t, "operations") {
					d.span = spans[rapid.SampledFrom(kinds).Draw(t, "span")]
					switch op := rapid.IntRange(0, 9).Draw(t, "operation"); op {
					case 0, 1, 2:
						d.pushSome(burst)
					case 3:
						d.push(Time(d.random.Int64N(max(1, int64(d.now))))) // before the last Item popped
					case 4:
						if burst > 100 {
							d.compact()
						}
					case 5, 6:
						// Up to the limit, as in RunUntil, which then stands there.
						limit := d.now.Add(d.span(d.random, d.pushed))
						if items := d.want.(*sorted).items; len(items) > 0 &&
							rapid.Bool().Draw(t, "just before the first") {
							limit = max(d.now, Time(items[len(items)-1].At)-1)
						}
						for range burst {
							if !d.popBefore(endOf(limit)) {
								d.now = max(d.now, limit)
								break
							}
						}
					case 7:
						// Every event schedules another.
						for range burst {
							if d.popBefore(endOf(Never)) {
								d.pushSome(1)
							}
						}
					default:
						for range burst {
							d.popBefore(endOf(Never))
						}
					}
				}
				d.drain()
			})
		})
	}
}

// The hold model over many turnovers, with more items than the sorted list can handle.
func TestWheelAgainstHeap(t *testing.T) {
	for name, span := range spans {
		for _, pending := range []int{10, 1000, 20_000} {
			t.Run(fmt.Sprintf("%s/%d", name, pending), func(t *testing.T) {
				d := &drive{t: t, got: newWheel(everything), want: new(heap4), random: rand.New(rand.NewPCG(1, 2)),
					span: span}
				d.pushSome(pending)
				for range 3 * pending {
					d.popBefore(endOf(Never))
					d.pushSome(1)
				}
				d.compact()
				d.drain()
			})
		}
	}
}

func everything(items []Item) []Item { return items }
