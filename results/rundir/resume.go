package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"fedsim/internal/tools/atomicfile"
	"fedsim/internal/tools/quote"
	"fedsim/results"
)

// ErrComplete is wrapped by the error of OpenCheckpoint for a directory with a complete
// run.
var ErrComplete = errors.New("run is complete; nothing to resume")

// ErrUnfinished is wrapped by the error of Create for a directory with a checkpoint,
// which is not overwritten without force.
var ErrUnfinished = errors.New("holds an unfinished run")

// Checkpoint is what an unfinished run has saved in its run directory.
type Checkpoint struct {
	Scenario []byte // the resolved one
	Command  []string
	Program  *Program // nil: fedsim runs the methods
	Started  time.Time
	Cut      int64 // bytes at the end of its log that were not written as a whole, and are computed again
	dir      string
	progress *progress
	lock     *lock
}

// OpenCheckpoint locks a run directory and reads its checkpoint, of any platform. A
// checkpoint of another numeric version, or one that is corrupt, is refused with an
// error that wraps ErrCheckpoint. Without a checkpoint the error wraps ErrComplete if
// the run is complete, else ErrForeign. It wraps ErrBusy if another process writes to
// the directory. The caller resumes or closes the checkpoint.
func OpenCheckpoint(dir string) (c *Checkpoint, err error) {
	if !exists(filepath.Join(dir, stageDir)) { // then nothing is made there
		return nil, noCheckpoint(dir)
	}
	held, err := lockStage(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, held.release())
		}
	}()
	if c, err = readCheckpoint(dir, runAgain, true); err == nil && c == nil {
		err = noCheckpoint(dir)
	}
	if err != nil {
		return nil, err
	}
	c.lock = held
	return c, nil
}

// readCheckpoint reads the checkpoint of a run directory, nil when there is none, and checks all of it if asked to.
func readCheckpoint(dir, remedy string, all bool) (*Checkpoint, error) {
	path := filepath.Join(dir, stageDir, logFile)
	p, err := readProgress(path, all)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, refuse(path, err.Error(), cutRemedy(path, err, remedy))
	case !p.head.Resumable:
		return nil, nil
	case p.head.Manifest.Numerics != Numerics:
		return nil, refuse(path, otherNumerics(uint64(p.head.Manifest.Numerics), Numerics), remedy)
	}
	scenario := []byte(p.head.Scenario)
	return &Checkpoint{
		Scenario: scenario, Command: p.head.Manifest.Command, Program: p.head.Manifest.Program,
		Started: p.head.Manifest.Clock.Started, Cut: p.cut, dir: dir, progress: p,
	}, nil
}

// hasCheckpoint reports whether a run directory holds a checkpoint, good or bad.
func hasCheckpoint(dir string) bool {
	c, err := readCheckpoint(dir, runAgain, false)
	return c != nil || err != nil
}

// finished returns how many runs are finished.
func (c *Checkpoint) finished() (n int) {
	for _, run := range c.progress.runs {
		if isFinished(&run.Run) {
			n++
		}
	}
	return n
}

// isFinished reports whether a run needs no resuming.
func isFinished(r *results.Run) bool { return r.Status == results.Done || r.Status == results.Stalled }

// Empty reports whether the run was stopped before it saved any work: only its scenario
// is there.
func (c *Checkpoint) Empty() bool { return len(c.progress.states.named) == 0 && c.finished() == 0 }

// Close unlocks the directory and leaves the checkpoint. After Resume it does nothing.
func (c *Checkpoint) Close() error { return c.lock.release() }

// noCheckpoint explains why there is no checkpoint.
func noCheckpoint(dir string) error {
	m, err := inspect(dir)
	switch {
	case err != nil:
		return err
	case m != nil && len(m.Absent) > 0:
		return fmt.Errorf(
			"%s: is a partial merge, which is not resumed: merge its plan again, or choose another directory", dir)
	case m != nil && m.State == Complete: // it may have been killed while it cleared its stage
		return errors.Join(fmt.Errorf("%s: %w", dir, ErrComplete), clearStage(dir))
	default:
		return fmt.Errorf("%s: %w that can be resumed: %s", dir, ErrForeign, startIt)
	}
}

// requireNoCheckpoint reports the checkpoint that would be lost if the stage were
// overwritten: how far it is, and when it was written.
func requireNoCheckpoint(dir string) error {
	const remedy = "use --force to start over, or --out for another directory"
	c, err := readCheckpoint(dir, remedy, false)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", dir, ErrUnfinished, err)
	}
	if c == nil || c.Empty() {
		return nil
	}
	info, err := os.Stat(filepath.Join(dir, stageDir, logFile))
	if err != nil {
		return err
	}
	more := ""
	if len(c.progress.states.named) > 0 {
		more = " and more under way"
	}
	how := "with " + ResumeCommand(dir, c.Command)
	if c.Program != nil {
		how = "by starting " + c.Program.Name + " with --resume " + dir
	}
	return fmt.Errorf("%s: %w, %d finished%s, last written %s: resume it %s, %s",
		dir, ErrUnfinished, c.finished(), more, info.ModTime().Format("2006-01-02 at 15:04:05"), how, remedy)
}

