package mtl

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"fedsim/data"
)

// A coupling that no one uses any more is let go of in the next collection: its
// pool of scratch, which the runtime knows for two more, does not hold it. Each has
// the size of W.
func TestAnOldCouplingIsLetGo(t *testing.T) {
	var gone atomic.Bool
	use := func() {
		c := manyTasks(t)
		runtime.AddCleanup(c, func(struct{}) { gone.Store(true) }, struct{}{})
		v, w := data.NewMatrix(c.Tasks(), 3), data.NewMatrix(c.Tasks(), 3)
		c.Primal(&w, &v)
	}
	use()
	runtime.GC() // one collection alone
	for range 1000 {
		if gone.Load() {
			return
		}
		time.Sleep(time.Millisecond) // cleanups run in a goroutine of the runtime's
	}
	t.Error("a coupling is still there after a collection")
}

// manyTasks returns a low-rank coupling that a product has scratch for.
func manyTasks(t *testing.T) *lowRank {
	w := data.NewMatrix(1000, 3)
	for i := range w.Rows {
		w.Row(i)[i%3] = float64(1 + i%7)
	}
	c, err := Probabilistic{Lambda: 1}.Update(nil, &w, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	return c.(*lowRank)
}
