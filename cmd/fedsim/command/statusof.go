package command

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/rooms/clusters/work"
	"fedsim/internal/tools/plainjson"
)

type statusFlags struct {
	json, watch bool
}

func newStatus() *cobra.Command {
	var f statusFlags
	cmd := takesOne(&cobra.Command{
		Use:   "status DIR",
		Short: "Show how far the work of a plan or a run is",
		Long: `Show how far the work of a plan is: which groups failed and why, which run, on
which host and since when, and which wait. The time left is estimated from the
time of the work that is done.

DIR may also be a run directory. fedsim status changes nothing there.

--watch prints a line for every change. It ends with status 0 when all is done, and with
status 1 when nothing runs and all that is left has failed or was stopped.`,
		Example: `  fedsim status plans/lte
  fedsim status plans/lte --watch
  fedsim status plans/lte --json`,
	}, "one plan directory or run directory", completeDirectory, f.status)
	cmd.Flags().BoolVar(&f.json, "json", false, "print the status as JSON (docs/json.md)")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "show every change until all is done")
	return cmd
}

// subject is what fedsim status shows: a plan or a run at a moment.
type subject interface {
	text(width int) string
	line() (counts, more string) // the numbers in one line, and what changes all the time
	ended() (ended bool, err error)
}

func (f *statusFlags) status(cmd *cobra.Command, dir string) error {
	if f.json && f.watch {
		return usagef("--json cannot be combined with --watch: call fedsim status --json again and again")
	}
	look := func() (subject, error) { return lookAtRun(dir) }
	if plan.Is(dir) {
		var err error
		if look, err = lookAtPlan(dir); err != nil {
			return err
		}
	}
	out := cmd.OutOrStdout()
	if f.watch {
		w := watcher{out: out, look: look, now: time.Now}
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		return w.watch(ticker.C, cmd.Context().Done(), cmd.Context().Err)
	}
	s, err := look()
	if err != nil {
		return err
	}
	if f.json {
		return plainjson.Print(out, s)
	}
	return printText(out, s.text(textWidth()))
}

// lookAtPlan returns a function that returns the status of a plan directory.
func lookAtPlan(dir string) (func() (subject, error), error) {
	d, err := work.Open(dir, readVersion().String())
	if err != nil {
		return nil, err
	}
	view := d.View(time.Now)
	return func() (subject, error) {
		s, err := view.State()
		if err == nil && !plan.Is(dir) {
			err = fmt.Errorf("%s: the plan was removed", dir)
		}
		if err != nil {
			return nil, err
		}
		return newPlanState(s), nil
	}, nil
}

// watcher prints a line for every change of a subject, at most one in lineEvery.
type watcher struct {
	out  io.Writer
	look func() (subject, error)
	now  func() time.Time

	shown string    // the last line without its time
	at    time.Time // when it was shown
}

// lineEvery is the least time between two lines.
const lineEvery = 5 * time.Second

// watch looks at every tick until the subject has ended, or it is interrupted.
func (w *watcher) watch(tick <-chan time.Time, done <-chan struct{}, why func() error) error {
	for {
		s, err := w.look()
		if err != nil {
			return err
		}
		ended, result := s.ended()
		if err := w.show(s, ended); err != nil || ended {
			return errors.Join(err, result)
		}
		select {
		case <-tick:
		case <-done:
			return interrupted{"fedsim status was interrupted; the work was not", why()}
		}
	}
}

// show shows the subject if it has changed; the last time in any case.
func (w *watcher) show(s subject, last bool) error {
	counts, more := s.line()
	if counts == w.shown || !last && !w.at.IsZero() && w.now().Sub(w.at) < lineEvery {
		return nil
	}
	w.shown, w.at = counts, w.now()
	return errors.Join(printf(w.out, "%s %s%s\n", w.at.Format("15:04:05"), counts, more), flush(w.out))
}
