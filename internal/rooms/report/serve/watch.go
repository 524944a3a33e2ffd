package serve

import (
	"context"
	"sync"
	"time"

	"fedsim/results/rundir"
)

// pollInterval is the interval at which the directory is polled.
const pollInterval = 200 * time.Millisecond

// watch polls a source and notifies its listeners of changes.
type watch struct {
	stat func() (rundir.Info, error)

	mu   sync.Mutex
	seen rundir.Info
	next chan struct{} // closed at the next change of seen
}

// newWatch polls a source for the first time.
func newWatch(stat func() (rundir.Info, error)) (*watch, error) {
	seen, err := stat()
	if err != nil {
		return nil, err
	}
	return &watch{stat: stat, seen: seen, next: make(chan struct{})}, nil
}

// now returns the last state and a channel that is closed when the state changes.
func (w *watch) now() (rundir.Info, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen, w.next
}

// run polls until ctx ends. The time between two notifications is at least interval().
func (w *watch) run(ctx context.Context, interval func() time.Duration) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var notified time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		seen, err := w.stat()
		if err != nil { // absent until it can be read; requests for its data return the error
			seen = rundir.Info{Status: rundir.Absent, Version: err.Error()}
		}
		if last, _ := w.now(); seen == last || time.Since(notified) < interval() {
			continue
		}
		notified = time.Now()
		w.mu.Lock()
		w.seen = seen
		close(w.next)
		w.next = make(chan struct{})
		w.mu.Unlock()
	}
}
