// Package parallel spreads independent pieces of work over the cores. Every piece
// writes to a separate place, so that results do not depend on the number of workers
// or on which worker does which piece.
//
// It must not know the work.
package parallel

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Pool is a budget of workers that all computations share: several runs at once, and
// the local solves within each. The caller of For works too, and borrows the workers
// that are idle. So nested loops neither deadlock nor start more workers than the pool
// has. A nil pool has one worker, the caller.
type Pool struct {
	size     int
	idle     chan *helper  // the workers beyond the first that have no loop
	patience time.Duration // how long a worker without work keeps its core at most
}

// NewPool returns a pool of n workers; n <= 0 means one per core.
func NewPool(n int) *Pool {
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	p := &Pool{}
	p.Grow(n)
	return p
}

// Grow adds n workers, for work that waits for other programs. No loop may be under way.
func (p *Pool) Grow(n int) {
	p.size += n
	if p.patience = 0; p.size <= runtime.GOMAXPROCS(0) {
		p.patience = 200 * time.Microsecond
	}
	p.idle = make(chan *helper, p.size)
	for range p.size - 1 {
		p.idle <- new(helper)
	}
}

// Size returns the number of workers. A worker index passed by For is below it.
func (p *Pool) Size() int {
	if p == nil {
		return 1
	}
	return p.size
}

// Panic is the panic of a piece of work, with the stack of its worker.
type Panic struct {
	Value any
	Stack []byte
}

// Error returns the value and the stack. Go prints it when the program ends.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

// For calls f(i, worker) once for every i in [0, n) and returns when all calls
// have returned. Calls that run at the same time have different worker indices, which
// index scratch space. A panic in f reaches the caller as a [*Panic].
func (p *Pool) For(n int, f func(i, worker int)) {
	if n <= 0 {
		return
	}
	// A worker takes several pieces at a time when there are many, so that taking
	// them costs nothing beside small ones.
	const least, most = 64, 256 // shares of a worker; pieces at a time
	step := min(max(1, n/(p.Size()*least)), most)
	var next atomic.Int64
	var failure atomic.Pointer[Panic]
	work := func(worker int) {
		defer func() {
			if r := recover(); r != nil {
				p, nested := r.(*Panic)
				if !nested {
					p = &Panic{Value: r, Stack: debug.Stack()}
				}
				failure.CompareAndSwap(nil, p)
				next.Store(int64(n))
			}
		}()
		for {
			end := int(next.Add(int64(step)))
			if end-step >= n {
				return
			}
			for i := end - step; i < min(end, n); i++ {
				f(i, worker)
			}
		}
	}
	var l *loop // nil: it has no helpers
	for worker := 1; worker < min(p.Size(), n); worker++ {
		select {
		case h := <-p.idle:
			if l == nil {
				l = newLoop(p, work)
			}
			h.start(&task{l, worker})
			continue
		default:
		}
		break
	}
	work(0)
	if l != nil {
		l.leave()
		l.await()
	}
	if p := failure.Load(); p != nil {
		panic(p)
	}
}
