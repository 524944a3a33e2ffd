package rundir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"fedsim/internal/tools/input"
	"fedsim/internal/tools/plainjson"
)

// ErrTake is wrapped by the errors of Take about files that do not fit.
var ErrTake = errors.New("cannot be merged")

// Take adds the finished runs of other unfinished run directories of the same scenario, with
// their rows and models, and leaves those directories as they
// are. It checks all files against their checksums. A run that several directories have is
// taken once. place returns the place of a run in the order of the scenario. The writer must
// not be Resumable: the directories are its checkpoint. When ctx ends, Take returns its error.
func (w *Writer) Take(ctx context.Context, place func(id string) (int, bool), from ...string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &taking{Writer: w, place: place, taken: map[int]*endedRun{}}
	for _, run := range w.ended.list {
		t.taken[run.place] = run
	}
	defer w.ended.sort()
	for dirs := range slices.Chunk(from, runtime.GOMAXPROCS(0)) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		logs, failed := make([]*progress, len(dirs)), make([]error, len(dirs))
		var reading sync.WaitGroup
		for i, dir := range dirs {
			reading.Go(func() { logs[i], failed[i] = readProgress(filepath.Join(dir, stageDir, logFile), false) })
		}
		reading.Wait()
		for i, dir := range dirs {
			if err := t.take(dir, logs[i], failed[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// Lack records absent runs for the manifest: see Manifest.Absent.
func (w *Writer) Lack(absent []string) { w.absent = absent }

// Absent returns what Lack recorded.
func (w *Writer) Absent() []string { return w.absent }

// Settle records what seeds have settled, for the manifest: see Manifest.Settle.
func (w *Writer) Settle(report any) error {
	var b bytes.Buffer
	err := plainjson.Line(&b, report)
	w.settled = bytes.TrimSpace(b.Bytes())
	return err
}

// taking is a call of Take, during which the runs are in no order.
type taking struct {
	*Writer
	place func(id string) (int, bool)
	taken map[int]*endedRun // by place
}

// take takes the runs of a directory with a log, or with the error of reading it.
func (t *taking) take(dir string, p *progress, err error) error {
	other := &Writer{dir: dir}
	for _, folder := range []string{dir, other.stage(), filepath.Join(other.stage(), modelsDir)} {
		if err := input.RequireFolder(folder); err != nil {
			return fmt.Errorf("%w: %w", ErrTake, err)
		}
	}
	path := filepath.Join(other.stage(), logFile)
	refused := func(format string, arguments ...any) error {
		return refuseTake(path, dir, fmt.Sprintf(format, arguments...))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refused(noFile)
	case err != nil:
		return refused("%v", err)
	case p.head.Manifest.Numerics != Numerics:
		return refused("it is of fedsim %s, and this is %s: %s", p.head.Manifest.Version, t.about.Version,
			otherNumerics(uint64(p.head.Manifest.Numerics), Numerics))
	case p.head.Scenario != string(t.about.Scenario):
		return refused("it is of another scenario")
	case p.head.Manifest.Data != t.about.Data: // a file was missing there or is missing here
		return refused("its data are %q, and here they are %q", p.head.Manifest.Data, t.about.Data)
	}
	for _, run := range p.inOrder() {
		if !isFinished(&run.Run) {
			continue
		}
		if want, ok := t.place(run.ID); checkRun(&run.Run) != nil || !ok || want != run.place {
			return refused("run %q is not in its scenario", run.ID)
		}
		if had, ok := t.taken[run.place]; ok {
			if had.EventHash != run.EventHash || had.ModelHash != run.ModelHash {
				return refused("its results of run %q differ from those of another directory", run.ID)
			}
			continue
		}
		if err := t.takeRows(path, p.rows[run.place]); errors.As(err, new(errBlock)) {
			return refused("%v", err)
		} else if err != nil {
			return err
		}
		if err := t.takeModel(other, run); err != nil {
			return err
		}
		t.taken[run.place] = run
		t.ended.append(run)
		_ = t.log.record(func() { t.log.addEnd(run) }) // ProgressErr has the error
	}
	return nil
}

// takeRows copies blocks of rows, and checks them.
func (t *taking) takeRows(path string, blocks []block) error {
	if len(blocks) == 0 {
		return nil
	}
	return withBlocks(path, func(_ *os.File, from *blockReader) error {
		for _, b := range blocks {
			content, err := from.contentOf(b)
			if err == nil {
				err = t.log.record(func() { t.log.add(b.kind, b.place, b.number, content) })
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// takeModel copies and checks the model of a run.
func (t *taking) takeModel(other *Writer, run *endedRun) error {
	if run.Model == "" {
		return nil
	}
	from := filepath.Join(other.stage(), modelsDir, run.Model)
	if err := copyFile(from, filepath.Join(t.stage(), modelsDir, run.Model)); errors.Is(err, fs.ErrNotExist) {
		return refuseTake(from, other.dir, noFile)
	} else if err != nil {
		return err
	}
	if _, err := t.checkModel(&run.Run); err != nil {
		return refuseTake(from, other.dir, "it is corrupt: its hash is not the model_hash of its run")
	}
	return nil
}

const noFile = "there is no such file"

// refuseTake says which file of a directory cannot be taken, why, and what to do.
func refuseTake(path, dir, why string) error {
	return fmt.Errorf("%s: %w: %s: delete %s to compute its runs again", path, ErrTake, why, dir)
}
