package rng

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The generator is that of the standard library.
func TestStreamIsPCG(t *testing.T) {
	for device := range 100 {
		s := New(7, Solve, device, 3)
		twin := rand.NewPCG(s.hi, s.lo)
		for i := range 100 {
			if got, want := s.Uint64(), twin.Uint64(); got != want {
				t.Fatalf("device %d, draw %d: %x, want %x", device, i, got, want)
			}
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
		if !slices.Equal(whole, parts) || !slices.Equal(whole, single) || a != b || a != c {
			t.Fatalf("n = %d: at once %v, in two parts %v, one by one %v", n, whole, parts, single)
		}
		slices.Sort(whole)
		if !slices.Equal(whole, identity) {
			t.Fatalf("n = %d: not a permutation: %v", n, whole)
		}
	}
}

// An attempt is of another stream than the round, also where an int has 32 bits.
func TestAttemptsHaveStreamsOfTheirOwn(t *testing.T) {
	if New(1, Drop, 3, 7) != NewAttempt(1, Drop, 3, 7, 0) {
		t.Error("the first attempt is not of the round's stream")
	}
	seen := map[Stream]bool{}
	for attempt := range 1000 {
		seen[NewAttempt(1, Drop, 3, 7, attempt)] = true
	}
	if len(seen) != 1000 {
		t.Errorf("1000 attempts have %d streams", len(seen))
	}
}
