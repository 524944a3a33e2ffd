package command

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"fedsim/experiment"
	"fedsim/experiment/into"
	"fedsim/internal/rooms/clusters/work"
)

type workFlags struct {
	computeFlags // workers and allowExternal
	resumeFlags  // checkpoint
	outputFlags  // quiet
	retry        bool
	noWait       bool
}

func newWork() *cobra.Command {
	f := workFlags{computeFlags: computeFlags{progress: progressNone}}
	cmd := takesOne(&cobra.Command{
		Use:   "work DIR",
		Short: "Do groups of a plan that are not done",
		Long: `Do the groups of a plan ("fedsim plan make") that are not done, until none is left or
all others have failed. Any number of workers on any number of machines may work
in the same directory, and each may end at any time: a worker continues the
checkpoints of those that have ended.

A worker waits while others do what is left, in case they end. With --no-wait it
does not: a scheduler that starts a lost task again needs no other to wait.

An interrupt or SIGTERM ends each run after its current round, saves a checkpoint
and exits with status 75: start the worker again to continue. Status 1 means that
a group has failed, and the others are done.`,
		Example: `  fedsim plan work plans/lte
  fedsim plan work plans/lte --no-wait
  fedsim plan work plans/lte --retry`,
	}, "the directory of a plan", completeDirectory, f.work)
	flags := cmd.Flags()
	flags.BoolVar(&f.retry, "retry", false, "try again the groups that have failed")
	flags.BoolVar(&f.noWait, "no-wait", false, "end when other workers do all that is left")
	flags.IntVar(&f.workers, "workers", 0, "`N` cores (default all; results are the same)")
	f.addAllow(cmd)
	f.addCheckpoint(cmd)
	addOtherProgram(cmd, &f.otherProgram, resumeOther)
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print errors only, and programs that are started")
	return cmd
}

func (f *workFlags) work(cmd *cobra.Command, dir string) error {
	if err := errors.Join(f.computeFlags.check(false), f.resumeFlags.check(cmd)); err != nil {
		return err
	}
	d, err := work.Open(dir, readVersion().String())
	if err != nil {
		return err
	}
	if err := f.permit(cmd)(d.Scenario); err != nil {
		return err
	}
	err = f.start(cmd, d, 1)
	if experiment.Interrupted(err) {
		return interrupted{"interrupted; checkpoints are saved; continue with: fedsim plan work " + dir, err}
	}
	if err != nil {
		return err
	}
	text := "done"
	if f.noWait {
		text = "nothing is left that no other worker does"
	}
	return printf(f.text(cmd), "%s: %s\n", dir, text)
}

// start lets n workers of this process do the items of a plan until they end. It returns the error of
// the first that has one.
func (f *workFlags) start(cmd *cobra.Command, d *work.Dir, n int) error {
	defer ignoreTerminate()()
	var directory directoryFlags
	o := directory.options(d.Plan.Command)
	o.Every = f.every()
	about, err := into.About(d.Scenario, o)
	if err != nil {
		return err
	}
	compute := f.options(cmd)
	if o.Every > 0 {
		compute.Checkpoints = experiment.CheckpointPolicy{Every: o.Every, Clock: time.Now}
	}
	note := func(text string) {
		if !f.quiet {
			printLine(cmd.ErrOrStderr(), text, false)
		}
	}
	waitsForRounds(cmd.Context())
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range errs {
		all.Go(func() {
			by, err := thisWorker()
			if err == nil {
				err = d.Work(cmd.Context(), work.Options{
					Retry: f.retry, NoWait: f.noWait, By: by, About: about, Note: note,
					Run:   compute,
					Stale: staleAfter,
				})
			}
			errs[i] = err
		})
	}
	all.Wait()
	return cmp.Or(errs...)
}

// staleAfter is the age of a claim that is taken over; 0: the default. Tests shorten it.
var staleAfter time.Duration

// thisWorker returns a worker of this process, under a name that no other has: process numbers and
// the names of hosts are given again.
func thisWorker() (by work.Claim, err error) {
	by.Host, err = os.Hostname()
	if err != nil {
		return by, err
	}
	var random [4]byte
	_, _ = rand.Read(random[:]) // it never returns an error
	by.Process = work.ThisProcess()
	by.Worker = fmt.Sprintf("%s-%d-%s", by.Host, by.Process.PID, hex.EncodeToString(random[:]))
	return by, nil
}
