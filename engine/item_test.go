package engine

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	_ "fedsim/internal/tools/rapidseed"
)

func handleOf(ev Event) Handle { return Handle{key(ev.Kind, ev.Device, ev.Seq)} }

func TestItemsAreInTheOrderOfEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(ends ...int64) int64 { // few values, so that ties occur
			return rapid.SampledFrom(ends).Draw(t, "value")
		}
		event := func() Event {
			of, most := int32(draw(Server, 0, 1, MaxDevices-1)), int64(1<<seqBits-1)
			if of == Server {
				most = math.MaxUint32
			}
			return Event{
				At:     Time(draw(0, 1, 1<<32, 1<<32+1, int64(Never)-1, int64(Never))),
				Kind:   Kind(draw(0, 1, int64(MaxKind))),
				Device: of,
				Seq:    uint32(draw(1, 2, most)),
			}
		}
		a, b := event(), event()
		pack := func(ev Event) item { return item{At: uint64(ev.At), Key: key(ev.Kind, ev.Device, ev.Seq)} }
		if got := eventOf(pack(a)); got != a {
			t.Fatalf("%s packs to %s", describe(a), describe(got))
		}
		if got, want := pack(a).Before(pack(b)), precedes(a, b); got != want {
			t.Fatalf("%s is before %s: %v, want %v", describe(a), describe(b), got, want)
		}
	})
}

// precedes compares all four keys, one by one.
func precedes(a, b Event) bool {
	x := [4]int64{int64(a.At), int64(a.Kind), int64(a.Device), int64(a.Seq)}
	y := [4]int64{int64(b.At), int64(b.Kind), int64(b.Device), int64(b.Seq)}
	for i := range x {
		if x[i] != y[i] {
			return x[i] < y[i]
		}
	}
	return false
}
