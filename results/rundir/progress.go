package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"fedsim/internal/tools/formats"
	"fedsim/results"
)

// Files in DIR/.unfinished: the progress log, and a file that the writer locks for as
// long as it lives. Readers test the second lock. If they tested the writer's own lock,
// they would hold it for a moment and could turn a new writer away.
const (
	progressFile = "progress.jsonl"
	aliveFile    = "alive"
)

const (
	progressEvery  = time.Second // least time between two writes
	progressBuffer = 1 << 20     // bytes; a fuller buffer is written at once
)

// progressLog is an append-only file of JSON Lines, one object a line. Other processes
// follow a run by it, and a resumed run reads its finished runs from it.
//
//	{"head":{...}}                            the first line: versions, scenario, columns
//	{"place":3,"begin":{...}}                 the start of the run at that place
//	{"place":3,"round":[...],"metrics":[...]} its next round; cells as in rounds.csv, and a
//	                                          value or null for each metric of its begin, with
//	                                          the statistics over its clients if there are any
//	{"place":3,"end":{...}}                   its end
//
// The last key of each line, "crc", is the CRC-32C of the line before it, and the key before that, "after", is the
// checksum of the line before. Readers ignore a line that was cut off, and all lines after it, and refuse one that
// is whole and does not follow the line before. The buffer is written about once a
// second; only checkpoints sync the file. The methods may be called from several
// goroutines.
type progressLog struct {
	path  string
	alive *flock.Flock
	every time.Duration

	mu        sync.Mutex
	buffer    []byte           // lines to be written
	last      chain            // of the last line
	round     results.Round    // of the line being made; a field, so that a round allocates nothing
	runs      map[int]*openRun // runs that have begun, by place
	scheduled bool             // a timer is running
	err       error            // of the last write

	writing sync.Mutex // held during a write; locked before mu
	file    *os.File   // nil: closed
	size    int64      // of the complete lines in it
	spare   []byte
}

// logHead is the first line.
type logHead struct {
	Format    int      `json:"format"`
	Resumable bool     `json:"resumable"`
	Runs      int      `json:"runs"`    // About.Runs
	Columns   string   `json:"columns"` // of the cells of a round: see results.ColumnNames
	Scenario  string   `json:"scenario"`
	Manifest  Manifest `json:"manifest"` // without runs
}

// logLine is a line other than that of a round.
type logLine struct {
	Head  *logHead  `json:"head,omitempty"`
	Place *int      `json:"place,omitempty"`
	Begin *RunEntry `json:"begin,omitempty"`
	End   *logEnd   `json:"end,omitempty"`
}

// logEnd is a run without its rounds.
type logEnd struct {
	RunEntry
	Optimum    float                `json:"optimum"`
	OptimumGap float                `json:"optimum_gap"`
	WallS      float                `json:"wall_s"`
	Rows       storedRows           `json:"rows,omitzero"`
	ProgramS   *results.ProgramTime `json:"program_s,omitempty"`
}

// openRun is a run in the log that has begun.
type openRun struct {
	rounds  int // in the log
	metrics []results.NamedMetric
}

// float is a float64 in JSON, bit for bit: NaN is null, infinities are texts.
type float float64

func (n float) MarshalJSON() ([]byte, error) { return appendJSON(nil, float64(n)), nil }

func (n *float) UnmarshalJSON(text []byte) error {
	v, err := parseNumber(jsonCell(string(text)))
	*n = float(v)
	return err
}

// appendValue appends a number, null when it is not known.
func appendValue(b []byte, v results.Value) []byte {
	switch {
	case v.Type() == results.RealType:
		return appendJSON(b, v.Real())
	case v.IsUnknown():
		return append(b, "null"...)
	default:
		return strconv.AppendInt(b, v.Whole(), 10)
	}
}

// appendJSON appends a float as the type float has it.
func appendJSON(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, "null"...)
	case math.IsInf(v, 0):
		return append(strconv.AppendFloat(append(b, '"'), v, 'g', -1, 64), '"')
	default:
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	}
}

