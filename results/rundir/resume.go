package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"fedsim/internal/atomicfile"
	"fedsim/internal/state"
	"fedsim/results"
)

// ErrComplete is the error of OpenCheckpoint for a directory whose run came to its end.
var ErrComplete = errors.New("run is complete; nothing to resume")

// Checkpoint is what a run that did not come to its end has left in a run directory.
type Checkpoint struct {
	Scenario []byte // the resolved one
	Command  []string
	Started  time.Time
	Runs     []results.Run // that are finished
	seals    []string      // the SHA-256 of the rows by device of each; empty without
	dir      string
	shelf    *shelf
	lock     *lock
}

// OpenCheckpoint looks for what was kept in a run directory by a fedsim of the
// same numeric version, on whatever platform; another's is refused with an error that wraps ErrCheckpoint. The
// error of a directory without anything to go on with wraps ErrComplete when its
// run is complete, of which it removes what is left of the way there, else
// ErrForeign; that of one that another process writes to wraps ErrBusy. What it
// returns must be resumed or closed.
func OpenCheckpoint(dir string) (l *Checkpoint, err error) {
	if !exists(filepath.Join(dir, stageDir)) { // then nothing is made there
		return nil, nothingLeft(dir)
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
	s := shelfIn(dir)
	h, content, err := s.open(s.index(), startOver)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nothingLeft(dir)
	}
	if err != nil {
		return nil, err
	}
	s.scenario = h.scenario
	if l, err = s.decode(h, content, startOver); err != nil {
		return nil, err
	}
	l.dir, l.shelf, l.lock = dir, s, held
	return l, nil
}

// decode reads the content of the index.
func (s *shelf) decode(h header, content []byte, remedy string) (*Checkpoint, error) {
	l := &Checkpoint{}
	c := state.Reading(bytes.NewReader(content))
	if l.state(c); c.Err() != nil {
		return nil, refuse(s.index(), c.Err().Error(), remedy)
	}
	if hashScenario(l.Scenario) != h.scenario || h.name != indexName || len(l.seals) != len(l.Runs) {
		return nil, refuse(s.index(), "its parts do not belong together", remedy)
	}
	return l, nil
}

// Empty reports whether the run was stopped before its first checkpoint: only its
// scenario is there.
func (l *Checkpoint) Empty() bool {
	things, _, err := l.shelf.inspect()
	return err == nil && things == 0 && len(l.Runs) == 0
}

// Close leaves what was left as it is. After Resume it does nothing.
func (l *Checkpoint) Close() error { return l.lock.release() }

// nothingLeft explains why there is nothing to go on with.
func nothingLeft(dir string) error {
	m, err := inspect(dir)
	switch {
	case err != nil:
		return err
	case m != nil && m.State == Complete: // it may have been killed while it tidied up
		return errors.Join(fmt.Errorf("%s: %w", dir, ErrComplete), clearStage(dir))
	default:
		return fmt.Errorf("%s: %w that can be resumed: %s", dir, ErrForeign, startIt)
	}
}

// state names what the index holds.
func (l *Checkpoint) state(c *state.Coder) {
	scenario := string(l.Scenario)
	c.String(&scenario)
	l.Scenario = []byte(scenario)
	results.CodeList(c, &l.Command, func(s *string, c *state.Coder) { c.String(s) })
	started := l.Started.UnixNano()
	results.CodeInt64(c, &started)
	l.Started = time.Unix(0, started)
	results.CodeList(c, &l.Runs, (*results.Run).State)
	results.CodeList(c, &l.seals, func(s *string, c *state.Coder) { c.String(s) })
}

