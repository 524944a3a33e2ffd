package rundir

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"fedsim/internal/quote"
	"fedsim/results"
)

// manifestFormat is the version of the layout of a run directory.
const manifestFormat = 2

// Numerics is the numeric version. All platforms and versions of fedsim with the same
// numeric version compute the same bits from a scenario. A change of result hashes or of
// an algorithm's state raises it. A checkpoint of another numeric version is refused.
const Numerics = 2

// State says how much of a scenario a run directory holds.
type State string

const (
	Complete   State = "complete"   // every run of the scenario
	Incomplete State = "incomplete" // the runs that were finished at the interrupt
	Running    State = "running"    // the runs that have ended so far
)

// Manifest is the content of manifest.json. Everything that depends on the real clock is
// in Clock.
type Manifest struct {
	Format     int               `json:"format"`
	Version    string            `json:"fedsim"`             // version of fedsim
	Go         string            `json:"go"`                 // version of Go
	Numerics   int               `json:"numerics,omitempty"` // numeric version; absent from directories of older versions
	Platform   Platform          `json:"platform"`
	Command    []string          `json:"command"`
	Driver     *Driver           `json:"driver,omitempty"` // absent from runs of fedsim's own methods
	Seeds      []uint64          `json:"seeds"`
	Data       string            `json:"data"`                // one line that describes the data
	DataSets   []results.DataSet `json:"data_sets,omitempty"` // what files of data say, where they say something
	Targets    results.Targets   `json:"targets"`
	State      State             `json:"state"`
	ResultHash results.Hash      `json:"result_hash"`              // over the hashes of all runs, in order
	Figures    []string          `json:"figures"`                  // names of the files in figures/
	Tables     []string          `json:"tables,omitempty"`         // names of the files in tables/
	Metrics    bool              `json:"metrics,omitempty"`        // there is a metrics.csv
	Parquet    []string          `json:"parquet,omitempty"`        // names of the parquet files, in the directory itself
	Sums       []string          `json:"parquet_sha256,omitempty"` // of each of the parquet files; absent from directories of older versions
	Absent     []string          `json:"absent,omitempty"`         // runs, without tuned options, and data sets of tables that a partial merge lacks
	Runs       []RunEntry        `json:"runs"`
	Clock      *Clock            `json:"clock,omitempty"`
}

// Driver is a program that drives a run through fedsim engine.
type Driver struct {
	Name  string            `json:"name"`            // name and version
	Notes map[string]string `json:"notes,omitempty"` // its own notes, such as versions of libraries
}

// Platform is the machine a run was made on.
type Platform struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
}

// RunEntry is a run in the manifest: a [results.Run] without its numbers.
type RunEntry struct {
	results.Run
	DataSet    *int         `json:"data_set,omitempty"` // index into the data_sets of the manifest; the log of progress has the data set itself
	EventHash  results.Hash `json:"event_hash"`
	ModelHash  results.Hash `json:"model_hash"`
	AtOptimum  atOptimum    `json:"at_optimum,omitempty"`    // of the model at the reference optimum
	Values     int          `json:"metric_values,omitempty"` // the number of rows that the run has in metrics.csv
	Stragglers *stragglers  `json:"stragglers,omitempty"`    // absent where theta was not measured
}

// Clock is the part of a manifest that differs between two runs of the same scenario.
type Clock struct {
	Started  time.Time  `json:"started"`
	Finished *time.Time `json:"finished,omitempty"` // absent at a checkpoint
	RunWallS []*float64 `json:"run_wall_s"`         // seconds per run, in order; null when not measured
	// RunProgramS are the seconds of the programs of external models by run, in order; null: it has none.
	// Absent if no run has.
	RunProgramS []*results.ProgramTime `json:"run_program_s,omitempty"`
	// Of all runs together, from start to finish; absent at a checkpoint.
	StepsPerS  float64 `json:"steps_per_s,omitempty"`
	EventsPerS float64 `json:"events_per_s,omitempty"`
	// Peak memory; absent where the system does not report it.
	PeakMemoryBytes int64 `json:"peak_memory_bytes,omitempty"`
}

// End describes the end of the runs.
type End struct {
	At              time.Time
	PeakMemoryBytes int64 // 0: not known
}