// openLog writes a new log with the finished runs, which replaces an older one at once
// or not at all.
func (w *Writer) openLog() (err error) {
	l := &progressLog{path: filepath.Join(w.stage(), progressFile), every: progressEvery, runs: map[int]*openRun{}}
	head := logHead{
		Format: formats.Unfinished, Columns: results.ColumnNames(results.RoundColumns), Resumable: w.about.Resumable, Runs: w.about.Runs, Scenario: string(w.about.Scenario),
		Manifest: newManifest(w.about, Running, nil, attached{}, nil),
	}
	l.addLine(logLine{Head: &head})
	for _, run := range w.ended.list {
		l.addEnd(run)
	}
	l.alive = flock.New(filepath.Join(w.stage(), aliveFile))
	if err := l.alive.Lock(); err != nil { // a reader holds it for a moment at most
		return fmt.Errorf("lock %s: %w", l.alive.Path(), err)
	}
	defer func() {
		if err != nil {
			l.release()
		}
	}()
	if l.file, err = os.Create(l.path + ".tmp"); err != nil {
		return err
	}
	if err := l.sync(); err != nil {
		return err
	}
	if err := os.Rename(l.file.Name(), l.path); err != nil {
		return err
	}
	w.log, w.saved = l, time.Now()
	return nil
}

// addLine puts a line into the buffer.
func (l *progressLog) addLine(line logLine) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err) // texts and numbers can be marshalled
	}
	start := len(l.buffer)
	l.buffer = l.last.endLine(append(l.buffer, text[:len(text)-1]...), start)
}

// begin records that a run begins.
func (l *progressLog) begin(place int, run *results.Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addBegin(place, run)
	l.schedule()
}

func (l *progressLog) addBegin(place int, run *results.Run) {
	entry := newRunEntry(run)
	entry.Status = results.UnderWay
	l.runs[place] = &openRun{metrics: run.Metrics}
	l.addLine(logLine{Place: &place, Begin: &entry})
}

// add records a round. It allocates nothing once the buffer has grown.
func (l *progressLog) add(place int, r *results.Round) {
	l.mu.Lock()
	l.addRound(place, r)
	l.schedule()
	full := len(l.buffer) >= progressBuffer && l.err == nil
	l.mu.Unlock()
	if full {
		_ = l.flush() // err has it
	}
}

func (l *progressLog) addRound(place int, r *results.Round) {
	of := l.runs[place]
	of.rounds++
	l.round = *r
	start := len(l.buffer)
	b := strconv.AppendInt(append(l.buffer, `{"place":`...), int64(place), 10)
	b = append(b, `,"round":[`...)
	for i := range results.RoundColumns {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, results.RoundColumns[i].Get(&l.round))
	}
	b = append(b, ']')
	if len(r.Metrics) > 0 && len(of.metrics) > 0 { // else the run begins again at its end
		b = appendNamed(append(b, `,"metrics":[`...), of.metrics, r.Metrics)
		b = append(b, ']')
	}
	l.round = results.Round{}
	l.buffer = l.last.endLine(b, start)
}

// end records the end of a run.
func (l *progressLog) end(run *endedRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addEnd(run)
	l.schedule()
}

// addEnd puts a run and those of its rounds into the buffer that are not in the log. A run
// that began with other metrics begins again.
func (l *progressLog) addEnd(run *endedRun) {
	place := run.place
	if of := l.runs[place]; of == nil || !slices.Equal(of.metrics, run.Metrics) {
		l.addBegin(place, &run.Run)
	}
	for i := l.runs[place].rounds; i < len(run.Rounds); i++ {
		l.addRound(place, &run.Rounds[i])
	}
	delete(l.runs, place)
	l.addLine(logLine{Place: &place, End: &logEnd{
		newRunEntry(&run.Run), float(run.Optimum), float(run.OptimumGap), float(run.WallS), run.rows, run.ProgramTime}})
}

// schedule makes the buffer be written soon. No timer runs while it is empty.
func (l *progressLog) schedule() {
	if !l.scheduled {
		l.scheduled = true
		time.AfterFunc(l.every, func() { _ = l.flush() }) // err has it
	}
}

// flush writes the buffer. Runs do not wait for it. Where the disk is full the buffer
// stays and the next flush tries again.
func (l *progressLog) flush() error {
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
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	l.err = fmt.Errorf("write %s: %w", l.path, err)
	return l.err
}

// sync writes the buffer and syncs the file.
func (l *progressLog) sync() error {
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

// close writes the buffer and closes the log, which stays.
func (l *progressLog) close() {
	_ = l.flush() // err has it
	l.writing.Lock()
	defer l.writing.Unlock()
	l.release()
}

// release closes the files. Errors do no harm: what matters was synced.
func (l *progressLog) release() {
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
