package rundir

import (
	"errors"
	"fmt"
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
// [Locate]. The files must have the checksums of the manifest. Errors begin with the
// file. Read ignores rows by device and by client; see [Devices] and [Clients].
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
	path := filepath.Join(dir, scenarioFile)
	if res.Scenario, err = input.ReadOwn(path, config.MaxSource); err != nil {
		return nil, err
	}
	if err := m.checkSum(path, scenarioSum(res.Scenario)); err != nil {
		return nil, err
	}
	for _, name := range []string{runsFile, clientsFile} { // nobody here needs them
		if err := m.checkFile(dir, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if err = readRounds(dir, m, res.Runs); err == nil {
		err = readMetrics(dir, m, res.Runs)
	}
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
		return fmt.Errorf(
			"%s: its run is unfinished: resume it with fedsim run --resume %s, or read its finished runs in %s: %w",
			dir, dir, stage, err)
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

func (no *notOne) Error() string { return no.text }

func (no *notOne) Unwrap() []error { return []error{ErrForeign, no.cause} }
