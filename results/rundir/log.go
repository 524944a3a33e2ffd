package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"fedsim/internal/tools/atomicfile"
	"fedsim/internal/tools/filelock"
	"fedsim/internal/tools/formats"
	"fedsim/results"
)

// Files in DIR/.unfinished: the log, and a file that the writer locks for as
// long as it lives. Readers test the second lock. If they tested the writer's own lock,
// they would hold it for a moment and could turn a new writer away.
const (
	logFile   = "run.log"
	aliveFile = "alive"
)

const (
	logEvery     = time.Second // least time between two writes
	logBuffer    = 1 << 20     // bytes; a fuller buffer is written at once
	leastGarbage = 1 << 24     // bytes of replaced states that are not worth a new file
)

// The kinds of blocks. Rows have the first letter of their table: see rowTable.
const (
	headBlock  = 'h' // logHead: it comes first, and again where a resumed run continues
	beginBlock = 'b' // RunEntry: the run at the place begins, maybe again
	roundBlock = 'r' // the next round of the run; its number counts rounds from 0
	endBlock   = 'e' // logEnd: the end of the run
	partBlock  = 's' // a part of the state with the number
	stateBlock = 'S' // savedName: the end of the state with the number, which replaces the one of that name
)

// isRows reports whether a block has rows.
func (b block) isRows() bool { return b.kind == devicesTable.kind() || b.kind == valuesTable.kind() }

// isBulk reports whether a block is of rows or a part of a state, which followers of a run do not need.
func (b block) isBulk() bool { return b.isRows() || b.kind == partBlock }

// runLog is the log of the runs of a directory, to which blocks are appended. Other processes follow the runs by it,
// and resumed runs continue by it: it has their rounds, rows and states. States that others have replaced are removed
// when they are more than half of it.
//
// The buffer is written about once a second; only checkpoints sync the file. The methods may be called from several
// goroutines.
type runLog struct {
	path    string
	alive   *filelock.Lock
	every   time.Duration
	garbage int64 // bytes of replaced states that are not worth a new file

	mu        sync.Mutex
	buffer    []byte // blocks to be written
	end       int64  // of the blocks in the file and in the buffer
	chain     chain
	round     results.Round    // of the block being made; a field, so that a round allocates nothing
	runs      map[int]*openRun // runs that have begun, by place
	states    stateIndex
	rows      rowIndex // of the checkpoint that it continues
	scheduled bool     // a timer is running
	err       error    // of the last write

	writing sync.Mutex // held during a write; locked before mu
	file    *os.File   // nil: closed
	size    int64      // of the blocks in it
	spare   []byte
}

// logHead is the content of a headBlock.
type logHead struct {
	Format    int      `json:"format"`
	Resumable bool     `json:"resumable"`
	Runs      int      `json:"runs"`    // About.Runs
	Columns   string   `json:"columns"` // of the values of a round: see results.ColumnNames
	Scenario  string   `json:"scenario"`
	Manifest  Manifest `json:"manifest"` // without runs
}

// logEnd is a run without its rounds.
type logEnd struct {
	RunEntry
	WallS    float                `json:"wall_s"`
	Rows     storedRows           `json:"rows,omitzero"`
	ProgramS *results.ProgramTime `json:"program_s,omitempty"`
}

// openRun is a run in the log that has begun.
type openRun struct {
	rounds  int // in the log
	metrics []results.NamedMetric
}

// openLog opens a new log, or that of a checkpoint, which it continues.
func (w *Writer) openLog(from *progress) (err error) {
	path := filepath.Join(w.stage(), logFile)
	l := &runLog{path: path, every: logEvery, garbage: leastGarbage, runs: map[int]*openRun{}}
	l.alive = filelock.New(filepath.Join(w.stage(), aliveFile))
	if err := l.alive.Lock(); err != nil { // a reader holds it for a moment at most
		return fmt.Errorf("lock %s: %w", l.alive.Path(), err)
	}
	defer func() {
		if err != nil {
			l.release()
		}
	}()
	if from == nil {
		l.file, err = os.Create(l.path + ".tmp")
	} else {
		l.end, l.size, l.chain, l.states, l.rows = from.end, from.end, from.chain, from.states, from.rows
		if l.file, err = os.OpenFile(l.path, os.O_RDWR, 0); err == nil {
			err = l.file.Truncate(l.size)
		}
	}
	if err != nil {
		return err
	}
	l.addJSON(headBlock, 0, 0, &logHead{
		Format: formats.Unfinished, Columns: results.ColumnNames(results.RoundColumns),
		Resumable: w.about.Resumable, Runs: w.about.Runs,
		Scenario: string(w.about.Scenario), Manifest: newManifest(w.about, Running, nil, attached{}, nil),
	})
	if err = l.sync(); err == nil && from == nil {
		err = os.Rename(l.file.Name(), l.path)
	}
	w.log, w.saved = l, time.Now()
	return err
}

// add appends a block to the buffer.
func (l *runLog) add(kind byte, place, number int, content []byte) block {
	start := len(l.buffer)
	l.buffer = l.chain.appendBlock(l.buffer, kind, place, number, content)
	return l.added(start)
}

// added counts the block in the buffer from a place on.
func (l *runLog) added(start int) block {
	h := l.buffer[start:]
	l.end += int64(len(h))
	return parseHeader(h, l.end-int64(len(h)))
}

// addJSON appends a block with a value as JSON.
func (l *runLog) addJSON(kind byte, place, number int, value any) block {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts and numbers can be marshalled
	}
	return l.add(kind, place, number, text)
}

