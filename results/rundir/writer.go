// Package rundir owns the run directory: it writes, reads, resumes, locks and follows it.
//
//	DIR/manifest.json    command, versions, seeds, hashes; an entry for each run
//	DIR/scenario.toml    the resolved scenario: running it gives the same results
//	DIR/runs.csv         a row for each run: its end, and the cost of each target
//	DIR/rounds.parquet   a row for each run and round
//	DIR/metrics.parquet  a row for each metric that a learner declares, and round; optional
//	DIR/clients.csv      a row for each client of a file that names them: number, name, rows, class; optional
//	DIR/devices.parquet  a row for each device and round, see [results.DeviceRow]; optional
//	DIR/client_values.parquet  a row for each value of a metric by client, see [results.ClientRow]; optional
//	DIR/models/          final models; optional
//	DIR/tables/          tables of prediction errors; optional
//	DIR/figures/         figures; optional
//	DIR/report.html      a page about the run; optional
//
// A [Writer] records runs in a stage, DIR/.unfinished: their rounds, their rows by device and by client and the
// states of those under way in one log. At the end it makes the files of it and moves
// these to DIR, the manifest last, so a directory with a manifest is complete. [Read] checks all
// files against each other. Of a stage it reads the runs that have ended, as [Devices], [Clients]
// and [Export] do. [ReadLive] reads a directory during a run, up to the last second.
// [OpenCheckpoint] resumes a run that was interrupted or killed.
// [Writer.Take] adds the finished runs of other unfinished directories, to merge them.
// One process at a time writes to a directory: it holds a lock on DIR/.unfinished/lock.
//
// Numbers read back to the same bits, and an empty cell is NaN. A table lacks columns without any value. The same
// results give the same bytes, except for the clock of the manifest and the column wall_s.
//
// The package must not know how the numbers are computed or drawn.
package rundir

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"fedsim/internal/tools/atomicfile"
	"fedsim/results"
)

// Names in a run directory.
const (
	manifestFile   = "manifest.json"
	scenarioFile   = "scenario.toml"
	runsFile       = "runs.csv"
	clientsFile    = "clients.csv"
	roundsFile     = "rounds.parquet"
	metricsFile    = "metrics.parquet"
	devicesParquet = "devices.parquet"
	valuesParquet  = "client_values.parquet"
	figuresDir     = "figures"
	tablesDir      = "tables"
	stageDir       = ".unfinished"
)

// ReportFile is the page about a run in its directory. A new run in the directory removes
// it.
const ReportFile = "report.html"

var (
	// ErrExists is wrapped by the error of Create for a directory with a complete run,
	// which is not overwritten without force.
	ErrExists = errors.New("holds a complete run")

	// ErrForeign is wrapped by errors about a path that is neither a run directory nor
	// empty. Create never overwrites it.
	ErrForeign = errors.New("is not a run directory")
)

// About describes the runs of a run directory.
type About struct {
	Version   string          // of fedsim
	Command   []string        // the command line
	Program   *Program        // the program that drives the run; nil: fedsim
	Seeds     []uint64        // of the scenario
	Data      string          // one line that describes the data
	DataFiles []FileSum       // of data, by their paths in the scenario
	Scenario  []byte          // the resolved scenario
	Targets   results.Targets // of runs.csv
	Started   time.Time
	Runs      int  // of the scenario, for ReadLive; 0: not known
	Resumable bool // the run can be resumed from DIR/.unfinished

	// Every is the least time between two checkpoints of finished runs, those after 1, 2, 4, 8,
	// ... runs aside; 0: there are no others.
	Every time.Duration
}

// Writer writes the runs of a scenario to a run directory: it is their [results.Recorder]. Until Finish all files are
// in DIR/.unfinished, and an older run in DIR stays. Its methods may be called from several
// goroutines.
type Writer struct {
	dir     string
	about   About
	created []string // directories made by Create, outermost first
	lock    *lock    // of the stage

	mu    sync.Mutex
	ended endedRuns
	open  []*rows // of runs that have begun and not ended
	done  bool    // Discard does nothing

	log     *runLog
	fresh   []string  // runs finished since the last checkpoint
	saved   time.Time // when the last checkpoint was written, or the log was opened
	hasWork bool      // there is work in the checkpoint
	resumed bool      // the checkpoint is older than this writer
	failed  bool      // the last checkpoint failed
	absent  []string  // missing from a partial merge
	settled json.RawMessage
}

