package rundir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"path/filepath"

	"fedsim/internal/tools/atomicfile"
	"fedsim/internal/tools/formats"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/state"
	"fedsim/results"
)

// ErrCheckpoint is wrapped by the errors of a checkpoint that cannot be resumed: it is
// corrupt, or of another scenario or numeric version.
var ErrCheckpoint = errors.New("cannot be resumed")

const stateMagic = "fedsim\x00k" // no text file begins so

const (
	checkpointDir = "checkpoint" // in the stage: a file for each computation under way
	stateExt      = ".state"
	programExt    = ".learner" // of files of vectors and of programs
)

// States are the files of a folder that hold the state of computations of a scenario, by
// name: those of a checkpoint, which are under way, or complete ones that several processes
// share. A file is
//
//	magic, format, numeric version, hash of the scenario, name, content, SHA-256 of all before
//
// and is replaced at once or not at all.
type States struct {
	dir      string
	numerics uint64
	scenario uint64
}

// NewStates returns the states in a folder, of a resolved scenario. The folder must exist
// before the first Save.
func NewStates(dir string, scenario []byte) *States {
	return &States{dir, Numerics, hashScenario(scenario)}
}

// statesIn returns the states in the checkpoint of a run directory.
func statesIn(dir string, scenario []byte) *States {
	return NewStates(filepath.Join(dir, stageDir, checkpointDir), scenario)
}

// hashScenario is FNV-1a of the resolved scenario.
func hashScenario(text []byte) uint64 {
	h := fnv.New64a()
	h.Write(text)
	return h.Sum64()
}

// StateFile returns the name of the file with the state of a name. Names of runs are longer
// than those of files may be.
func StateFile(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8]) + stateExt
}

func (s *States) path(name string) string { return filepath.Join(s.dir, StateFile(name)) }

// Has reports whether there is a state of a name, good or bad.
func (s *States) Has(name string) bool { return exists(s.path(name)) }

// Path returns the path of a file, 0 or 1, beside the state of a name. It is removed with the state.
func (s *States) Path(name string, number int) string {
	return filepath.Join(s.dir, programFile(StateFile(name), number))
}

// Save replaces the state of a name by what fill writes. When it fails, the state saved
// before stays. Calls for different names may overlap.
func (s *States) Save(name string, fill func(io.Writer) error) error {
	return atomicfile.Write(s.path(name), func(out io.Writer) error {
		sum := sha256.New()
		both := io.MultiWriter(out, sum)
		if _, err := io.WriteString(both, stateMagic); err != nil {
			return err
		}
		head := header{format: formats.Unfinished, numerics: s.numerics, scenario: s.scenario, name: name}
		c := state.Writing(both)
		if head.state(c); c.Err() != nil {
			return c.Err()
		}
		if err := fill(both); err != nil {
			return err
		}
		_, err := out.Write(sum.Sum(nil))
		return err
	})
}

// header is what comes before the content of a file.
type header struct {
	format   uint64
	numerics uint64
	scenario uint64
	name     string
}

// state codes the format first, which says how to read the rest.
func (h *header) state(c *state.Coder) {
	if c.Uint64(&h.format); c.Err() != nil || h.format != formats.Unfinished {
		return
	}
	c.Uint64(&h.numerics)
	c.Uint64(&h.scenario)
	c.String(&h.name)
}

// Load returns the state of a name, nil when there is none. The error of a file that is
// corrupt, or of another scenario or numeric version, wraps ErrCheckpoint.
func (s *States) Load(name string) ([]byte, error) {
	content, of, err := s.load(StateFile(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && of != name:
		return nil, refuse(s.path(name), fmt.Sprintf("it is of %q, not of %q", of, name), deleteIt)
	}
	return content, err
}

// Check returns the error of a file of the folder that Load would refuse: see StateFile.
func (s *States) Check(file string) error {
	_, of, err := s.load(file)
	if err == nil && StateFile(of) != file {
		err = refuse(filepath.Join(s.dir, file), fmt.Sprintf("it is of %q", of), deleteIt)
	}
	return err
}

// load returns the content of a file, and the name of its state.
func (s *States) load(file string) (content []byte, name string, err error) {
	path := filepath.Join(s.dir, file)
	text, err := input.ReadOwn(path, maxTable)
	if err != nil {
		return nil, "", err
	}
	refused := func(format string, arguments ...any) ([]byte, string, error) {
		return nil, "", refuse(path, fmt.Sprintf(format, arguments...), deleteIt)
	}
	end := len(text) - sha256.Size
	if end < len(stateMagic) {
		return refused("it is cut off after %d bytes", len(text))
	}
	if sum := sha256.Sum256(text[:end]); !bytes.Equal(sum[:], text[end:]) {
		return refused("it is corrupt: its checksum does not match its content")
	}
	if !bytes.HasPrefix(text, []byte(stateMagic)) {
		return refused("it is no state file")
	}
	var h header
	r := bytes.NewReader(text[len(stateMagic):end])
	c := state.Reading(r)
	h.state(c)
	switch {
	case c.Err() != nil:
		return refused("its header cannot be read (%v)", c.Err())
	case h.format != formats.Unfinished:
		return refused("it has format %d, this version of fedsim reads %d", h.format, formats.Unfinished)
	case h.numerics != s.numerics:
		return refused("%s", otherNumerics(h.numerics, s.numerics))
	case h.scenario != s.scenario:
		return refused("it is of another scenario (%s, not %s)", results.Hash(h.scenario), results.Hash(s.scenario))
	}
	return text[end-r.Len() : end], h.name, nil
}

// otherNumerics says that a checkpoint has another numeric version than this program.
func otherNumerics(saved, ours uint64) string {
	return fmt.Sprintf("it has numeric version %d and this version of fedsim has %d: their results differ", saved, ours)
}

// Remedies for a file that is refused.
const (
	deleteIt = "delete the file to compute that part again"
	startIt  = "add SCENARIO to start it: fedsim run SCENARIO --resume DIR"
	runAgain = "run the scenario again with --force and without --resume"
)

// refuse says which file cannot be resumed, why, and what to do.
func refuse(path, why, remedy string) error {
	return fmt.Errorf("%s: %w: %s: %s", path, ErrCheckpoint, why, remedy)
}

// Reject returns the error of a state that cannot be used, and why.
func (s *States) Reject(name string, why error) error {
	return fmt.Errorf("%w (%w)", refuse(s.path(name), why.Error(), deleteIt), why)
}

// remove removes the files of a name, if there are any.
func (s *States) remove(name string) error {
	file := StateFile(name)
	return removeFiles(s.dir, file, programFile(file, 0), programFile(file, 1))
}

// count returns how many files there are.
func (s *States) count() (n int, err error) {
	names, err := list(s.dir)
	for _, name := range names {
		if filepath.Ext(name) == stateExt && name[0] != '.' { // the others are of writes that were killed
			n++
		}
	}
	return n, err
}
