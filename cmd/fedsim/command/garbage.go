package command

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// The garbage that may lie beside the live heap before it is collected: as much as
// is alive, Go's default, as long as that is little, and a small share of a large
// heap. The large heaps of fedsim are arenas without pointers, which cost a
// collection nothing.
const (
	mostGarbage  = 128 << 20 // bytes
	leastPercent = 3
)

// limitGarbage sets how much garbage there may be after every collection, until it
// is stopped, unless the user has (GOGC). It changes no result.
func limitGarbage() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	var stopped atomic.Bool
	// A cleanup runs when a collection has found its object dead.
	type witness struct{ _ [64]byte }
	var await func(struct{})
	await = func(struct{}) {
		if !stopped.Load() {
			debug.SetGCPercent(garbagePercent(liveHeap()))
			runtime.AddCleanup(new(witness), await, struct{}{})
		}
	}
	await(struct{}{})
	return func() { stopped.Store(true) }
}

// garbagePercent returns the percentage of a live heap of so many bytes that may be
// garbage.
func garbagePercent(live uint64) int {
	return int(min(100, max(leastPercent, mostGarbage*100/max(1, live))))
}

// liveHeap returns the bytes that the last collection found in use.
func liveHeap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