// Create starts a run directory at dir, which it makes if necessary. Without force it
// refuses a directory with a complete run (ErrExists) or a checkpoint (ErrUnfinished). It
// always refuses a directory with other files (ErrForeign), and one to which another
// process writes (ErrBusy). It overwrites an unfinished run without a checkpoint.
//
// The caller defers Discard, which does nothing after Finish.
func Create(dir string, force bool, about About) (_ *Writer, err error) {
	if err := requireFree(dir, force); err != nil {
		return nil, err
	}
	w := &Writer{dir: dir, about: about}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.lock.release())
			w.removeCreated()
		}
	}()
	if w.created, err = makeDirs(dir); err != nil {
		return nil, err
	}
	if w.lock, err = lockStage(dir); errors.Is(err, ErrBusy) {
		return nil, fmt.Errorf("%w, or choose another directory with --out", err)
	} else if err != nil {
		return nil, err
	}
	if err := requireFree(dir, force); err != nil { // another process may have finished meanwhile
		return nil, err
	}
	if !force {
		if err := requireNoCheckpoint(dir); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(undoInstall(dir), clearStage(dir)); err != nil {
		return nil, err
	}
	if about.Resumable {
		err = os.Mkdir(filepath.Join(w.stage(), checkpointDir), 0o777)
	}
	if err == nil {
		err = w.openLog(nil)
	}
	if err != nil {
		return nil, errors.Join(err, clearStage(dir))
	}
	return w, nil
}

// makeDirs is os.MkdirAll that returns the directories that it made.
func makeDirs(dir string) (made []string, err error) {
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append([]string{d}, made...)
	}
	return made, os.MkdirAll(dir, 0o777)
}

// removeCreated removes the directories made by Create that are empty.
func (w *Writer) removeCreated() {
	for i := len(w.created) - 1; i >= 0; i-- {
		if os.Remove(w.created[i]) != nil {
			return // it is not empty
		}
	}
}

func (w *Writer) stage() string { return filepath.Join(w.dir, stageDir) }

// Dir returns the run directory.
func (w *Writer) Dir() string { return w.dir }

// Stage returns the directory that has the ended runs until Finish: see [Read], [Devices] and
// [AddClients].
func (w *Writer) Stage() (string, error) { return w.stage(), w.log.flush() }

// FiguresDir makes and returns the directory for figures. Finish moves them to DIR/figures
// and lists them in the manifest.
func (w *Writer) FiguresDir() (string, error) {
	dir := filepath.Join(w.stage(), figuresDir)
	return dir, os.MkdirAll(dir, 0o777)
}

// AddTable writes a table to a file. Finish moves it to DIR/tables and lists it in the
// manifest.
func (w *Writer) AddTable(name string, fill func(io.Writer) error) error {
	dir := filepath.Join(w.stage(), tablesDir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return atomicfile.WriteIn(dir, name, fill)
}

// attached are the files of a run directory beside the manifest: those in itself, and in its folders, by name.
type attached struct {
	own, figures, tables, models []string
	resumable                    bool // models stay in the stage, too
}

// fileNames lists the files of a run directory, the manifest first.
func (a attached) fileNames() []string {
	names := append([]string{manifestFile}, a.own...)
	for _, f := range []struct {
		folder string
		files  []string
	}{{figuresDir, a.figures}, {tablesDir, a.tables}, {modelsDir, a.models}} {
		for _, name := range f.files {
			names = append(names, filepath.Join(f.folder, name))
		}
	}
	return names
}

// attached lists the optional files of the stage.
func (w *Writer) attached() (a attached, err error) {
	if a.figures, err = list(filepath.Join(w.stage(), figuresDir)); err != nil {
		return a, err
	}
	a.tables, err = list(filepath.Join(w.stage(), tablesDir))
	for _, run := range w.ended.list {
		if run.Model != "" {
			a.models = append(a.models, run.Model)
		}
	}
	return a, err
}

// Runs returns the runs added so far, in the order of the scenario.
func (w *Writer) Runs() []results.Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended.runs()
}