// newManifest describes runs of this binary on this machine.
func newManifest(about About, state State, runs []results.Run, extra attached, end *End) Manifest {
	m := Manifest{
		Format:   manifestFormat,
		Version:  about.Version,
		Go:       runtime.Version(),
		Numerics: Numerics,
		Platform: Platform{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Command:  orEmpty(about.Command),
		Driver:   about.Driver,
		Seeds:    orEmpty(about.Seeds),
		Data:     about.Data,
		Targets:  about.Targets,
		State:    state,
		Figures:  orEmpty(extra.figures),
		Tables:   extra.tables,
		Parquet:  extra.parquet,
		Clock:    newClock(about.Started, runs, end),
	}
	m.setRuns(runs)
	return m
}

// setRuns sets the entries of the runs.
func (m *Manifest) setRuns(runs []results.Run) {
	m.Runs, m.DataSets, m.Metrics = []RunEntry{}, nil, hasNamed(runs)
	for i := range runs {
		entry := newRunEntry(&runs[i])
		entry.DataSet, entry.Data = m.indexDataSet(entry.Data), nil
		m.Runs = append(m.Runs, entry)
	}
	m.ResultHash = resultHash(m.Runs)
}

// indexDataSet returns the index of a data set in the manifest, to which it is added once.
func (m *Manifest) indexDataSet(d *results.DataSet) *int {
	if d == nil {
		return nil
	}
	at := slices.IndexFunc(m.DataSets, func(known results.DataSet) bool { return reflect.DeepEqual(known, *d) })
	if at < 0 {
		at = len(m.DataSets)
		m.DataSets = append(m.DataSets, *d)
	}
	return &at
}

// newRunEntry returns the entry of a run.
func newRunEntry(r *results.Run) RunEntry {
	e := RunEntry{
		Run: *r, EventHash: results.Hash(r.EventHash), ModelHash: results.Hash(r.ModelHash),
		AtOptimum: newAtOptimum(r.AtOptimum), Values: countNamed(r), Stragglers: newStragglers(r.Stragglers),
	}
	e.Run.Optimum, e.Run.OptimumGap, e.Run.WallS, e.Run.EventHash, e.Run.ModelHash = 0, 0, 0, 0, 0
	e.Run.AtOptimum, e.Run.Stragglers, e.Run.Rounds, e.Run.ByClient, e.Run.ProgramTime = nil, nil, nil, nil, nil
	return e
}

// run returns the run of an entry, without its numbers.
func (e *RunEntry) run() results.Run {
	r := e.Run
	r.ProgramTime = nil
	r.Optimum, r.OptimumGap, r.WallS = math.NaN(), math.NaN(), math.NaN()
	r.EventHash, r.ModelHash = uint64(e.EventHash), uint64(e.ModelHash)
	r.AtOptimum, r.Stragglers = e.AtOptimum.round(e.Metrics), e.Stragglers.of()
	return r
}

// stragglers is a results.Stragglers in JSON.
type stragglers struct {
	PMax     float `json:"p_max"`
	ThetaMax float `json:"theta_max"`
}

func newStragglers(s *results.Stragglers) *stragglers {
	if s == nil {
		return nil
	}
	return &stragglers{float(s.PMax), float(s.ThetaMax)}
}

func (s *stragglers) of() *results.Stragglers {
	if s == nil {
		return nil
	}
	return &results.Stragglers{PMax: float64(s.PMax), ThetaMax: float64(s.ThetaMax)}
}

// newClock returns the clock of runs; end is nil at a checkpoint.
func newClock(started time.Time, runs []results.Run, end *End) *Clock {
	c := &Clock{Started: started, RunWallS: []*float64{}}
	var steps, events int64
	for i := range runs {
		var wall *float64
		if !math.IsNaN(runs[i].WallS) {
			wall = &runs[i].WallS
		}
		c.RunWallS = append(c.RunWallS, wall)
		if of := runs[i].ProgramTime; of != nil {
			if c.RunProgramS == nil {
				c.RunProgramS = make([]*results.ProgramTime, len(runs))
			}
			c.RunProgramS[i] = of
		}
		steps += runs[i].Steps
		events += runs[i].Events
	}
	if end == nil {
		return c
	}
	c.Finished, c.PeakMemoryBytes = &end.At, end.PeakMemoryBytes
	if took := end.At.Sub(started).Seconds(); took > 0 {
		c.StepsPerS, c.EventsPerS = float64(steps)/took, float64(events)/took
	}
	return c
}

// orEmpty replaces nil by an empty list, which JSON writes as [].
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// resultHash is FNV-1a over the event and the model hash of each run, in
// order, as big-endian words.
func resultHash(runs []RunEntry) results.Hash {
	h := fnv.New64a()
	var word [8]byte
	for i := range runs {
		for _, x := range []results.Hash{runs[i].EventHash, runs[i].ModelHash} {
			binary.BigEndian.PutUint64(word[:], uint64(x))
			h.Write(word[:])
		}
	}
	return results.Hash(h.Sum64())
}

// runs returns the runs of the manifest, without their numbers.
func (m *Manifest) runs() []results.Run {
	runs := make([]results.Run, len(m.Runs))
	for i := range m.Runs {
		runs[i] = m.Runs[i].run()
		if at := m.Runs[i].DataSet; at != nil {
			runs[i].Data = &m.DataSets[*at]
		}
	}
	return runs
}

func (m *Manifest) write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(m)
}

