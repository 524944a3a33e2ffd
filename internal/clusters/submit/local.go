package submit

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"fedsim/internal/child"
)

// Worker is a process of this machine that has ended.
type Worker struct {
	Index  int // from 1
	Status int // its exit status; -1 if a signal killed it or it could not start
	Err    error
}

// Local runs n processes of a command on this machine and waits for all of them. When ctx
// ends they are asked to end, and it still waits. It calls ended for each when it has ended,
// one call at a time.
func Local(ctx context.Context, command []string, n int, ended func(Worker)) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range n {
		all.Go(func() {
			w := Worker{Index: i + 1}
			if err := child.Run(ctx, child.Config{Command: command, Env: []string{"SLURM_ARRAY_TASK_ID="}}); err != nil {
				w.Status, w.Err = -1, fmt.Errorf("worker %d of %d: %w", i+1, n, err)
				if exit, ok := errors.AsType[*child.ExitError](err); ok {
					w.Status = exit.Code
				}
			}
			mu.Lock()
			defer mu.Unlock()
			ended(w)
		})
	}
	all.Wait()
}
