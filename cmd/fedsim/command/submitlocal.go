package command

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"fedsim/internal/clusters/submit"
	"fedsim/internal/clusters/work"
	"fedsim/internal/quote"
)

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
	printLine(cmd.ErrOrStderr(), fmt.Sprintf("%s begin; \"fedsim status %s --watch\" shows how far they are", count(n, "worker"), quote.Shell(of.named)), false)
	stopped := false
	submit.Local(cmd.Context(), j.Command, n, func(w submit.Worker) {
		switch {
		case w.Status == exitDone:
		case w.Status == exitInterrupted, cmd.Context().Err() != nil: // perhaps before it could react
			stopped = true
		case w.Status == exitFailed && of.failed(): // the end says so
		default:
			printError(cmd.ErrOrStderr(), w.Err)
		}
	})
	state, err := of.view.State()
	if err != nil {
		return err
	}
	switch left := state.Groups.Total - state.Groups.Done; {
	case left == 0:
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "done: %s by %s; next: fedsim merge %s\n", count(of.missing.Groups, "group"), count(n, "worker"), quote.Shell(of.named))
		return err
	case stopped:
		return interrupted{fmt.Sprintf("interrupted: %s left; the same command continues", count(left, "group")), context.Canceled}
	default:
		return fmt.Errorf("%s left; %s and %s failed: \"fedsim status %s\" says why",
			count(left, "group"), count(state.Groups.Failed, "group"), count(state.Needs.Failed, "prerequisite"), quote.Shell(of.named))
	}
}

// failed reports whether a group or a prerequisite has failed.
func (of *submission) failed() bool {
	state, err := of.view.State()
	return err == nil && state.Groups.Failed+state.Needs.Failed > 0
}