// checkRun reports values that the files cannot represent.
func checkRun(r *results.Run) error {
	texts := []string{r.ID, r.Experiment, r.Method, r.Algorithm, r.Reason}
	if err := results.CheckNamed(r.Metrics); err != nil {
		return fmt.Errorf("run %q: %w", r.ID, err)
	}
	for _, settings := range [][]results.Setting{r.Point, r.Tuned} {
		seen := make(map[string]bool)
		for _, s := range settings {
			texts = append(texts, s.Key, s.Value)
			if seen[s.Key] {
				return fmt.Errorf("run %q: key %q: must be there once", r.ID, s.Key)
			}
			seen[s.Key] = true
		}
	}
	for _, warning := range r.Warnings {
		texts = append(texts, warning.About, warning.Text)
	}
	for _, s := range r.Searched {
		texts = append(texts, s.Key, s.Low, s.High)
	}
	for _, e := range r.Edges {
		texts = append(texts, e.Key, e.Value, string(e.Side), e.Reason)
	}
	for _, s := range r.Point {
		if Reserved(s.Key) {
			return fmt.Errorf("run %q: key %q: must not be the name of a column of %s or %s", r.ID, s.Key, roundsFile,
				runsFile)
		}
	}
	for _, s := range texts {
		if !utf8.ValidString(s) || strings.IndexFunc(s, unicode.IsControl) >= 0 {
			return fmt.Errorf("run %q: text %q: must be without line breaks and control characters", r.ID, s)
		}
	}
	if r.Model != "" && !isModelName(r.Model) {
		return fmt.Errorf("run %q: model = %q: must be the name of a file that fedsim gives, such as %s", r.ID, r.Model,
			modelName(0))
	}
	switch r.Status {
	case results.Done, results.Stalled, results.Interrupted:
		return nil
	default:
		return fmt.Errorf("run %q: status = %q: must be one of %s, %s, %s", r.ID, r.Status, results.Done,
			results.Stalled, results.Interrupted)
	}
}

// writeStage writes the stage as a run directory. The manifest is last, so that it never
// names a missing file. It adds the files of the directory itself to those of the folders.
func (w *Writer) writeStage(state State, extra *attached, end *End) error {
	write := func(stores []store) error {
		runs := w.ended.runs()
		m := newManifest(w.about, state, runs, *extra, end)
		m.Absent, m.Settle = w.absent, w.settled
		version, rounds, held := w.about.Version, roundsTable(runs), storesOf(runs)
		type file struct {
			name  string
			there bool
			fill  func(io.Writer) error
		}
		files := slices.DeleteFunc([]file{
			{scenarioFile, true, func(out io.Writer) error { _, err := out.Write(w.about.Scenario); return err }},
			{runsFile, true, func(out io.Writer) error { return runsTable(runs, w.about.Targets).writeCSV(out) }},
			{roundsFile, true, func(out io.Writer) error { return rounds.writeParquet(out, version, held) }},
			{metricsFile, len(metricsTable.of(held)) > 0,
				func(out io.Writer) error { return metricsTable.writeParquet(out, version, held) }},
			{clientsFile, hasClients(m.DataSets),
				func(out io.Writer) error { return namesTable(m.DataSets).writeCSV(out) }},
			{devicesParquet, len(devicesTable.of(stores)) > 0,
				func(out io.Writer) error { return devicesTable.writeParquet(out, version, stores) }},
			{valuesParquet, len(valuesTable.of(stores)) > 0,
				func(out io.Writer) error { return valuesTable.writeParquet(out, version, stores) }},
		}, func(f file) bool { return !f.there })
		failed := make([]error, len(files))
		m.Sums = make([]FileSum, len(files))
		var writing sync.WaitGroup
		for i, f := range files {
			extra.own = append(extra.own, f.name)
			writing.Go(func() {
				path, sum := filepath.Join(w.stage(), f.name), sha256.New()
				failed[i] = atomicfile.Write(path,
					func(out io.Writer) error { return f.fill(io.MultiWriter(out, sum)) })
				of := sum.Sum(nil)
				if failed[i] == nil && (f.name == runsFile || f.name == scenarioFile) {
					of, failed[i] = sumOf(path)
				}
				m.Sums[i] = FileSum{f.name, hex.EncodeToString(of)}
			})
		}
		writing.Wait()
		for _, err := range failed {
			if err != nil {
				return err
			}
		}
		return atomicfile.Write(filepath.Join(w.stage(), manifestFile), m.write)
	}
	if !slices.ContainsFunc(w.ended.list, func(r *endedRun) bool { return r.rows.Blocks > 0 }) {
		return write(nil)
	}
	if err := w.log.flush(); err != nil {
		return err
	}
	return withStores(w.stage(), w.ended.list, write)
}

