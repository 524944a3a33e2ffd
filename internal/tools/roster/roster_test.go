package roster

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
)

// A lazy roster and its columns agree with a map, also a column that is made later. Pointers stay
// valid.
func TestLazyRosterAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := New(1<<30, true)
		initial := func(client int) int { return 3 * client }
		early := NewColumn(r, initial)
		twin := map[int]*int{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			base := rapid.SampledFrom([]int{0, 1 << 20, 1<<30 - 3000}).Draw(t, "base")
			for range rapid.SampledFrom([]int{1, 20, 2000}).Draw(t, "added") {
				client := base + len(twin)%7*400 + len(twin)%13
				expect.Must(t, r.Has(client) == (twin[client] != nil) && r.Add(client) == (twin[client] == nil),
					"client %d has state: %v", client, !r.Has(client))
				if twin[client] == nil {
					twin[client] = early.At(client)
				}
			}
			expect.Must(t, !rapid.Bool().Draw(t, "sorted") || slices.IsSorted(r.Sorted()), "%v", r.Sorted())
		}
		late := NewColumn(r, initial)
		for client, value := range twin {
			expect.Must(t, early.At(client) == value && *value == 3*client && *late.At(client) == 3*client,
				"client %d: %d and %d, want %d", client, *value, *late.At(client), 3*client)
		}
		if sorted := r.Sorted(); len(sorted) != len(twin) || r.Known() != len(twin) || !slices.IsSorted(sorted) {
			t.Fatalf("%d clients, %d known, want %d", len(sorted), r.Known(), len(twin))
		}
	})
}

func TestEveryClientOfAWholeRosterHasState(t *testing.T) {
	r := New(5, false)
	c := NewColumn(r, func(client int) int { return client + 1 })
	expect.That(t, r.Has(4) && !r.Add(4) && r.Known() == 5 && *c.At(4) == 5,
		"client 4: %d, %d known", *c.At(4), r.Known())
	n := testing.AllocsPerRun(10, func() { *c.At(3) = 7 })
	expect.That(t, n == 0, "%g allocations", n)
}
