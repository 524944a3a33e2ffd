package parallel

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fedsim/internal/tools/expect"
)

func TestForCallsEachOnceWithDistinctWorkers(t *testing.T) {
	for _, size := range []int{1, 2, 8} {
		pool := NewPool(size)
		const n = 1000
		var calls [n]atomic.Int32
		busy := make([]atomic.Bool, size)
		pool.For(n, func(i, worker int) {
			expect.That(t, !busy[worker].Swap(true), "worker %d used twice at once", worker)
			calls[i].Add(1)
			busy[worker].Store(false)
		})
		for i := range calls {
			c := calls[i].Load()
			expect.Must(t, c == 1, "size %d: piece %d ran %d times", size, i, c)
		}
	}
}

// Helpers that look for the next loop, and those that come too late to one, take part in many short loops in a row.
func TestShortLoopsInARow(t *testing.T) {
	for _, size := range []int{2, 8} { // with and without a core for each
		pool := NewPool(size)
		var calls [20]int // not atomic: a loop ends after its last call
		for loop := range 60 {
			pool.For(len(calls), func(i, worker int) {
				if loop%3 == 0 { // the caller is done first
					time.Sleep(time.Duration(1+5*min(worker, 1)) * 20 * time.Microsecond)
				}
				calls[i]++
			})
			for i, n := range calls {
				expect.Must(t, n == loop+1, "size %d: piece %d ran %d times in %d loops", size, i, n, loop+1)
			}
		}
	}
}

func TestNestedForEndsAndKeepsToItsBudget(t *testing.T) {
	pool := NewPool(3)
	var running, most, sum atomic.Int64
	pool.For(10, func(int, int) {
		pool.For(10, func(i, _ int) {
			now := running.Add(1)
			for {
				m := most.Load()
				if now <= m || most.CompareAndSwap(m, now) {
					break
				}
			}
			sum.Add(int64(i))
			running.Add(-1)
		})
	})
	expect.That(t, sum.Load() == 450, "sum = %d, want 450", sum.Load())
	expect.That(t, most.Load() <= 3, "%d pieces ran at once on 3 workers", most.Load())
	for range 2 { // helpers that came too late to a loop may still be on their way
		<-pool.idle
	}
}

// The panic of a nested loop reaches the caller once, with the line that panicked.
func TestPanicReachesTheCaller(t *testing.T) {
	for _, pool := range []*Pool{nil, NewPool(1), NewPool(2)} {
		func() {
			defer func() {
				p, ok := recover().(*Panic)
				expect.Must(t, ok && p.Value == "boom", "recovered %v, want boom", p)
				if text := p.Error(); !strings.HasPrefix(text, "boom\n") ||
					!strings.Contains(text, "parallel.goesWrong") ||
					!strings.Contains(text, "parallel_test.go:") || strings.Count(text, "boom\n") != 1 {
					t.Errorf("the panic says\n%s", text)
				}
			}()
			pool.For(8, func(i, _ int) {
				pool.For(2, func(j, _ int) { goesWrong(i + j) })
			})
			t.Error("For returned after a panic")
		}()
	}
}

//go:noinline
func goesWrong(i int) {
	if i == 3 {
		panic("boom")
	}
}

func TestNilPoolIsTheCaller(t *testing.T) {
	var pool *Pool
	expect.That(t, pool.Size() == 1, "a nil pool has %d workers, want 1", pool.Size())
	var order []int
	pool.For(3, func(i, worker int) {
		expect.That(t, worker == 0, "piece %d went to worker %d of a nil pool", i, worker)
		order = append(order, i)
	})
	expect.That(t, len(order) == 3 && order[0] == 0 && order[1] == 1 && order[2] == 2,
		"pieces %v, want 0 to 2 in order", order)
}
