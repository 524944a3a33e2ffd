package priority

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
)

// The bucket of digit l of an item starts at the digits above it and ends where the next
// one starts.
func TestDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		it := Item{At: rapid.Uint64Range(0, math.MaxInt64).Draw(t, "at"), Key: rapid.Uint64().Draw(t, "key")}
		level := rapid.UintRange(0, levels-1).Draw(t, "level")
		start := it.withDigit(level, it.digit(level))
		end := start.plusDigit(level)
		expect.Must(t, !it.Before(start) && it.Before(end),
			"%x is not in its bucket of level %d, %x to %x", it, level, start, end)
		for l := range uint(levels) {
			want := it.digit(l)
			if l < level {
				want = 0
			}
			expect.Must(t, start.digit(l) == want, "digit %d of %x is %x, want %x", l, start, start.digit(l), want)
		}
	})
}
