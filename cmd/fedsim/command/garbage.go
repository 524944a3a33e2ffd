package command

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// The limit on garbage before the next collection. For a small heap it is the size of
// the live heap, the default of Go; for a large heap it is a small share. The large
// heaps of fedsim are arenas without pointers, which are cheap to collect.
const (
	maxGarbage = 128 << 20 // bytes
	minPercent = 3
)

// limitGarbage adapts GOGC to the live heap after every collection, until stop is
// called. It does nothing if the user sets GOGC. It does not change results.
func limitGarbage() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	var stopped atomic.Bool
	// A cleanup runs after a collection finds its object unreachable.
	type sentinel struct{ _ [64]byte }
	var adapt func(struct{})
	adapt = func(struct{}) {
		if !stopped.Load() {
			debug.SetGCPercent(garbagePercent(liveHeap()))
			runtime.AddCleanup(new(sentinel), adapt, struct{}{})
		}
	}
	adapt(struct{}{})
	return func() { stopped.Store(true) }
}

// garbagePercent returns GOGC for a live heap of so many bytes.
func garbagePercent(live uint64) int {
	return int(min(100, max(minPercent, maxGarbage*100/max(1, live))))
}

// liveHeap returns the bytes in use after the last collection.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
