package rundir

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"fedsim/internal/state"
	"fedsim/results"
)

// In the stage: where runs can be followed while they are made, and a file that is
// locked as long as somebody makes them. (The lock of the stage is for those who
// write: to see whether it is held one has to take it for a moment, in which nobody
// else could.)
const (
	feedFile  = "live"
	aliveFile = "alive"
)

const (
	feedFormat = 2           // version of the layout
	feedEvery  = time.Second // at least between two writes
	feedMost   = 1 << 20     // bytes that wait to be written; more are written at once
)

// What a frame of the feed tells.
const (
	feedAbout = iota + 1 // the manifest without runs, the scenario, how many runs there will be
	feedBegin            // a run begins: its place and what it is
	feedRound            // of the run at a place
	feedEnd              // the run at a place will not change any more: all of it but its rounds
)

// feed is a file of frames, each of them
//
//	length of the content, CRC-32C of the content (4 bytes each, little-endian), content
//
// which is only ever appended to, about once a second. It is no result: it is not
// synced, thetas are not in it, and it is gone when the run is over. A round takes 160
// bytes in it, where it has about 230 in rounds.csv. Its methods may be called from
// several goroutines.
type feed struct {
	every time.Duration

	mu      sync.Mutex
	frames  bytes.Buffer // that wait to be written
	coder   *state.Coder // into frames
	told    map[int]int  // rounds in the feed, by the place of the run
	waiting bool         // a write is to come
	err     error        // why it was given up

	writing sync.Mutex // held while file is written; taken before mu
	file    *os.File
	spare   []byte
	alive   *flock.Flock
}

// startFeed makes the feed of a stage, with the runs that are finished.
func (w *Writer) startFeed() error {
	manifest, err := json.Marshal(newManifest(w.about, Running, nil, attached{}, nil))
	if err != nil {
		return err
	}
	f := &feed{every: feedEvery, told: map[int]int{}}
	f.coder = state.Writing(&f.frames)
	f.frame(feedAbout, func(c *state.Coder) {
		h := feedHead{format: feedFormat, manifest: string(manifest), scenario: string(w.about.Scenario), runs: w.about.Runs}
		h.state(c)
	})
	for i := range w.runs {
		f.end(w.index[i], &w.runs[i])
	}
	f.alive = flock.New(filepath.Join(w.stage(), aliveFile))
	if err := f.alive.Lock(); err != nil { // nobody has the new file for long
		return fmt.Errorf("lock %s: %w", f.alive.Path(), err)
	}
	// It is there with its first frame, or not at all.
	path := filepath.Join(w.stage(), feedFile)
	if f.file, err = os.Create(path + ".tmp"); err == nil {
		_, err = f.file.Write(f.frames.Bytes())
	}
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		f.letGo()
		return err
	}
	f.frames.Reset()
	w.feed = f
	return nil
}

// feedHead is the content of the first frame.
type feedHead struct {
	format             int
	manifest, scenario string
	runs               int
}

func (h *feedHead) state(c *state.Coder) {
	if c.Int(&h.format); c.Reads() && c.Err() == nil && h.format != feedFormat {
		c.Fail(fmt.Errorf("format = %d: must be %d, the one this version of fedsim reads", h.format, feedFormat))
		return
	}
	c.String(&h.manifest)
	c.String(&h.scenario)
	c.Int(&h.runs)
}

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// frame puts a frame behind those that wait. mu is held, or nobody else has the feed.
func (f *feed) frame(kind int, content func(*state.Coder)) {
	start := f.open(kind)
	content(f.coder)
	f.close(start)
}

const frameHead = 8 // bytes before the content

func (f *feed) open(kind int) (start int) {
	start = f.frames.Len()
	var head [frameHead]byte
	f.frames.Write(head[:])
	f.coder.Int(&kind)
	return start
}

func (f *feed) close(start int) {
	frame := f.frames.Bytes()[start:]
	binary.LittleEndian.PutUint32(frame, uint32(len(frame)-frameHead))
	binary.LittleEndian.PutUint32(frame[4:], crc32.Checksum(frame[frameHead:], crcTable))
}

