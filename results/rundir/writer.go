// Package rundir owns the run directory: it writes, reads, resumes, locks and follows it.
//
//	DIR/manifest.json   what was run, where, with which seeds; hashes; one entry per run; the clock apart
//	DIR/scenario.toml   the resolved scenario: running it gives the same results
//	DIR/rounds.csv      one row per run and round
//	DIR/runs.csv        one row per run: where it ended, and when it reached each target
//	DIR/rounds.parquet  the rows of rounds.csv with units and descriptions; absent from checkpoints
//	DIR/devices.parquet one row per device of each round, see [results.DeviceRow]; absent unless asked for
//	DIR/thetas.csv      one row per device of each round in which theta was measured; absent without
//	DIR/figures/        pictures
//	DIR/report.html     a page of the run, when one was asked for; never read
//	DIR/tables/         tables of prediction errors; absent without
//
// Meanwhile [ReadLive] tells how far everything has come, each round within about a
// second, to any process.
//
// A [Writer] gathers finished runs in DIR/.unfinished, which is a run directory
// itself, and moves everything to its place at the end; the manifest comes last,
// so a directory with a manifest is whole. [Read] checks all files against each
// other. One writer at a time has a directory: it holds a lock of the kernel's on
// DIR/.unfinished/lock. Numbers are written so that they read back to the same bits, an empty
// cell is NaN, and apart from the manifest's clock and the column wall_s the
// same results make the same bytes.
//
// It must not know how the numbers came about, nor how they are drawn.
package rundir

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"fedsim/internal/atomicfile"
	"fedsim/results"
)

// Names in a run directory.
const (
	manifestFile   = "manifest.json"
	scenarioFile   = "scenario.toml"
	roundsFile     = "rounds.csv"
	runsFile       = "runs.csv"
	thetasFile     = "thetas.csv"
	roundsParquet  = "rounds.parquet"
	devicesParquet = "devices.parquet"
	figuresDir     = "figures"
	tablesDir      = "tables"
	stageDir       = ".unfinished"
)

// ReportFile is the page of a run in its directory, made of the results later; it
// goes when another run takes their place.
const ReportFile = "report.html"

// IsName reports whether a file or folder of a run directory has the name.
func IsName(name string) bool {
	switch name {
	case manifestFile, scenarioFile, roundsFile, runsFile, thetasFile, roundsParquet, devicesParquet, figuresDir, tablesDir, stageDir:
		return true
	}
	return false
}

// devicesTable is the name of the table in devices.parquet.
const devicesTable = "devices"

// parquetFiles are the parquet files that a run directory may hold.
var parquetFiles = []string{roundsParquet, devicesParquet}

var (
	// ErrExists is wrapped by the error of Create for a directory that holds a
	// complete run and was not to be overwritten.
	ErrExists = errors.New("holds a complete run")

	// ErrForeign is wrapped by the error of Create for a path that is not a run
	// directory and not empty; it is never overwritten.
	ErrForeign = errors.New("is not a run directory")
)

// About is what a run directory records beside the runs.
type About struct {
	Version   string          // of fedsim
	Command   []string        // the command line
	Seeds     []uint64        // of the scenario
	Data      string          // one line that describes the data
	Scenario  []byte          // the resolved scenario, stored as it is
	Targets   results.Targets // that runs.csv reports the time to
	Started   time.Time
	Runs      int  // that there will be in the end, for who looks on; 0: not known
	Resumable bool // what is unfinished is kept in DIR/.unfinished/kept, to be gone on with
}

// Writer gathers the finished runs of a scenario and leaves a run directory.
// Until Finish everything lies in DIR/.unfinished, and an older run in DIR
// stays as it was. Its methods may be called from several goroutines.
type Writer struct {
	dir     string
	about   About
	created []string // directories that Create made, outermost first
	lock    *lock    // of the stage

	mu    sync.Mutex
	runs  []results.Run
	index []int          // of runs[i] in the order of the scenario; increasing
	sums  map[int]string // SHA-256 of the rows by device of a run, by its place
	done  bool           // installed, or nothing may be removed any more

	log     *progressLog
	files   *stateFiles // nil: the run saves no state
	fresh   []string    // runs finished since the last checkpoint
	worth   bool        // there is work in the checkpoint
	resumed bool        // the checkpoint is older than this writer
	failed  bool        // the last checkpoint failed
	plan    *joinPlan   // of devices.parquet, once its parts are being moved
}

