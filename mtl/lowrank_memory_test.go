package mtl

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"fedsim/data"
	"fedsim/internal/tools/expect"
)

// The next garbage collection frees a coupling after its last use. The runtime retains its
// pool of scratch for two more collections, but the pool does not retain the coupling.
func TestUnusedCouplingIsFreed(t *testing.T) {
	var gone atomic.Bool
	use := func() {
		c := manyTasks(t)
		runtime.AddCleanup(c, func(struct{}) { gone.Store(true) }, struct{}{})
		v, w := data.NewMatrix(c.Tasks(), 3), data.NewMatrix(c.Tasks(), 3)
		c.Primal(&w, &v)
	}
	use()
	runtime.GC() // a single collection
	for range 1000 {
		if gone.Load() {
			return
		}
		time.Sleep(time.Millisecond) // cleanups run in a goroutine of the runtime
	}
	t.Error("the coupling was not freed")
}

// manyTasks returns a low-rank coupling of 1000 tasks with 3 features.
func manyTasks(t *testing.T) *lowRank {
	w := data.NewMatrix(1000, 3)
	for i := range w.Rows {
		w.Row(i)[i%3] = float64(1 + i%7)
	}
	c := expect.Value(Probabilistic{Lambda: 1}.Update(nil, &w, 0.1))(t)
	return c.(*lowRank)
}
