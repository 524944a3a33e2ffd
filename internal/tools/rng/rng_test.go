package rng

import (
	"math/rand/v2"
	"slices"
	"testing"

	"fedsim/internal/tools/expect"
)

// The generator is that of the standard library.
func TestStreamIsPCG(t *testing.T) {
	for device := range 100 {
		s := New(7, Solve, device, 3)
		twin := rand.NewPCG(s.hi, s.lo)
		for i := range 100 {
			got, want := s.Uint64(), twin.Uint64()
			expect.Must(t, got == want, "device %d, draw %d: %x, want %x", device, i, got, want)
		}
	}
}

// Drawing in pieces is drawing at once, one draw an element, and a permutation.
func TestDrawContinues(t *testing.T) {
	for n := 1; n < 40; n++ {
		identity := make([]int32, n)
		for i := range identity {
			identity[i] = int32(i)
		}
		whole, parts, single := slices.Clone(identity), slices.Clone(identity), slices.Clone(identity)
		a := New(1, Solve, n, 0)
		b, c := a, a
		a.Draw(whole, 0, n)
		b.Draw(parts, 0, n/3)
		b.Draw(parts, n/3, n)
		for i := range n {
			j := i + c.IntN(n-i)
			single[i], single[j] = single[j], single[i]
		}
		expect.Must(t, slices.Equal(whole, parts) && slices.Equal(whole, single) && a == b && a == c,
			"n = %d: at once %v, in two parts %v, one by one %v", n, whole, parts, single)
		slices.Sort(whole)
		expect.Must(t, slices.Equal(whole, identity), "n = %d: not a permutation: %v", n, whole)
	}
}

// An attempt is of another stream than the round, also where an int has 32 bits.
func TestAttemptsHaveStreamsOfTheirOwn(t *testing.T) {
	expect.That(t, New(1, Drop, 3, 7) == NewAttempt(1, Drop, 3, 7, 0), "the first attempt is not of the round's stream")
	seen := map[Stream]bool{}
	for attempt := range 1000 {
		seen[NewAttempt(1, Drop, 3, 7, attempt)] = true
	}
	expect.That(t, len(seen) == 1000, "1000 attempts have %d streams", len(seen))
}