// begin tells that a run begins.
func (f *feed) begin(index int, run results.Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return
	}
	f.told[index] = 0
	f.putRun(feedBegin, index, &run)
	f.wake()
}

// putRun tells all of a run but its rounds.
func (f *feed) putRun(kind, index int, run *results.Run) {
	bare := *run
	bare.Rounds = nil
	f.frame(kind, func(c *state.Coder) {
		c.Int(&index)
		bare.State(c)
	})
}

// round tells of a round. It allocates nothing once the buffer has grown.
func (f *feed) round(index int, r *results.Round) {
	f.mu.Lock()
	if f.err == nil {
		f.putRound(index, r)
		f.wake()
	}
	full := f.frames.Len() >= feedMost
	f.mu.Unlock()
	if full {
		f.write()
	}
}

func (f *feed) putRound(index int, r *results.Round) {
	f.told[index]++
	bare := *r
	bare.Thetas = nil
	start := f.open(feedRound)
	f.coder.Int(&index)
	bare.State(f.coder)
	f.close(start)
}

// finished tells that a run will not change any more.
func (f *feed) finished(index int, run *results.Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return
	}
	f.end(index, run)
	f.wake()
}

// end tells of a run and of its rounds, as far as they were not told.
func (f *feed) end(index int, run *results.Run) {
	if _, begun := f.told[index]; !begun {
		early := *run
		early.Status = results.UnderWay
		f.putRun(feedBegin, index, &early)
	}
	for i := f.told[index]; i < len(run.Rounds); i++ {
		f.putRound(index, &run.Rounds[i])
	}
	delete(f.told, index)
	f.putRun(feedEnd, index, run)
}

// wake lets what waits be written in a while. Nothing runs while nothing waits.
func (f *feed) wake() {
	if !f.waiting {
		f.waiting = true
		time.AfterFunc(f.every, f.write)
	}
}

// write writes what waits. Runs do not wait for it.
func (f *feed) write() {
	f.writing.Lock()
	defer f.writing.Unlock()
	f.mu.Lock()
	f.waiting = false
	f.spare = append(f.spare[:0], f.frames.Bytes()...)
	f.frames.Reset()
	file := f.file
	f.mu.Unlock()
	if file == nil || len(f.spare) == 0 {
		return
	}
	if _, err := file.Write(f.spare); err != nil {
		f.giveUp(err)
	}
}

// giveUp frees the room of a feed that could not be written, and forgets what waits,
// which would leave a hole before it. The empty file says that its writer lives.
func (f *feed) giveUp(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frames.Reset()
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	if f.err == nil {
		f.err = fmt.Errorf("runs cannot be followed while they are made: write %s: %w", feedFile, errors.Join(err, f.file.Truncate(0)))
	}
}

// stop writes what waits and lets go of the files.
func (f *feed) stop() {
	f.write()
	f.writing.Lock()
	defer f.writing.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.letGo()
}

// letGo closes what is removed next; that it cannot be does no harm.
func (f *feed) letGo() {
	if f.file != nil {
		_ = f.file.Close()
		f.file = nil
	}
	_ = f.alive.Unlock()
}

// dropFeed ends a feed and removes it from a stage that stays. Where it cannot be
// removed it does no harm: who goes on clears it away.
func (w *Writer) dropFeed() {
	w.feed.stop()
	for _, name := range []string{feedFile, aliveFile} {
		_ = os.Remove(filepath.Join(w.stage(), name))
	}
}

// Progress lets a run that begins be followed. The index is that of Add; of run ID,
// Experiment, Method, Algorithm, Point, Tuned, Seed, Real and Relative are used. What it
// returns is to be told of each round, and may be called from any goroutine.
func (w *Writer) Progress(index int, run results.Run) func(results.Round) {
	run.Status = results.UnderWay
	run.Optimum, run.OptimumGap, run.WallS = math.NaN(), math.NaN(), math.NaN()
	w.feed.begin(index, run)
	return func(r results.Round) { w.feed.round(index, &r) }
}

// ProgressErr reports why runs could not be followed to their end while they were
// made: the disk was full. It is nil when they could; results do not depend on it.
func (w *Writer) ProgressErr() error {
	w.feed.mu.Lock()
	defer w.feed.mu.Unlock()
	return w.feed.err
}