// addBegin records that a run begins.
func (l *runLog) addBegin(place int, run *results.Run) {
	entry := newRunEntry(run)
	entry.Status = results.UnderWay
	l.runs[place] = &openRun{metrics: run.Metrics}
	l.addJSON(beginBlock, place, 0, &entry)
}

func (l *runLog) addRound(place int, r *results.Round) {
	of := l.runs[place]
	l.round = *r
	start := len(l.buffer)
	l.buffer = append(l.buffer, make([]byte, headerSize)...)
	l.buffer = appendRecord(l.buffer, results.RoundColumns, &l.round, nil)
	if len(r.Metrics) > 0 && len(of.metrics) > 0 { // else the run begins again at its end
		l.buffer = appendNamed(l.buffer, of.metrics, r.Metrics)
	}
	l.round = results.Round{}
	l.chain.seal(l.buffer[start:], roundBlock, place, of.rounds)
	l.added(start)
	of.rounds++
}

// addEnd records a run, and those of its rounds that are not in the log. A run that began with other metrics begins
// again.
func (l *runLog) addEnd(run *endedRun) {
	place := run.place
	if of := l.runs[place]; of == nil || !slices.Equal(of.metrics, run.Metrics) {
		l.addBegin(place, &run.Run)
	}
	for i := l.runs[place].rounds; i < len(run.Rounds); i++ {
		l.addRound(place, &run.Rounds[i])
	}
	delete(l.runs, place)
	l.addJSON(endBlock, place, 0, &logEnd{
		newRunEntry(&run.Run), float(run.WallS), run.rows, run.ProgramTime})
	l.states.ended(&run.Run)
}

// record adds blocks, which are written soon: at once if the buffer is full. Otherwise no timer runs while it is empty.
// The error is that of the last write, after which the blocks are written later.
func (l *runLog) record(add func()) error {
	l.mu.Lock()
	add()
	full, err := len(l.buffer) >= logBuffer, l.err
	if !l.scheduled {
		l.scheduled = true
		time.AfterFunc(l.every, func() { _ = l.flush() }) // err has it
	}
	l.mu.Unlock()
	if full && err == nil {
		err = l.flush()
	}
	return err
}

// flush writes the buffer. Runs do not wait for it. Where the disk is full the buffer
// stays and the next flush tries again.
func (l *runLog) flush() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	l.scheduled = false
	l.buffer, l.spare = l.spare[:0], l.buffer
	l.mu.Unlock()
	if l.file == nil || len(l.spare) == 0 {
		return nil
	}
	_, err := l.file.WriteAt(l.spare, l.size)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err = nil; err == nil {
		l.size += int64(len(l.spare))
		return nil
	}
	l.buffer, l.spare = append(l.spare, l.buffer...), nil
	l.err = l.failed(err)
	return l.err
}

// failed names the log in an error of a write.
func (l *runLog) failed(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return fmt.Errorf("write %s: %w", l.path, err)
}

// sync writes the buffer and syncs the file.
func (l *runLog) sync() error {
	if err := l.flush(); err != nil {
		return err
	}
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.Sync()
}

// compact replaces the file by one without replaced states, if these are more than half of it. Runs wait for it.
// When it fails, the file stays, and grows by half before the next time.
func (l *runLog) compact() (err error) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil || 2*l.states.garbage < l.end+l.garbage {
		return nil
	}
	l.states.garbage /= 2
	moved, err := l.copyLive(l.path + ".tmp")
	if err != nil {
		_ = os.Remove(l.path + ".tmp")
		return nil
	}
	_ = l.file.Close()
	failed := os.Rename(l.path+".tmp", l.path)
	if l.file, err = os.OpenFile(l.path, os.O_RDWR, 0); err != nil || failed != nil {
		return err
	}
	l.size, l.end, l.chain, l.states, l.buffer = moved.end, moved.end, moved.chain, moved.states, l.buffer[:0]
	return atomicfile.SyncDir(filepath.Dir(l.path))
}

// copyLive writes the log without replaced states to another file.
func (l *runLog) copyLive(path string) (moved *runLog, err error) {
	if _, err := l.file.WriteAt(l.buffer, l.size); err != nil {
		return nil, err
	}
	to, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	moved = &runLog{states: stateIndex{number: l.states.number}}
	from := blockReader{in: l.file, size: l.end, all: true}
	for from.at < l.end {
		b, content, err := from.next()
		if err != nil {
			return nil, err
		}
		if b.isState() && !l.states.needs(b.number) {
			continue
		}
		if b = moved.add(b.kind, b.place, b.number, content); b.isState() {
			err = moved.states.add(b, content)
		}
		if err == nil && (len(moved.buffer) >= logBuffer || from.at == l.end) {
			_, err = to.Write(moved.buffer)
			moved.buffer = moved.buffer[:0]
		}
		if err != nil {
			return nil, err
		}
	}
	return moved, to.Sync()
}

// close writes the buffer and closes the log, which stays.
func (l *runLog) close() {
	_ = l.flush() // err has it
	l.writing.Lock()
	defer l.writing.Unlock()
	l.release()
}

// release closes the files. Errors do no harm: what matters was synced.
func (l *runLog) release() {
	if l.file != nil {
		_ = l.file.Close()
		l.file = nil
	}
	_ = l.alive.Unlock()
}

// ProgressErr returns the error of the last write of live progress, nil when it
// succeeded. Results do not depend on it.
func (w *Writer) ProgressErr() error {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	if w.log.err == nil {
		return nil
	}
	return fmt.Errorf("live progress is incomplete: %w", w.log.err)
}