// decodeManifest reads manifest.json strictly: no unknown field, one value.
func decodeManifest(path string, text []byte) (*Manifest, error) {
	// The version is checked first: another one has other fields.
	var version struct {
		Format  int    `json:"format"`
		Version string `json:"fedsim"`
	}
	if json.Unmarshal(text, &version) == nil && version.Format != manifestFormat {
		return nil, fmt.Errorf("%s: format = %d: must be %d, the one this version of fedsim reads: it was written by fedsim %s: read it with that version, or run its %s again in another directory",
			path, version.Format, manifestFormat, cmp.Or(version.Version, "of unknown version"), scenarioFile)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var m Manifest
	if err := d.Decode(&m); err != nil {
		err, line := plainJSON(err), jsonLine(text, d, err)
		if version.Version != "" && strings.HasPrefix(err.Error(), "unknown field") {
			err = fmt.Errorf("%w: fedsim %s wrote it: use that version or a later one", err, version.Version)
		}
		return nil, fmt.Errorf("%s:%d: %w", path, line, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s:%d: must end behind the first value", path, lineAt(text, d.InputOffset()))
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &m, nil
}

// check reports values that no Writer writes.
func (m *Manifest) check() error {
	switch m.State {
	case Complete, Incomplete, Running:
	default:
		return fmt.Errorf("state = %q: must be one of %s, %s, %s", m.State, Complete, Incomplete, Running)
	}
	for i := range m.Runs {
		if at := m.Runs[i].DataSet; at != nil && (*at < 0 || *at >= len(m.DataSets)) {
			return fmt.Errorf("run %q: data_set = %d: must be the index of one of %d data sets", m.Runs[i].ID, *at, len(m.DataSets))
		}
	}
	runs := m.runs()
	seen := make(map[string]bool)
	for i := range runs {
		if err := checkRun(&runs[i]); err != nil {
			return err
		}
		if seen[runs[i].ID] {
			return fmt.Errorf("run %q: must be there once", runs[i].ID)
		}
		seen[runs[i].ID] = true
	}
	for _, name := range m.Figures {
		if !isFileName(name) {
			return fmt.Errorf("figure %q: must be the name of a file without a folder", name)
		}
	}
	for _, name := range m.Tables {
		if !isFileName(name) {
			return fmt.Errorf("table %q: must be the name of a file without a folder", name)
		}
	}
	for _, name := range m.Parquet {
		if !slices.Contains(parquetFiles, name) {
			return fmt.Errorf("parquet file %q: must be one of %s", name, strings.Join(parquetFiles, ", "))
		}
	}
	if len(m.Sums) != 0 && len(m.Sums) != len(m.Parquet) {
		return fmt.Errorf("parquet_sha256 has %d checksums: must have one for each of the %d parquet files", len(m.Sums), len(m.Parquet))
	}
	if want := resultHash(m.Runs); m.ResultHash != want {
		return fmt.Errorf("result_hash = %s: must be %s, as the hashes of the runs say", m.ResultHash, want)
	}
	return nil
}

// plainJSON rewords an error of encoding/json for a reader of the file.
func plainJSON(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &kind):
		return fmt.Errorf("%s: must not be %s", cmp.Or(kind.Field, "the whole"), quote.Cut(kind.Value))
	case errors.Is(err, io.ErrUnexpectedEOF), err == io.EOF:
		return errors.New("the file is cut off")
	default:
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
}

// attached returns the optional files that the manifest lists.
func (m *Manifest) attached() attached {
	a := attached{figures: m.Figures, tables: m.Tables, parquet: m.Parquet}
	for i := range m.Runs {
		if m.Runs[i].Model != "" {
			a.models = append(a.models, m.Runs[i].Model)
		}
	}
	return a
}

// jsonLine finds the line of a decoding error.
func jsonLine(text []byte, d *json.Decoder, err error) int {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return lineAt(text, syntax.Offset)
	case errors.As(err, &kind):
		return lineAt(text, kind.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return lineAt(text, int64(len(text)))
	default:
		return lineAt(text, d.InputOffset())
	}
}

func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(max(offset, 0), int64(len(text)))], []byte("\n"))
}