// Create prepares a run directory at dir, which is made if need be. Without force a
// directory that holds a complete run is refused (ErrExists), and one that holds
// what was kept of an unfinished one (ErrUnfinished). One that holds anything but a
// run is refused always (ErrForeign), and one that another process writes to
// (ErrBusy). What a run has left that kept nothing is overwritten.
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
	if err := requireFree(dir, force); err != nil { // another may have come to its end meanwhile
		return nil, err
	}
	if !force {
		if err := requireNoCheckpoint(dir); err != nil {
			return nil, err
		}
	}
	if err := clearStage(dir); err != nil {
		return nil, err
	}
	if about.Resumable {
		w.files = stateFilesIn(dir, about.Scenario)
		err = os.Mkdir(w.files.dir, 0o777)
	}
	if err == nil {
		err = w.openLog()
	}
	if err != nil {
		return nil, errors.Join(err, clearStage(dir))
	}
	return w, nil
}

// makeDirs is os.MkdirAll that tells which directories it made.
func makeDirs(dir string) (made []string, err error) {
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append([]string{d}, made...)
	}
	return made, os.MkdirAll(dir, 0o777)
}

// removeCreated removes the directories that Create made, as far as they are empty.
func (w *Writer) removeCreated() {
	for i := len(w.created) - 1; i >= 0; i-- {
		if os.Remove(w.created[i]) != nil {
			return // someone else put something there
		}
	}
}

func (w *Writer) stage() string { return filepath.Join(w.dir, stageDir) }

// Dir returns the run directory.
func (w *Writer) Dir() string { return w.dir }

// FiguresDir returns the directory to draw figures into before Finish, which
// moves them to DIR/figures and lists them in the manifest. It is made here.
func (w *Writer) FiguresDir() (string, error) {
	dir := filepath.Join(w.stage(), figuresDir)
	return dir, os.MkdirAll(dir, 0o777)
}

// AddTable writes a file of a table, which Finish moves to DIR/tables and lists
// in the manifest.
func (w *Writer) AddTable(name string, fill func(io.Writer) error) error {
	dir := filepath.Join(w.stage(), tablesDir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return atomicfile.WriteIn(dir, name, fill)
}

// attached are the files of a run directory that it need not have: those in its
// folders, by their names, and the parquet files.
type attached struct {
	figures, tables, models, parquet []string
	resumable                        bool // models must stay in the stage, too
}

// folder is one of the folders of a run directory with the files that a run put
// there.
type folder struct {
	name  string
	files []string
}

func (a attached) folders() []folder {
	return []folder{{figuresDir, a.figures}, {tablesDir, a.tables}, {modelsDir, a.models}}
}

// attached lists what lies in the folders of the stage.
func (w *Writer) attached() (a attached, err error) {
	if a.figures, err = list(filepath.Join(w.stage(), figuresDir)); err != nil {
		return a, err
	}
	a.tables, err = list(filepath.Join(w.stage(), tablesDir))
	for i := range w.runs {
		if w.runs[i].Model != "" {
			a.models = append(a.models, w.runs[i].Model)
		}
	}
	return a, err
}

// Add takes a run that will not change any more. The index is its place in the
// order of the scenario; runs may come in any order. At 1, 2, 4, 8, ... runs a
// checkpoint is written to DIR/.unfinished, itself a run directory that Read
// accepts, so that a crash loses at most half of the finished runs and all
// checkpoints together cost no more than the final write.
func (w *Writer) Add(index int, run results.Run) error {
	if err := checkRun(&run); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := sort.SearchInts(w.index, index)
	if at < len(w.index) && w.index[at] == index {
		return fmt.Errorf("run %q: place %d is taken by run %q", run.ID, index, w.runs[at].ID)
	}
	for i := range w.runs {
		if w.runs[i].ID == run.ID {
			return fmt.Errorf("run %q: must be there once", run.ID)
		}
	}
	w.index = append(w.index, 0)
	copy(w.index[at+1:], w.index[at:])
	w.index[at] = index
	w.runs = append(w.runs, results.Run{})
	copy(w.runs[at+1:], w.runs[at:])
	if name := modelName(index); exists(filepath.Join(w.stage(), modelsDir, name)) {
		run.Model = name
	}
	w.runs[at] = run
	if run.Status != results.Interrupted {
		w.fresh = append(w.fresh, run.ID)
	}
	w.log.end(index, &w.runs[at], hex.EncodeToString([]byte(w.sums[index])))
	if n := len(w.runs); n&(n-1) == 0 {
		return w.checkpoint()
	}
	return nil
}

// Runs returns the runs added so far, in the order of the scenario.
func (w *Writer) Runs() []results.Run {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]results.Run(nil), w.runs...)
}

