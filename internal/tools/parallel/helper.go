package parallel

import (
	"runtime"
	"sync/atomic"
	"time"
)

// loop is a call of For that helpers may join.
type loop struct {
	pool  *Pool
	work  func(worker int)
	at    atomic.Int64  // workers that have joined and not left; 0: it has ended
	ended chan struct{} // closed by the last
}

// newLoop returns the loop of a caller, who has joined it.
func newLoop(p *Pool, work func(worker int)) *loop {
	l := &loop{pool: p, work: work, ended: make(chan struct{})}
	l.at.Store(1)
	return l
}

// join reports whether the loop has not ended, and counts the worker.
func (l *loop) join() bool {
	for n := l.at.Load(); n > 0; n = l.at.Load() {
		if l.at.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// leave uncounts the worker.
func (l *loop) leave() {
	if l.at.Add(-1) == 0 {
		close(l.ended)
	}
}

// await returns when the loop has ended. It spins for a while, since waking a core takes longer
// than a piece of a short loop.
func (l *loop) await() {
	for began := time.Now(); l.at.Load() > 0; {
		if time.Since(began) >= l.pool.patience {
			<-l.ended
			return
		}
	}
}

// task is the part of a helper in a loop.
type task struct {
	*loop
	worker int
}

// looking is the task of a helper that looks for one.
var looking = &task{}

// helper is a worker beyond the first. After a loop it looks for the next one, for as long as it
// worked and at most the patience of the pool: the system may take 100 us to wake a core, as long
// as all serial work of a short round.
type helper struct {
	next atomic.Pointer[task] // looking; nil: it must be woken
}

// start gives a task to an idle helper.
func (h *helper) start(t *task) {
	if !h.next.CompareAndSwap(looking, t) {
		go h.run(t)
	}
}

// run does a task, and those that come while the helper looks for them.
func (h *helper) run(t *task) {
	for t != nil {
		began := time.Now()
		joined := t.join()
		if joined {
			t.work(t.worker)
		}
		patience := min(time.Since(began), t.pool.patience)
		h.next.Store(looking)
		t.pool.idle <- h
		if joined {
			t.leave()
		}
		t = h.look(patience)
	}
}

// look returns the next task, or nil if none comes in time.
func (h *helper) look(patience time.Duration) *task {
	runtime.Gosched() // the caller of For may wait for this core
	for began := time.Now(); h.next.Load() == looking; {
		if time.Since(began) >= patience && h.next.CompareAndSwap(looking, nil) {
			return nil
		}
	}
	return h.next.Load()
}
