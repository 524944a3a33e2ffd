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
	"strconv"
	"strings"
	"time"

	"fedsim/internal/tools/formats"
	"fedsim/internal/tools/quote"
	"fedsim/results"
)

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
	Format    int               `json:"format"`
	Version   string            `json:"fedsim_version"`
	Go        string            `json:"go_version"`
	Numerics  int               `json:"numerics"` // numeric version
	Platform  Platform          `json:"platform"`
	Command   []string          `json:"command"`
	Program   *Program          `json:"driver,omitempty"` // absent from runs of fedsim's own methods
	Seeds     []uint64          `json:"seeds"`
	Data      string            `json:"data"`                 // one line that describes the data
	DataFiles []FileSum         `json:"data_files,omitempty"` // the files of data, by their paths in the scenario
	DataSets  []results.DataSet `json:"data_sets,omitempty"`  // what files of data say, where they say something
	// ExternalModels are the models of programs that runs have trained.
	ExternalModels []results.ExternalModel `json:"external_models,omitempty"`
	Targets        results.Targets         `json:"targets"`
	State          State                   `json:"state"`
	ResultHash     results.Hash            `json:"result_hash"`      // over the hashes of all runs, in order
	Figures        []string                `json:"figures"`          // names of the files in figures/
	Tables         []string                `json:"tables,omitempty"` // names of the files in tables/
	Sums           []FileSum               `json:"files"`            // in the directory itself, without the manifest
	// runs, without tuned options, and data sets of tables that a partial merge lacks
	Absent   []string          `json:"absent,omitempty"`
	Messages []results.Message `json:"messages,omitempty"`
	Settle   json.RawMessage   `json:"settle,omitempty"` // what seeds have settled (docs/reference/json.md)
	Runs     []RunEntry        `json:"runs"`
	Clock    *Clock            `json:"clock,omitempty"`
}

// FileSum is the checksum of a file in a run directory itself, by which one of another run is noticed, or of a file
// of data.
type FileSum struct {
	Name string `json:"name"`
	// in hexadecimal digits; that of the scenario is without its figures, and that of runs.csv without wall_s
	SHA256 string `json:"sha256"`
}

// Program is one that drives a run through fedsim engine.
type Program struct {
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
	// Indices into the lists of the manifest; the log has the data set and the model themselves.
	DataSet       *int `json:"data_set,omitempty"`
	ExternalModel *int `json:"external_model,omitempty"`

	EventHash  results.Hash `json:"event_hash"`
	ModelHash  results.Hash `json:"model_hash"`
	Optimum    *float       `json:"optimum,omitempty"`     // the reference optimum P*; absent: not computed
	OptimumGap *float       `json:"optimum_gap,omitempty"` // its certified relative gap
	AtOptimum  atOptimum    `json:"at_optimum,omitempty"`  // of the model at the reference optimum
	Stragglers *stragglers  `json:"stragglers,omitempty"`  // absent where theta was not measured
}

// Clock is the part of a manifest that differs between two runs of the same scenario.
type Clock struct {
	Started  time.Time  `json:"started"`
	Finished *time.Time `json:"finished,omitempty"` // absent at a checkpoint
	RunWallS []float    `json:"run_wall_s"`         // seconds by run, in order; null: not known
	// RunProgramS are the seconds of the programs of external models by run, in order; null: it has none.
	// Absent if no run has.
	RunProgramS []*results.ProgramTime `json:"run_program_s,omitempty"`
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
		Format:    formats.RunDirectory,
		Version:   about.Version,
		Go:        runtime.Version(),
		Numerics:  Numerics,
		Platform:  Platform{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Command:   orEmpty(about.Command),
		Program:   about.Program,
		Seeds:     orEmpty(about.Seeds),
		Data:      about.Data,
		DataFiles: about.DataFiles,
		Targets:   about.Targets,
		State:     state,
		Figures:   orEmpty(extra.figures),
		Tables:    extra.tables,
		Clock:     newClock(about.Started, runs, end),
	}
	m.setRuns(runs)
	if about.Seeds == nil {
		m.Seeds = orEmpty(results.SeedsOf(runs))
	}
	return m
}

// setRuns sets the entries of the runs.
func (m *Manifest) setRuns(runs []results.Run) {
	m.Runs, m.DataSets, m.ExternalModels = []RunEntry{}, nil, nil
	for i := range runs {
		entry := newRunEntry(&runs[i])
		entry.DataSet, entry.Data = indexOf(&m.DataSets, entry.Data), nil
		entry.ExternalModel, entry.External = indexOf(&m.ExternalModels, entry.External), nil
		m.Runs = append(m.Runs, entry)
	}
	m.ResultHash = resultHash(m.Runs)
	summary := results.Summarize(runs, m.Targets)
	m.Messages = summary.Messages()
}

// indexOf returns the index of a value in a list, to which it is added once; nil: there is no value.
func indexOf[T any](list *[]T, value *T) *int {
	if value == nil {
		return nil
	}
	at := slices.IndexFunc(*list, func(known T) bool { return reflect.DeepEqual(known, *value) })
	if at < 0 {
		at = len(*list)
		*list = append(*list, *value)
	}
	return &at
}

// at returns the value with an index in a list; nil: there is no index.
func at[T any](list []T, index *int) *T {
	if index == nil {
		return nil
	}
	return &list[*index]
}

