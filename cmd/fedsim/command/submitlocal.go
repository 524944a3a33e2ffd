package command

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"fedsim/internal/clusters/submit"
	"fedsim/internal/clusters/work"
	"fedsim/internal/quote"
)

// progressEvery is the time between two looks at a plan directory.
const progressEvery = 250 * time.Millisecond

// local works on the missing groups with processes of this machine.
func (f *submitFlags) local(cmd *cobra.Command, of *submission, d *work.Dir, j *submit.Job) error {
	n := f.tasks
	if n == 0 {
		n = max(runtime.GOMAXPROCS(0)/f.cores, 1)
	}
	n = min(n, of.missing.Groups) // the others have nothing to do
	if f.print {
		line := quote.Shell(j.Command...)
		for range n {
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), line+" &"); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "wait")
		return err
	}
	if err := forget(cmd, of, d); err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr(), f.progress, time.Now)
	ended := make(chan submit.Worker)
	go func() {
		defer close(ended)
		submit.Local(cmd.Context(), j.Command, n, func(w submit.Worker) { ended <- w })
	}()
	stopped := attend(cmd, p, of, n, ended)
	state, err := of.view.State()
	if err != nil {
		return err
	}
	m := of.missing
	switch left := state.Groups.Total - state.Groups.Done; {
	case left == 0:
		line := fmt.Sprintf("done: %s by %s; next: fedsim merge %s", count(m.Groups, "group"), count(n, "worker"), quote.Shell(of.named))
		return f.report(cmd, &sent{Engine: engineLocal, Tasks: n, Groups: m.Groups, Running: m.Running, TimeS: m.TimeS}, line)
	case stopped:
		return interrupted{fmt.Sprintf("interrupted: %s left; the same command continues", count(left, "group")), context.Canceled}
	default:
		return fmt.Errorf("%s left; %s and %s failed: \"fedsim status %s\" says why",
			count(left, "group"), count(state.Groups.Failed, "group"), count(state.Needs.Failed, "prerequisite"), quote.Shell(of.named))
	}
}

// attend shows the progress of n workers until all have ended. It reports a worker that fails
// at once, and returns whether one was interrupted.
func attend(cmd *cobra.Command, p *progress, of *submission, n int, ended <-chan submit.Worker) (interrupted bool) {
	defer p.end()
	look := time.NewTicker(progressEvery)
	defer look.Stop()
	before := -1.0
	for {
		select {
		case w, more := <-ended:
			if !more {
				return interrupted
			}
			n--
			switch {
			case w.Status == exitDone:
			case w.Status == exitInterrupted, cmd.Context().Err() != nil: // perhaps before it could react
				interrupted = true
			case w.Status == exitFailed && of.failed(): // the end says so
			default:
				p.end()
				printError(cmd.ErrOrStderr(), w.Err)
			}
		case <-look.C:
			state, err := of.view.State()
			if err != nil {
				continue // workers write at the same time; the last look counts
			}
			share := state.Share()
			if before < 0 {
				before = share
			}
			p.show(state.Groups.Done, state.Groups.Total, "groups", share, before, count(n, "worker"), "")
		}
	}
}

// failed reports whether a group or a prerequisite has failed.
func (of *submission) failed() bool {
	state, err := of.view.State()
	return err == nil && state.Groups.Failed+state.Needs.Failed > 0
}