// Finish writes the run directory. The state is Complete when every run of the scenario
// was added, else Incomplete. It replaces the files of an older run, and leaves files that
// are not of a run. When it fails, the run can be resumed from the last checkpoint.
func (w *Writer) Finish(state State, end End) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	extra, err := w.attached()
	if err != nil {
		return err
	}
	if err := w.writeStage(state, &extra, &end); err != nil {
		return err
	}
	if state == Incomplete {
		if err := w.saveFinished(); err != nil {
			return err
		}
		extra.resumable = w.about.Resumable
	}
	return w.install(state, extra)
}

// install moves the files of the stage to the directory and clears the stage.
func (w *Writer) install(state State, extra attached) error {
	old, err := inspect(w.dir)
	if err != nil {
		return err
	}
	w.done = true // Discard would lose results from here on
	err = w.move(old, extra)
	w.log.close() // until now a reader sees that a process writes
	if err != nil {
		return err
	}
	if state == Incomplete && w.about.Resumable {
		return errors.Join(clearStage(w.dir, logFile, checkpointDir, modelsDir), w.lock.release(),
			atomicfile.SyncDir(w.dir))
	}
	w.hasWork, w.resumed = false, false           // the checkpoint is obsolete
	if err := os.Remove(w.log.path); err != nil { // without it nothing is resumed
		return err
	}
	return errors.Join(clearStage(w.dir), w.lock.release(), atomicfile.SyncDir(w.dir))
}

// move moves the files of the stage to the directory. It first moves the old manifest into
// the stage and moves the new one last: in between, only the stage is a run directory, see
// undoInstall. A folder that is a link out of the directory is an error.
func (w *Writer) move(old *Manifest, extra attached) (err error) {
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if old != nil {
		if err := root.Rename(manifestFile, filepath.Join(stageDir, replacedFile)); err != nil {
			return err
		}
		if err := removeFilesOf(root, old); err != nil {
			return err
		}
	}
	folders := map[string]bool{}
	for _, name := range append(extra.fileNames()[1:], manifestFile) {
		from := filepath.Join(stageDir, name)
		if folder := filepath.Dir(name); folder != "." {
			folders[folder] = true
			if err := root.MkdirAll(folder, 0o777); err != nil {
				return err
			}
			if extra.resumable && folder == modelsDir { // it stays in the stage, too
				from = filepath.Join(stageDir, modelCopy)
				if err := copyFile(filepath.Join(w.stage(), name), filepath.Join(w.dir, from)); err != nil {
					return err
				}
			}
		}
		if err := root.Rename(from, name); err != nil {
			return err
		}
	}
	for _, folder := range folderNames {
		if !folders[folder] {
			continue
		}
		if err := atomicfile.SyncDir(filepath.Join(w.dir, folder)); err != nil {
			return err
		}
	}
	return nil
}

// modelCopy is a copy of a model in the stage that is about to be moved.
const modelCopy = "copy.npy"

// list returns the sorted names of the files in dir, none without dir.
func list(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// isFileName reports whether name, joined to a directory, is an entry of it.
func isFileName(name string) bool {
	return filepath.IsLocal(name) && filepath.Base(name) == name && name != "."
}

// Discard removes all files of this writer, and leaves older ones. A checkpoint with work
// in it stays, see [Writer.Resumable]. After Finish it does nothing.
func (w *Writer) Discard() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return w.lock.release()
	}
	w.done = true
	if w.resumed || w.hasWork {
		var err error
		if !w.failed && len(w.fresh) > 0 { // else the error is known
			err = w.saveFinished()
		}
		w.log.close()
		return errors.Join(err, w.lock.release())
	}
	w.log.close()
	err := errors.Join(clearStage(w.dir), w.lock.release())
	if err == nil {
		w.removeCreated()
	}
	return err
}

// DropCheckpoint makes Discard remove the checkpoint of this writer, too. A checkpoint that
// is older than the writer stays.
func (w *Writer) DropCheckpoint() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hasWork = false
}