// checkRun reports what would not survive a round trip through the files.
func checkRun(r *results.Run) error {
	texts := []string{r.ID, r.Experiment, r.Method, r.Algorithm, r.Reason}
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
	for _, e := range r.Edges {
		texts = append(texts, e.Key, e.Value, string(e.Side), e.Reason)
	}
	for _, s := range r.Point {
		if Reserved(s.Key) {
			return fmt.Errorf("run %q: key %q: must not be the name of a column of %s or %s", r.ID, s.Key, roundsFile, runsFile)
		}
	}
	for _, s := range texts {
		if !utf8.ValidString(s) || strings.IndexFunc(s, unicode.IsControl) >= 0 {
			return fmt.Errorf("run %q: text %q: must be without line breaks and control characters", r.ID, s)
		}
	}
	if r.Model != "" && !isModelName(r.Model) {
		return fmt.Errorf("run %q: model = %q: must be the name of a file that fedsim gives, such as %s", r.ID, r.Model, modelName(0))
	}
	switch r.Status {
	case results.Done, results.Stalled, results.Interrupted:
		return nil
	default:
		return fmt.Errorf("run %q: status = %q: must be one of %s, %s, %s", r.ID, r.Status, results.Done, results.Stalled, results.Interrupted)
	}
}

// writeStage writes the stage: its manifest comes last, so that it never names
// more than there is.
func (w *Writer) writeStage(state State, extra attached, end *End) error {
	m := newManifest(w.about, state, w.runs, extra, end)
	type file struct {
		name string
		fill func(io.Writer) error
	}
	files := []file{
		{scenarioFile, func(out io.Writer) error { _, err := io.Copy(out, bytes.NewReader(w.about.Scenario)); return err }},
		{roundsFile, func(out io.Writer) error { return roundsTable(w.runs).writeCSV(out) }},
		{runsFile, func(out io.Writer) error { return runsTable(w.runs, w.about.Targets).writeCSV(out) }},
	}
	if slices.Contains(extra.parquet, roundsParquet) {
		files = append(files, file{roundsParquet, func(out io.Writer) error { return roundsTable(w.runs).writeParquet(out, w.about.Version) }})
	}
	if m.Thetas {
		files = append(files, file{thetasFile, func(out io.Writer) error { return writeThetas(out, w.runs) }})
	}
	for _, f := range files {
		if err := atomicfile.Write(filepath.Join(w.stage(), f.name), f.fill); err != nil {
			return err
		}
	}
	for _, name := range m.Parquet {
		path := filepath.Join(w.stage(), name)
		sum, err := sumOf(path)
		if err != nil {
			return err
		}
		if name == devicesParquet && w.plan != nil && !bytes.Equal(sum, w.plan.Sum) {
			return refuse(path, "it is corrupt: its checksum is not the planned one", runAgain)
		}
		m.Sums = append(m.Sums, hex.EncodeToString(sum))
	}
	return atomicfile.Write(filepath.Join(w.stage(), manifestFile), m.write)
}

