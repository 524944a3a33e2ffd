package flows

import (
	"math/rand/v2"
	"testing"

	"fedsim/internal/tools/expect"
)

// Members are added to three heaps and removed from anywhere. The first member agrees
// with a twin that searches all members: the least key, then the least number.
func TestHeapsAgainstTwin(t *testing.T) {
	const members, among = 60, 3
	random := rand.New(rand.NewPCG(9, 10))
	h := make(heaps, members)
	first := [among]int32{none, none, none}
	in := [members]int{}
	for i := range in {
		in[i] = -1
	}
	for step := range 50000 {
		id := int32(random.IntN(members))
		if k := in[id]; k >= 0 {
			if random.IntN(2) == 0 && first[k] != none {
				id = first[k]
			}
			first[k] = h.remove(first[k], id)
			in[id] = -1
		} else {
			k := random.IntN(among)
			first[k] = h.push(first[k], id, exact{float64(random.IntN(8)), float64(random.IntN(2)) * 0x1p-60})
			in[id] = k
		}
		for k := range among {
			want := none
			for id := range int32(members) {
				if in[id] == k && (want == none || h[id].key.less(h[want].key)) {
					want = id
				}
			}
			expect.Must(t, first[k] == want, "step %d: %d is first, want %d", step, first[k], want)
		}
	}
}