// Resume goes on with what was left. The scenario of about must be the one that was
// run; place tells the place of a run in its order. A run whose rows by device or model were
// deleted is to be made again. From now on the writer keeps what there is, whatever
// happens.
func (l *Checkpoint) Resume(about About, place func(id string) (int, bool)) (*Writer, error) {
	path := l.shelf.index()
	if !bytes.Equal(about.Scenario, l.Scenario) {
		return nil, refuse(path, "its scenario has another meaning to this fedsim", startOver)
	}
	about.Resumable = true
	w := &Writer{dir: l.dir, about: about, shelf: l.shelf, resumed: true, seals: map[int]string{}}
	if err := w.recallJoin(); err != nil {
		return nil, err
	}
	for i, run := range l.Runs {
		at, ok := place(run.ID)
		if err := checkRun(&run); err != nil || !ok || run.Status == results.Interrupted {
			return nil, refuse(path, fmt.Sprintf("run %q is none of its scenario", run.ID), startOver)
		}
		if sum := l.seals[i]; sum != "" {
			there, err := w.moved(at), error(nil)
			if !there {
				there, err = w.checkPart(at, sum)
			}
			if err != nil {
				return nil, err
			}
			if !there {
				continue
			}
			w.seals[at] = sum
		}
		if run.Model != "" {
			there, err := w.checkModel(&run)
			if err != nil {
				return nil, err
			}
			if !there {
				continue
			}
		}
		w.index, w.runs = append(w.index, at), append(w.runs, run)
	}
	if !slices.IsSorted(w.index) || len(slices.Compact(slices.Clone(w.index))) != len(w.index) {
		return nil, refuse(path, "its runs are in another order", startOver)
	}
	if _, err := inspect(l.dir); err != nil {
		return nil, err
	}
	stay := []string{shelfDir, partsDir, modelsDir}
	if w.plan != nil {
		stay = append(stay, devicesParquet)
	}
	if err := clearStage(l.dir, stay...); err != nil {
		return nil, err
	}
	if err := w.startFeed(); err != nil {
		return nil, err
	}
	w.lock, l.lock = l.lock, nil
	return w, nil
}

// Save saves what fill writes under a name, until a run of that ID is finished, or
// the scenario. When it fails, what was kept before stays. Calls for different
// names may overlap.
func (w *Writer) Save(name string, fill func(io.Writer) error) error {
	if err := w.shelf.write(w.shelf.path(name), name, fill); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.worth = true
	return nil
}

// Load returns what is kept under a name, nil when nothing is.
func (w *Writer) Load(name string) ([]byte, error) { return w.shelf.read(name) }

// Reject says that what is kept under a name cannot be resumed, and why.
func (w *Writer) Reject(name string, why error) error {
	return fmt.Errorf("%w (%w)", refuse(w.shelf.path(name), why.Error(), startsOver), why)
}

// Checkpoint writes the finished runs to DIR/.unfinished, if any came since the
// last time.
func (w *Writer) Checkpoint() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.fresh) == 0 {
		return nil
	}
	return w.checkpoint()
}

// checkpoint saves the finished runs to the index, which replaces their own
// checkpoints, and then writes them as a run directory, for readers.
func (w *Writer) checkpoint() error {
	if err := w.writeIndex(); err != nil {
		return err
	}
	return w.writeStage(Running, attached{}, nil)
}

// writeIndex puts what was run and the runs that are finished on the shelf.
func (w *Writer) writeIndex() error { return w.writeIndexBy(atomicfile.Write) }

func (w *Writer) writeIndexBy(write func(string, func(io.Writer) error) error) error {
	if !w.about.Resumable {
		return nil
	}
	l := Checkpoint{Scenario: w.about.Scenario, Command: w.about.Command, Started: w.about.Started}
	for i := range w.runs {
		if w.runs[i].Status != results.Interrupted {
			l.Runs = append(l.Runs, w.runs[i])
			l.seals = append(l.seals, w.seals[w.index[i]])
		}
	}
	if parts := filepath.Join(w.stage(), partsDir); exists(parts) {
		if err := atomicfile.SyncDir(parts); err != nil {
			return err
		}
	}
	err := w.shelf.writeBy(write, w.shelf.index(), indexName, func(out io.Writer) error {
		c := state.Writing(out)
		l.state(c)
		return c.Err()
	})
	if w.failed = err != nil; w.failed {
		return err
	}
	w.worth = w.worth || len(l.Runs) > 0
	for _, id := range w.fresh {
		if err := w.shelf.forget(id); err != nil {
			return err
		}
	}
	w.fresh = nil
	return nil
}

// saveFresh puts the runs on the shelf that were finished since the index was written.
func (w *Writer) saveFresh() error {
	if len(w.fresh) == 0 {
		return nil
	}
	return w.writeIndex()
}

// Suspend lets what there is be gone on with, instead of Finish: the directory stays
// as it was but for what is kept. Discard then does nothing.
func (w *Writer) Suspend() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	w.dropFeed()
	return errors.Join(w.writeIndex(), w.lock.release())
}

// Resumable reports whether what there is can be resumed, and is worth it.
func (w *Writer) Resumable() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.about.Resumable && (w.resumed || w.worth)
}
