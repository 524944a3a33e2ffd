package command

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"fedsim/internal/tools/expect"
)

func TestGarbagePercent(t *testing.T) {
	const mega = 1 << 20
	for _, c := range []struct {
		live uint64
		want int
	}{
		{0, 100},
		{128 * mega, 100},
		{256 * mega, 50},
		{1 << 31, 6}, // 128 MB for 2 GB
		{1 << 40, 3},
	} {
		got := garbagePercent(c.live)
		expect.That(t, got == c.want, "%d MB alive: %d %%, want %d %%", c.live/mega, got, c.want)
	}
}

// The live heap at the end of each collection determines the limit on garbage until the
// next.
func TestLimitGarbageFollowsTheLiveHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer limitGarbage()()
	arena := make([]byte, 600<<20) // never touched: takes addresses, no memory
	percentBecomes(t, "with 600 MB alive", func(percent int) bool { return percent < 45 })
	runtime.KeepAlive(arena)
	arena = nil
	percentBecomes(t, "with little alive", func(percent int) bool { return percent == 100 })
}

func TestLimitGarbageLeavesTheUsersChoice(t *testing.T) {
	t.Setenv("GOGC", "30")
	defer debug.SetGCPercent(debug.SetGCPercent(30))
	defer limitGarbage()()
	runtime.GC()
	got := percentNow()
	expect.That(t, got == 30, "GOGC=30 became %d", got)
}

// percentBecomes collects garbage until the current percentage is right.
func percentBecomes(t *testing.T, when string, right func(percent int) bool) {
	t.Helper()
	for range 1000 {
		runtime.GC()
		if right(percentNow()) {
			return
		}
		time.Sleep(time.Millisecond) // cleanups run in a goroutine of the runtime
	}
	t.Errorf("%s: GOGC is %d", when, percentNow())
}

func percentNow() int {
	percent := debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	return percent
}
