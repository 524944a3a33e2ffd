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
	"os"
	"path/filepath"
	"strings"

	"fedsim/internal/atomicfile"
	"fedsim/internal/input"
	"fedsim/internal/state"
	"fedsim/results"
)

// ErrCheckpoint is wrapped by the errors of a checkpoint that cannot be resumed: it is
// corrupt, or of another scenario or numeric version.
var ErrCheckpoint = errors.New("cannot be resumed")

const stateMagic = "fedsim\x00k" // no text file begins so

const (
	checkpointDir = "checkpoint" // in the stage: a file for each computation under way
	stateExt      = ".state"
	programExt    = ".learner" // of files that programs write
)

// stateFiles are the files of a checkpoint that hold the state of computations under
// way. A file is
//
//	magic, format, numeric version, hash of the scenario, name, content, SHA-256 of all before
//
// and is replaced at once or not at all.
type stateFiles struct {
	dir      string
	numerics uint64
	scenario uint64
}

// stateFilesIn returns the state files of a run directory.
func stateFilesIn(dir string, scenario []byte) *stateFiles {
	return &stateFiles{filepath.Join(dir, stageDir, checkpointDir), Numerics, hashScenario(scenario)}
}

// hashScenario is FNV-1a of the resolved scenario.
func hashScenario(text []byte) uint64 {
	h := fnv.New64a()
	h.Write(text)
	return h.Sum64()
}

// path returns the file of a name. Names of runs are longer than those of files may be.
func (s *stateFiles) path(name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:8])+stateExt)
}

// program returns the path of a file, 0 or 1, that a program writes beside the state of a
// name.
func (s *stateFiles) program(name string, number int) string {
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(s.path(name), stateExt), number, programExt)
}

// write writes the file of a name; fill writes the content.
func (s *stateFiles) write(name string, fill func(io.Writer) error) error {
	return atomicfile.Write(s.path(name), func(out io.Writer) error {
		sum := sha256.New()
		both := io.MultiWriter(out, sum)
		if _, err := io.WriteString(both, stateMagic); err != nil {
			return err
		}
		head := header{format: progressFormat, numerics: s.numerics, scenario: s.scenario, name: name}
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
	if c.Uint64(&h.format); c.Err() != nil || h.format != progressFormat {
		return
	}
	c.Uint64(&h.numerics)
	c.Uint64(&h.scenario)
	c.String(&h.name)
}

// read returns the content of the file of a name, nil when there is no file.
func (s *stateFiles) read(name string) ([]byte, error) {
	path := s.path(name)
	text, err := input.ReadFile(path, maxTable)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	refused := func(format string, arguments ...any) ([]byte, error) {
		return nil, refuse(path, fmt.Sprintf(format, arguments...), deleteIt)
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
	case h.format != progressFormat:
		return refused("it has format %d, this version of fedsim reads %d", h.format, progressFormat)
	case h.numerics != s.numerics:
		return refused("%s", otherNumerics(h.numerics, s.numerics))
	case h.scenario != s.scenario:
		return refused("it is of another scenario (%s, not %s)", results.Hash(h.scenario), results.Hash(s.scenario))
	case h.name != name:
		return refused("it is of %q, not of %q", h.name, name)
	}
	return text[end-r.Len() : end], nil
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

// remove removes the files of a name, if there are any.
func (s *stateFiles) remove(name string) error {
	for _, path := range []string{s.path(name), s.program(name, 0), s.program(name, 1)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// count returns how many files there are.
func (s *stateFiles) count() (n int, err error) {
	names, err := list(s.dir)
	for _, name := range names {
		if filepath.Ext(name) == stateExt && name[0] != '.' { // the others are of writes that were killed
			n++
		}
	}
	return n, err
}
