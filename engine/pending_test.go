package engine

import (
	"testing"

	"pgregory.net/rapid"
)

// The windows and the table agree with a map, for devices with many more events than a
// window has bits.
func TestPendingAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const devices = 3
		s := &pendingSet{devices: make([]window, devices)}
		twin := map[uint64]bool{}
		var given []uint64
		for range rapid.IntRange(1, 50).Draw(t, "operations") {
			row := rapid.IntRange(0, devices-1).Draw(t, "device")
			for range rapid.SampledFrom([]int{1, 5, 100}).Draw(t, "given") {
				k := key(Kind(len(given)%int(MaxKind)), int32(row-1), s.add(row))
				given = append(given, k)
				twin[k] = true
			}
			for range rapid.IntRange(0, 60).Draw(t, "removed") {
				k := rapid.SampledFrom(given).Draw(t, "which")
				if got := s.remove(k); got != twin[k] {
					t.Fatalf("removing event %d of device %d gives %v, want %v", uint32(k), rowOf(k), got, twin[k])
				}
				delete(twin, k)
			}
		}
		items := make([]item, len(given))
		for i, k := range given {
			items[i] = item{key: k}
			if s.has(k) != twin[k] {
				t.Fatalf("event %d of device %d is pending: %v, want %v", uint32(k), rowOf(k), s.has(k), twin[k])
			}
		}
		kept := s.prune(items)
		for _, k := range given {
			if twin[k] {
				if len(kept) == 0 || kept[0].key != k {
					t.Fatalf("pruning loses or moves event %d of device %d", uint32(k), rowOf(k))
				}
				kept = kept[1:]
			}
		}
		if len(kept) != 0 || s.n != len(twin) {
			t.Fatalf("%d extra items remain, %d are pending, want 0 and %d", len(kept), s.n, len(twin))
		}
	})
}

// Probing wraps around the end of the table, also when gaps close.
func TestIDTableWraps(t *testing.T) {
	table := idTable{}
	table.add(1)
	last := len(table.ids) - 1
	var ids []uint64
	for id := uint64(2); len(ids) < 20; id++ {
		if home := table.home(id); home >= last-2 || home <= 2 {
			ids = append(ids, id)
			table.add(id)
		}
	}
	if len(table.ids) != last+1 {
		t.Fatalf("the table grew to %d places: the test shows nothing", len(table.ids))
	}
	for i, id := range ids {
		if !table.remove(id) || table.has(id) || table.remove(id) {
			t.Errorf("id %d cannot be removed exactly once", id)
		}
		for _, other := range ids[i+1:] {
			if !table.has(other) {
				t.Fatalf("removing id %d loses %d", id, other)
			}
		}
	}
	if !table.has(1) || table.n != 1 {
		t.Errorf("%d ids are left, want the first", table.n)
	}
}