// newRunEntry returns the entry of a run.
func newRunEntry(r *results.Run) RunEntry {
	e := RunEntry{
		Run: *r, EventHash: results.Hash(r.EventHash), ModelHash: results.Hash(r.ModelHash),
		Optimum: newFloat(r.Optimum), OptimumGap: newFloat(r.OptimumGap),
		AtOptimum: newAtOptimum(r.AtOptimum), Stragglers: newStragglers(r.Stragglers),
	}
	e.Run.Reference, e.Run.Hashes, e.Run.WallS = results.Reference{}, results.Hashes{}, 0
	e.Run.Stragglers, e.Run.Rounds, e.Run.ByClient, e.Run.ProgramTime = nil, nil, nil, nil
	return e
}

// run returns the run of an entry, without its numbers.
func (e *RunEntry) run() results.Run {
	r := e.Run
	r.ProgramTime = nil
	r.Optimum, r.OptimumGap, r.WallS = e.Optimum.of(), e.OptimumGap.of(), math.NaN()
	r.EventHash, r.ModelHash = uint64(e.EventHash), uint64(e.ModelHash)
	r.AtOptimum, r.Stragglers = e.AtOptimum.round(e.Metrics), e.Stragglers.of()
	return r
}

// float is a float64 in JSON, bit for bit: NaN is null, infinities are texts.
type float float64

// newFloat returns a value that is absent when it is not known.
func newFloat(v float64) *float {
	if math.IsNaN(v) {
		return nil
	}
	return (*float)(&v)
}

// of returns the value, NaN where it is absent.
func (f *float) of() float64 {
	if f == nil {
		return math.NaN()
	}
	return float64(*f)
}

func (f float) MarshalJSON() ([]byte, error) {
	switch v := float64(f); {
	case math.IsNaN(v):
		return []byte("null"), nil
	case math.IsInf(v, 0):
		return strconv.AppendQuote(nil, strconv.FormatFloat(v, 'g', -1, 64)), nil
	default:
		return strconv.AppendFloat(nil, v, 'g', -1, 64), nil
	}
}

func (f *float) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		text = nil
	}
	v, err := parseNumber(strings.Trim(string(text), `"`))
	*f = float(v)
	return err
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
	c := &Clock{Started: started, RunWallS: []float{}}
	for i := range runs {
		c.RunWallS = append(c.RunWallS, float(runs[i].WallS))
		if of := runs[i].ProgramTime; of != nil {
			if c.RunProgramS == nil {
				c.RunProgramS = make([]*results.ProgramTime, len(runs))
			}
			c.RunProgramS[i] = of
		}
	}
	if end != nil {
		c.Finished, c.PeakMemoryBytes = &end.At, end.PeakMemoryBytes
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
		runs[i].Data = at(m.DataSets, m.Runs[i].DataSet)
		runs[i].External = at(m.ExternalModels, m.Runs[i].ExternalModel)
		if c := m.Clock; c != nil && i < len(c.RunWallS) {
			runs[i].WallS = float64(c.RunWallS[i])
		}
		if c := m.Clock; c != nil && i < len(c.RunProgramS) {
			runs[i].ProgramTime = c.RunProgramS[i]
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

// decodeManifest reads manifest.json. It ignores fields of later versions.
func decodeManifest(path string, text []byte) (*Manifest, error) {
	// The format is checked first: another one has other fields.
	var head struct {
		Format  int     `json:"format"`
		Version *string `json:"fedsim_version"`
	}
	if json.Unmarshal(text, &head) == nil {
		if err := formats.Check(head.Format, formats.RunDirectory, head.Version); err != nil {
			return nil,
				fmt.Errorf("%s: %w: read it with that fedsim, or run its %s again in another directory", path, err,
					scenarioFile)
		}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	var m Manifest
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", path, jsonLine(text, d, err), plainJSON(err))
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
	if err := m.checkRuns(); err != nil {
		return err
	}
	if err := m.checkFiles(); err != nil {
		return err
	}
	if want := resultHash(m.Runs); m.ResultHash != want {
		return fmt.Errorf("result_hash = %s: must be %s, as the hashes of the runs say", m.ResultHash, want)
	}
	return nil
}

func (m *Manifest) checkRuns() error {
	for i := range m.Runs {
		run := &m.Runs[i]
		if at := run.DataSet; at != nil && (*at < 0 || *at >= len(m.DataSets)) {
			return fmt.Errorf("run %q: data_set = %d: must be the index of one of %d data sets", run.ID, *at,
				len(m.DataSets))
		}
		if at := run.ExternalModel; at != nil && (*at < 0 || *at >= len(m.ExternalModels)) {
			return fmt.Errorf("run %q: external_model = %d: must be the index of one of %d external models", run.ID,
				*at, len(m.ExternalModels))
		}
	}
	for i, set := range m.DataSets {
		if c := set.Clients; c != nil &&
			(len(c.Rows) != len(c.Names) || len(c.Classes) > 0 && len(c.Classes) != len(c.Names)) {
			return fmt.Errorf("data_sets[%d]: clients: has %d names, %d rows and %d classes: must be as many", i,
				len(c.Names), len(c.Rows), len(c.Classes))
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
	return nil
}

func (m *Manifest) checkFiles() error {
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
	for i, f := range m.Sums {
		if !slices.Contains(fileNames[1:], f.Name) ||
			slices.ContainsFunc(m.Sums[:i], func(g FileSum) bool { return g.Name == f.Name }) {
			return fmt.Errorf("file %q: must be there once, and one of %s", f.Name, strings.Join(fileNames[1:], ", "))
		}
	}
	for _, name := range []string{scenarioFile, runsFile, roundsFile} {
		if m.State != Running && m.file(name) == nil {
			return fmt.Errorf("file %q: must have its checksum in files", name)
		}
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
	a := attached{figures: m.Figures, tables: m.Tables}
	for _, f := range m.Sums {
		a.own = append(a.own, f.Name)
	}
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
