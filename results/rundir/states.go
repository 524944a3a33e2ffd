package rundir

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"fedsim/internal/tools/atomicfile"
	"fedsim/internal/tools/formats"
	"fedsim/internal/tools/input"
	"fedsim/results"
)

// ErrCheckpoint is wrapped by the errors of a checkpoint that cannot be resumed: it is
// corrupt, or of another scenario or numeric version.
var ErrCheckpoint = errors.New("cannot be resumed")

const (
	checkpointDir = "checkpoint" // in the stage: files of vectors and of programs
	stateExt      = ".state"
	programExt    = ".learner" // of files of vectors and of programs
)

// savedName is the content of a stateBlock.
type savedName struct {
	State string `json:"state"`
}

// isState reports whether a block belongs to a state.
func (b block) isState() bool { return b.kind == partBlock || b.kind == stateBlock }

// stateIndex has the places of states in a log. The zero value has none.
type stateIndex struct {
	named   map[string]int  // the numbers of the last complete ones
	parts   map[int][]block // by number, also of those that are not complete
	number  int             // of the next one
	garbage int64           // bytes of replaced ones
}

// begin begins a state and returns its number.
func (s *stateIndex) begin() int {
	number := s.number
	s.open(number)
	return number
}

// open makes a number that of a state.
func (s *stateIndex) open(number int) {
	if s.parts == nil {
		s.named, s.parts = map[string]int{}, map[int][]block{}
	}
	s.parts[number] = nil
	s.number = max(s.number, number+1)
}

// add takes a part of a state, or its end.
func (s *stateIndex) add(b block, content []byte) error {
	if !s.needs(b.number) {
		s.open(b.number)
	}
	if b.kind == partBlock {
		s.parts[b.number] = append(s.parts[b.number], b)
		return nil
	}
	var end savedName
	if err := json.Unmarshal(content, &end); err != nil {
		return plainJSON(err)
	}
	if old, ok := s.named[end.State]; ok {
		s.drop(old)
	}
	s.named[end.State] = b.number
	return nil
}

// needs reports whether a state of a number is there, and not replaced.
func (s *stateIndex) needs(number int) bool {
	_, ok := s.parts[number]
	return ok
}

// drop removes the state of a number.
func (s *stateIndex) drop(number int) {
	for _, b := range s.parts[number] {
		s.garbage += int64(headerSize + b.size)
	}
	delete(s.parts, number)
}

// ended removes the state of a finished run.
func (s *stateIndex) ended(run *results.Run) {
	if number, ok := s.named[run.ID]; ok && isFinished(run) {
		s.drop(number)
		delete(s.named, run.ID)
	}
}

// prune removes the states that are not complete, whose writer was killed.
func (s *stateIndex) prune() {
	complete := map[int]bool{}
	for _, number := range s.named {
		complete[number] = true
	}
	for number := range s.parts {
		if !complete[number] {
			s.drop(number)
		}
	}
}

// parts writes the parts of a state: each call is a block, or several.
type parts func(content []byte) error

func (p parts) Write(b []byte) (int, error) {
	for part := range slices.Chunk(b, mostBlock) {
		if err := p(part); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// fillParts writes a state in blocks.
func fillParts(write parts, fill func(io.Writer) error) error {
	out := bufio.NewWriterSize(write, mostBlock)
	if err := fill(out); err != nil {
		return err
	}
	return out.Flush()
}

// save replaces the state of a name by what fill writes, and makes it durable.
func (l *runLog) save(name string, fill func(io.Writer) error) error {
	l.mu.Lock()
	number := l.states.begin()
	l.mu.Unlock()
	err := fillParts(func(content []byte) error {
		return l.record(func() {
			b := l.add(partBlock, 0, number, content)
			l.states.parts[number] = append(l.states.parts[number], b)
		})
	}, fill)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.states.drop(number)
		return err
	}
	text, err := json.Marshal(savedName{name})
	if err != nil {
		return err
	}
	err = l.record(func() { err = l.states.add(l.add(stateBlock, 0, number, text), text) })
	if err == nil {
		err = l.sync()
	}
	if err == nil {
		err = l.compact()
	}
	return err
}

// load returns the last state of a name, nil when there is none.
func (l *runLog) load(name string) ([]byte, error) {
	if err := l.flush(); err != nil {
		return nil, err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	number, ok := l.states.named[name]
	if !ok {
		return nil, nil
	}
	content, from := []byte{}, blockReader{in: l.file, size: math.MaxInt64}
	for _, b := range l.states.parts[number] {
		part, err := from.contentOf(b)
		if err != nil {
			return nil, refuse(l.path, err.Error(), runAgain)
		}
		content = append(content, part...)
	}
	return content, nil
}

// States are the files of a folder that hold the states of computations of a scenario, by
// name, which several processes share. A file is a log with one state, and is replaced at once or not at all.
type States struct {
	dir  string
	head statesHead
}

// statesHead is the content of the headBlock of a file.
type statesHead struct {
	Format   int          `json:"format"`
	Numerics uint64       `json:"numerics"`
	Scenario results.Hash `json:"scenario"`
}

// NewStates returns the states in a folder, of a resolved scenario. The folder must exist
// before the first Save.
func NewStates(dir string, scenario []byte) *States {
	h := fnv.New64a()
	h.Write(scenario)
	return &States{dir, statesHead{formats.Unfinished, Numerics, results.Hash(h.Sum64())}}
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

// Path returns the path of a file, 0 or 1, beside the state of a name.
func (s *States) Path(name string, number int) string {
	return filepath.Join(s.dir, programFile(StateFile(name), number))
}

// Save replaces the state of a name by what fill writes. When it fails, the state saved
// before stays. Calls for different names may overlap.
func (s *States) Save(name string, fill func(io.Writer) error) error {
	return atomicfile.Write(s.path(name), func(out io.Writer) error {
		var last chain
		write := func(kind byte, content []byte) error {
			_, err := out.Write(last.appendBlock(nil, kind, 0, 0, content))
			return err
		}
		head, err := json.Marshal(&s.head)
		if err == nil {
			err = write(headBlock, head)
		}
		if err == nil {
			err = fillParts(func(content []byte) error { return write(partBlock, content) }, fill)
		}
		end, failed := json.Marshal(savedName{name})
		if err = errors.Join(err, failed); err != nil {
			return err
		}
		return write(stateBlock, end)
	})
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
	r := blockReader{in: bytes.NewReader(text), size: int64(len(text)), all: true}
	var head statesHead
	var end savedName
	content = []byte{}
	for r.at < r.size || r.size == 0 {
		b, part, err := r.next()
		switch {
		case err == io.EOF || err == nil && (b.kind == headBlock) != (b.at == headerSize):
			err = fmt.Errorf("is cut off after %d bytes", len(text))
		case err == nil && b.kind == headBlock:
			err = json.Unmarshal(part, &head)
		case err == nil && b.kind == stateBlock:
			err = json.Unmarshal(part, &end)
		case err == nil:
			content = append(content, part...)
		}
		if err != nil {
			return refused("it %v", plainJSON(err))
		}
	}
	switch {
	case head.Format != s.head.Format:
		return refused("it has format %d, this version of fedsim reads %d", head.Format, s.head.Format)
	case head.Numerics != s.head.Numerics:
		return refused("%s", otherNumerics(head.Numerics, s.head.Numerics))
	case head.Scenario != s.head.Scenario:
		return refused("it is of another scenario (%s, not %s)", head.Scenario, s.head.Scenario)
	case end.State == "":
		return refused("it is cut off after %d bytes", len(text))
	}
	return content, end.State, nil
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
