package rundir

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"fedsim/config"
	"fedsim/internal/tools/input"
	"fedsim/results"
)

// The largest size in bytes of a file that is read into memory, and of one that streams.
// The directory may come from anywhere.
const (
	maxText  = 1 << 30
	maxTable = 1 << 38
)

// Results is the content of a run directory.
type Results struct {
	Dir      string // the directory
	Manifest Manifest
	Scenario []byte        // scenario.toml
	Runs     []results.Run // in the order of the scenario
}

// Read reads a run directory, bit for bit, or the ended runs of the stage of an unfinished one; see
// [Locate]. It is strict: the files must agree with each other in every cell. Errors begin with
// file and line. Read ignores rows by device and by client; see [Devices] and [Clients].
func Read(dir string) (*Results, error) {
	if isStage(dir) {
		p, err := readLog(dir)
		if err != nil {
			return nil, err
		}
		r := p.results(dir, p.ended())
		return &r, nil
	}
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	res := &Results{Dir: dir, Manifest: *m, Runs: m.runs()}
	if c := m.Clock; c != nil && len(c.RunProgramS) == len(res.Runs) {
		for i, of := range c.RunProgramS {
			res.Runs[i].ProgramTime = of
		}
	}
	path := filepath.Join(dir, scenarioFile)
	if res.Scenario, err = input.ReadOwn(path, config.MaxSource); err != nil {
		return nil, err
	}
	if err := m.checkSum(path, scenarioSum(res.Scenario)); err != nil {
		return nil, err
	}
	for _, name := range []string{roundsParquet, clientsFile} { // nobody here needs them
		if err := m.checkFile(dir, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	err = m.readTable(filepath.Join(dir, roundsFile), func(path string, r io.Reader) error {
		return readRounds(path, r, res.Runs)
	})
	if err != nil {
		return nil, err
	}
	if m.Metrics {
		err = m.readTable(filepath.Join(dir, metricsFile), func(path string, r io.Reader) error {
			return readMetrics(path, r, res.Runs, m)
		})
		if err != nil {
			return nil, err
		}
	}
	err = m.readTable(filepath.Join(dir, runsFile), func(path string, r io.Reader) error {
		return readRuns(path, r, res.Runs, m.Targets)
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

// ReadManifest reads the manifest of a run directory and no other file, or makes that of a stage.
func ReadManifest(dir string) (*Manifest, error) {
	if isStage(dir) {
		r, err := Read(dir)
		if err != nil {
			return nil, err
		}
		return &r.Manifest, nil
	}
	path := filepath.Join(dir, manifestFile)
	text, err := input.ReadOwn(path, maxText)
	if errors.Is(err, fs.ErrNotExist) || err != nil && isFile(dir) {
		return nil, missing(dir, err)
	}
	if err != nil {
		return nil, err
	}
	return decodeManifest(path, text)
}

// missing explains why dir has no manifest.
func missing(dir string, err error) error {
	stage := filepath.Join(dir, stageDir)
	why := "there is no " + manifestFile + " in it"
	switch {
	case isFile(dir):
		why = "it is a file"
	case !exists(dir):
		why = "it does not exist"
	case hasCheckpoint(dir):
		return fmt.Errorf("%s: its run is unfinished: resume it with fedsim run --resume %s, or read its finished runs in %s: %w", dir, dir, stage, err)
	case isStage(stage):
		return fmt.Errorf("%s: its run is unfinished: read its finished runs in %s: %w", dir, stage, err)
	}
	return &notOne{fmt.Sprintf("%s: %v: %s: name a directory that fedsim run wrote", dir, ErrForeign, why), err}
}

// notOne says in one sentence why a path is not a run directory. It wraps ErrForeign and the
// cause.
type notOne struct {
	text  string
	cause error
}

func (e *notOne) Error() string { return e.text }

func (e *notOne) Unwrap() []error { return []error{ErrForeign, e.cause} }

// readTable reads a table of the directory, and compares its checksum with that in the manifest.
func (m *Manifest) readTable(path string, read func(path string, r io.Reader) error) error {
	f, err := input.OpenOwn(path, maxTable)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s lists it: run %s again", err, manifestFile, scenarioFile)
	}
	if err != nil {
		return err
	}
	sum := sha256.New()
	all := io.TeeReader(f, sum)
	if err = read(path, all); err == nil {
		if _, err = io.Copy(io.Discard, all); err == nil {
			err = m.checkSum(path, sum.Sum(nil))
		}
	}
	return errors.Join(err, f.Close())
}
