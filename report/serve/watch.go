package serve

import (
	"context"
	"sync"
	"time"

	"fedsim/results/rundir"
)

// lookEvery is how often the directory is looked at.
const lookEvery = 200 * time.Millisecond

// watch knows what a run directory is at, and tells whoever waits when it changes.
type watch struct {
	dir string

	mu   sync.Mutex
	seen rundir.Info
	next chan struct{} // closed when seen is another
}

// newWatch looks at a directory for the first time.
func newWatch(dir string) (*watch, error) {
	seen, err := rundir.Stat(dir)
	if err != nil {
		return nil, err
	}
	return &watch{dir: dir, seen: seen, next: make(chan struct{})}, nil
}

// now returns what was seen last, and a channel that is closed when that is over.
func (w *watch) now() (rundir.Info, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen, w.next
}

// run looks again and again until ctx ends. Between two changes that it tells is at
// least what pace returns.
func (w *watch) run(ctx context.Context, pace func() time.Duration) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var told time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		seen := w.look()
		if last, _ := w.now(); seen == last || time.Since(told) < pace() {
			continue
		}
		told = time.Now()
		w.mu.Lock()
		w.seen = seen
		close(w.next)
		w.next = make(chan struct{})
		w.mu.Unlock()
	}
}

// look looks. A directory that cannot be looked at is as good as none until it can;
// who asks for its data is told why.
func (w *watch) look() rundir.Info {
	seen, err := rundir.Stat(w.dir)
	if err != nil {
		return rundir.Info{Status: rundir.Absent, Version: err.Error()}
	}
	return seen
}
