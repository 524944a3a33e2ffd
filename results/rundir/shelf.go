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

	"fedsim/internal/atomicfile"
	"fedsim/internal/input"
	"fedsim/internal/state"
	"fedsim/results"
)

// ErrCheckpoint is wrapped by the errors of what was kept and cannot be resumed:
// damaged, or of another scenario or numeric version.
var ErrCheckpoint = errors.New("cannot be resumed")

const (
	shelfMagic  = "fedsim\x00k" // a text file it is not
	shelfFormat = 4             // version of the layout of what is kept, of every file of it
)

// shelf is a folder of what is kept of a scenario. A file is
//
//	magic, format, numeric version, hash of the scenario, name, content, SHA-256 of all before
//
// and is replaced at once or not at all.
type shelf struct {
	dir      string
	numerics uint64
	scenario uint64
}

const (
	shelfDir  = "kept" // in the stage
	stateExt  = ".state"
	indexFile = "index" + stateExt // what was run, and the runs that are finished
	indexName = "index"
)

// shelfIn is the shelf of a run directory.
func shelfIn(dir string) *shelf {
	return &shelf{dir: filepath.Join(dir, stageDir, shelfDir), numerics: Numerics}
}

// index returns where the index is, without which nothing else is of use.
func (s *shelf) index() string { return filepath.Join(s.dir, indexFile) }

// hashScenario is FNV-1a of the resolved scenario.
func hashScenario(text []byte) uint64 {
	h := fnv.New64a()
	h.Write(text)
	return h.Sum64()
}

// path returns where something is kept: names of runs are longer than those of
// files may be.
func (s *shelf) path(name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:8])+stateExt)
}

// write keeps what fill writes.
func (s *shelf) write(path, name string, fill func(io.Writer) error) error {
	return s.writeBy(atomicfile.Write, path, name, fill)
}

// writeBy keeps it by a function of atomicfile.
func (s *shelf) writeBy(write func(string, func(io.Writer) error) error, path, name string, fill func(io.Writer) error) error {
	return write(path, func(out io.Writer) error {
		sum := sha256.New()
		both := io.MultiWriter(out, sum)
		if _, err := io.WriteString(both, shelfMagic); err != nil {
			return err
		}
		head := header{format: shelfFormat, numerics: s.numerics, scenario: s.scenario, name: name}
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

// header says what a file is of.
type header struct {
	format   uint64
	numerics uint64
	scenario uint64
	name     string
}

// state names the format first, which says how to read the rest.
func (h *header) state(c *state.Coder) {
	if c.Uint64(&h.format); c.Err() != nil || h.format != shelfFormat {
		return
	}
	c.Uint64(&h.numerics)
	c.Uint64(&h.scenario)
	c.String(&h.name)
}

// open checks a file and returns its header and content. The error of a file that
// is not there wraps fs.ErrNotExist.
func (s *shelf) open(path, remedy string) (h header, content []byte, err error) {
	text, err := input.ReadFile(path, maxTable)
	if err != nil {
		return h, nil, err
	}
	refused := func(format string, arguments ...any) error {
		return refuse(path, fmt.Sprintf(format, arguments...), remedy)
	}
	end := len(text) - sha256.Size
	if end < len(shelfMagic) {
		return h, nil, refused("it is cut off after %d bytes", len(text))
	}
	if sum := sha256.Sum256(text[:end]); !bytes.Equal(sum[:], text[end:]) {
		return h, nil, refused("it is damaged, its checksum is not that of its content")
	}
	if !bytes.HasPrefix(text, []byte(shelfMagic)) {
		return h, nil, refused("it is no state of a run")
	}
	r := bytes.NewReader(text[len(shelfMagic):end])
	c := state.Reading(r)
	h.state(c)
	switch {
	case c.Err() != nil:
		return h, nil, refused("its header cannot be read (%v)", c.Err())
	case h.format != shelfFormat:
		return h, nil, refused("it is of format %d, this fedsim reads %d", h.format, shelfFormat)
	case h.numerics != s.numerics:
		return h, nil, refused("it was saved by a fedsim of numeric version %d and this one has %d: the results of both do not mix", h.numerics, s.numerics)
	}
	return h, text[end-r.Len() : end], nil
}

// read returns what is kept under a name, nil when nothing is.
func (s *shelf) read(name string) ([]byte, error) {
	path := s.path(name)
	h, content, err := s.open(path, startsOver)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case h.scenario != s.scenario:
		return nil, refuse(path, fmt.Sprintf("it is of another scenario (%s, not %s)", results.Hash(h.scenario), results.Hash(s.scenario)), startsOver)
	case h.name != name:
		return nil, refuse(path, fmt.Sprintf("it is of %q, not of %q", h.name, name), startsOver)
	}
	return content, nil
}

// What helps when a file is refused.
const (
	startsOver = "delete the file, and what it is of starts over"
	startIt    = "name the scenario, too, to start it: fedsim run SCENARIO --resume DIR"
	startOver  = "run the scenario anew, with --force and without --resume"
)

// refuse says which file cannot be resumed, why, and what to do.
func refuse(path, why, remedy string) error {
	return fmt.Errorf("%s: %w: %s: %s", path, ErrCheckpoint, why, remedy)
}

// forget removes what is kept under a name, if anything is.
func (s *shelf) forget(name string) error {
	if err := os.Remove(s.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