// ResumeCommand returns the command that resumes the run in a directory, which starts programs if the command of the
// run did.
func ResumeCommand(dir string, command []string) string {
	resume := "fedsim run --resume " + quote.Shell(dir)
	if slices.Contains(command, "--allow-external") {
		resume += " --allow-external"
	}
	return resume
}

// Resume continues the run. The scenario of about must be that of the checkpoint; place
// returns the place of a run in its order. A run whose model was
// deleted is computed again. From now on the checkpoint stays, whatever happens.
func (c *Checkpoint) Resume(about About, place func(id string) (int, bool)) (*Writer, error) {
	path := filepath.Join(c.dir, stageDir, logFile)
	if !bytes.Equal(about.Scenario, c.Scenario) {
		return nil, refuse(path, "this version of fedsim interprets the scenario differently", runAgain)
	}
	about.Resumable = true
	w := &Writer{dir: c.dir, about: about, resumed: true}
	if err := undoInstall(c.dir); err != nil {
		return nil, err
	}
	for _, run := range c.progress.inOrder() {
		if !isFinished(&run.Run) {
			continue
		}
		if want, ok := place(run.ID); checkRun(&run.Run) != nil || !ok || want != run.place {
			return nil, refuse(path, fmt.Sprintf("run %q is not in its scenario", run.ID), runAgain)
		}
		there := run.Model == ""
		if !there {
			var err error
			if there, err = w.checkModel(&run.Run); err != nil {
				return nil, err
			}
		}
		if there {
			w.ended.append(run)
		}
	}
	m, err := inspect(c.dir)
	if err != nil {
		return nil, err
	}
	for i := 0; m != nil && i < len(m.Sums); i++ { // of the runs before the interrupt
		if err := m.checkFile(c.dir, m.Sums[i].Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if err := clearStage(c.dir, logFile, checkpointDir, modelsDir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(w.stage(), checkpointDir), 0o777); err != nil {
		return nil, err
	}
	if err := w.openLog(c.progress); err != nil {
		return nil, err
	}
	w.lock, c.lock = c.lock, nil
	return w, nil
}

// Save writes the state of a computation under way, until a run of that name is
// finished or the scenario is. When it fails, the state saved before stays. Calls for
// different names may overlap.
func (w *Writer) Save(name string, fill func(io.Writer) error) error {
	if err := w.log.save(name, fill); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hasWork = true
	return nil
}

// Load returns the state saved under a name, nil when there is none.
func (w *Writer) Load(name string) ([]byte, error) { return w.log.load(name) }

// Path returns the path of a file, 0 or 1, beside the state of a name. It is removed with the state.
func (w *Writer) Path(name string, number int) string {
	return filepath.Join(w.stage(), checkpointDir, programFile(StateFile(name), number))
}

// Reject returns the error of a state that cannot be resumed, and why.
func (w *Writer) Reject(name string, why error) error {
	return fmt.Errorf("%w (%w)", refuse(w.log.path, fmt.Sprintf("the state of %q: %v", name, why), runAgain), why)
}

// Checkpoint makes the finished runs durable, if any came since the last time.
func (w *Writer) Checkpoint() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.fresh) == 0 {
		return nil
	}
	return w.saveFinished()
}

// saveFinished makes the finished runs durable and removes the files beside their states.
func (w *Writer) saveFinished() error {
	if w.saved = time.Now(); !w.about.Resumable {
		return nil
	}
	err := w.log.sync()
	if w.failed = err != nil; w.failed {
		return err
	}
	w.hasWork = w.hasWork || slices.ContainsFunc(w.ended.list, func(r *endedRun) bool { return isFinished(&r.Run) })
	for _, id := range w.fresh {
		for number := range 2 {
			if err := os.Remove(w.Path(id, number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	w.fresh = nil
	return nil
}

// Suspend, in place of Finish, leaves only the checkpoint, to be resumed later. Discard
// then does nothing.
func (w *Writer) Suspend() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	err := w.saveFinished()
	w.log.close()
	return errors.Join(err, w.lock.release(), atomicfile.SyncDir(w.stage()), atomicfile.SyncDir(w.dir))
}

// Resumable reports whether there is a checkpoint with work in it.
func (w *Writer) Resumable() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.about.Resumable && (w.resumed || w.hasWork)
}
