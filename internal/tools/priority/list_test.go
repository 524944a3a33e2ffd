package priority

import (
	"math/rand/v2"
	"testing"

	"fedsim/internal/tools/expect"
)

// Rounds with one item per device need memory for one item per device, even if some are removed before they are
// first. The others stay in order.
func TestListTakesNoMoreRoomThanItsItems(t *testing.T) {
	const devices = 1000
	l, r, now := NewList(new(heap4)), rand.New(rand.NewPCG(1, 2)), uint64(0)
	latest := make([]uint64, devices) // keys; 0: none
	wanted := func(items []Item) []Item {
		kept := items[:0]
		for _, it := range items {
			if latest[it.Key%devices] == it.Key {
				kept = append(kept, it)
			}
		}
		return kept
	}
	for round := range uint64(50) {
		for d := range uint64(devices) {
			latest[d] = (round+1)*devices + d
			l.Collect(Item{At: now + r.Uint64N(1000), Key: latest[d]}, devices, wanted)
		}
		small := l.Absorb()
		expect.Must(t, len(small) == 0, "a batch of %d is small", len(small))
		until := Item{At: now + 300 + r.Uint64N(600)}
		for last := (Item{}); ; {
			first, ok := l.First(wanted)
			if !ok || !first.Before(until) {
				break
			}
			expect.Must(t, last.Before(first) && latest[first.Key%devices] == first.Key,
				"round %d: %x follows %x", round, first, last)
			latest[first.Key%devices], last = 0, first
			l.Pop()
		}
		now = until.At
	}
	room := cap(l.memory)
	expect.That(t, room <= devices+1, "there is room for %d items of %d devices", room, devices)
}
