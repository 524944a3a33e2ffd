package engine

import (
	"testing"

	"fedsim/internal/tools/expect"

	"pgregory.net/rapid"
)

// The windows and the table agree with a map, for devices with many more events than a
// window has bits.
func TestPendingAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const devices = 3
		s := newPendingSet(devices-1, nil)
		twin := map[uint64]bool{}
		var given []uint64
		for range rapid.IntRange(1, 50).Draw(t, "operations") {
			device := rapid.IntRange(Server, devices-2).Draw(t, "device")
			for range rapid.SampledFrom([]int{1, 5, 100}).Draw(t, "given") {
				k := uint64(len(given)%int(MaxKind))<<(seqBits+rowBits) | s.add(device)
				given = append(given, k)
				twin[k] = true
			}
			for range rapid.IntRange(0, 60).Draw(t, "removed") {
				k := rapid.SampledFrom(given).Draw(t, "which")
				if got := s.remove(k); got != twin[k] {
					t.Fatalf("removing event %d of device %d gives %v, want %v", seqOf(k), deviceOf(k), got, twin[k])
				}
				delete(twin, k)
			}
		}
		items := make([]item, len(given))
		for i, k := range given {
			items[i] = item{Key: k}
			expect.Must(t, s.has(k) == twin[k],
				"event %d of device %d is pending: %v, want %v", seqOf(k), deviceOf(k), s.has(k), twin[k])
		}
		kept := s.prune(items)
		for _, k := range given {
			if twin[k] {
				expect.Must(t, len(kept) != 0 && kept[0].Key == k,
					"pruning loses or moves event %d of device %d", seqOf(k), deviceOf(k))
				kept = kept[1:]
			}
		}
		expect.Must(t, len(kept) == 0 && s.n == len(twin),
			"%d extra items remain, %d are pending, want 0 and %d", len(kept), s.n, len(twin))
	})
}