// Finish writes the run directory: state is Complete when every run of the
// scenario was added, else Incomplete. What an older run left in the directory
// is replaced, its figures and tables too; files that no run put there stay. When it
// fails, all finished runs can be resumed, as far as there was room to save them.
func (w *Writer) Finish(state State, end End) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	extra, err := w.attached()
	if err != nil {
		return err
	}
	extra.parquet = []string{roundsParquet}
	if w.plan != nil || len(w.placesOfParts()) > 0 {
		if err := w.writeDevices(state); err != nil {
			return err
		}
		extra.parquet = append(extra.parquet, devicesParquet)
	}
	if err := w.writeStage(state, extra, &end); err != nil {
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

// writeDevices makes devices.parquet. Of a run that is not complete the parts stay,
// for when it is resumed.
func (w *Writer) writeDevices(state State) error {
	if len(w.fresh) > 0 {
		if err := w.saveFinished(); err != nil {
			return err
		}
	}
	if state == Incomplete && w.plan == nil {
		return w.copyDevices()
	}
	return w.joinDevices()
}

// install moves the stage into the directory, and clears away what is left of it.
func (w *Writer) install(state State, extra attached) error {
	old, err := inspect(w.dir)
	if err != nil {
		return err
	}
	w.done = true // from here on Discard would lose results
	err = w.move(old, extra)
	w.log.close() // until now a reader sees that a process writes
	if err != nil {
		return err
	}
	if state == Incomplete && w.about.Resumable {
		return errors.Join(clearStage(w.dir, progressFile, checkpointDir, partsDir, modelsDir), w.lock.release(), atomicfile.SyncDir(w.dir))
	}
	w.worth, w.resumed = false, false             // nothing is left to do
	if err := os.Remove(w.log.path); err != nil { // without it nothing is resumed
		return err
	}
	return errors.Join(clearStage(w.dir), w.lock.release(), atomicfile.SyncDir(w.dir))
}

// move moves the files of the stage to their places. The old manifest goes first and
// the new one comes last: in between, the directory is no run directory, and says so,
// but for its stage. A folder that is a link out of the directory is an error.
func (w *Writer) move(old *Manifest, extra attached) (err error) {
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if old != nil {
		if err := removeOld(root, old); err != nil {
			return err
		}
	}
	files := append([]string{scenarioFile, roundsFile, runsFile}, extra.parquet...)
	if measured(w.runs) {
		files = append(files, thetasFile)
	}
	for _, f := range extra.folders() {
		if len(f.files) == 0 {
			continue
		}
		if err := root.MkdirAll(f.name, 0o777); err != nil {
			return err
		}
		for _, name := range f.files {
			files = append(files, filepath.Join(f.name, name))
		}
	}
	for _, name := range append(files, manifestFile) {
		var err error
		if extra.resumable && filepath.Dir(name) == modelsDir {
			err = w.copyModel(filepath.Base(name))
		} else {
			err = root.Rename(filepath.Join(stageDir, name), name)
		}
		if err != nil {
			return err
		}
	}
	for _, f := range extra.folders() {
		if len(f.files) == 0 {
			continue
		}
		if err := atomicfile.SyncDir(filepath.Join(w.dir, f.name)); err != nil {
			return err
		}
	}
	return nil
}

// removeOld removes the manifest of an older run, its thetas and its report, and the
// parquet files, figures and tables it lists.
func removeOld(root *os.Root, old *Manifest) error {
	if err := root.Remove(manifestFile); err != nil {
		return err
	}
	optional := append(slices.Clone(old.Parquet), ReportFile)
	if old.Thetas {
		optional = append(optional, thetasFile)
	}
	for _, name := range optional {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, f := range old.attached().folders() {
		for _, name := range f.files {
			if err := root.Remove(filepath.Join(f.name, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if len(f.files) > 0 {
			_ = root.Remove(f.name) // stays when a user put something there, or it is gone already
		}
	}
	return nil
}

// list returns the names of the files in dir, sorted; none when there is no dir.
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

// isFileName reports whether name can only mean an entry of the directory it
// is joined to.
func isFileName(name string) bool {
	return filepath.IsLocal(name) && filepath.Base(name) == name && name != "."
}

// Discard gives up: it removes what this writer put on disk, and leaves what
// was there before. A checkpoint that can be resumed stays, see [Writer.Resumable]. After
// Finish it does nothing.
func (w *Writer) Discard() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return w.lock.release()
	}
	w.done = true
	if w.resumed || w.worth {
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

// DropCheckpoint lets Discard remove the checkpoint of this writer, too: nobody will resume it.
// An older checkpoint stays.
func (w *Writer) DropCheckpoint() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.worth = false
}
