package rundir

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"github.com/gofrs/flock"

	"fedsim/internal/input"
	"fedsim/internal/state"
	"fedsim/results"
)

// Status is what a run directory is at.
type Status string

const (
	Absent   Status = "absent"   // nothing is there, or nothing that can be read yet
	Writing  Status = "writing"  // a process writes it
	Stopped  Status = "stopped"  // the process that wrote it is gone: it was killed, or the machine went down
	Finished Status = "finished" // its run came to its end, or was interrupted; one that was killed later left it as it was
)

// Info is what a look at a run directory tells without reading it.
type Info struct {
	Status  Status
	Version string // as long as it is the same, so is what ReadLive tells
}

// Stat looks at a run directory, which need not be there yet. It takes some system
// calls, whatever the directory holds. The error of a path that is no directory, or
// of one that holds anything but a run, wraps ErrForeign.
func Stat(dir string) (Info, error) {
	g := Info{Status: Absent}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		_, err := inspect(dir)
		return g, err
	}
	stage := filepath.Join(dir, stageDir)
	for _, name := range []string{filepath.Join(dir, manifestFile), filepath.Join(stage, manifestFile)} {
		info, err := os.Stat(name)
		switch {
		case err == nil && name == filepath.Join(dir, manifestFile):
			g.Status = Finished
		case err == nil && g.Status == Absent:
			g.Status = Stopped
		case err != nil && !absent(err):
			return g, err
		}
		g.Version += mark(info)
	}
	f, err := input.Open(filepath.Join(stage, feedFile), maxText)
	switch {
	case absent(err):
		if g.Status == Absent {
			_, err := inspect(dir) // it may hold something else altogether
			return g, err
		}
		return g, nil
	case err != nil:
		return g, err
	}
	info, err := f.Stat()
	if err != nil {
		return g, errors.Join(err, f.Close())
	}
	switch {
	case isAlive(stage):
		g.Status = Writing
	case g.Status == Absent:
		g.Status = Stopped
	}
	g.Version += string(g.Status) + mark(info)
	return g, f.Close()
}

// absent reports whether an error says that a file is not there.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// mark tells two states of a file apart.
func mark(info fs.FileInfo) string {
	if info == nil {
		return "-;"
	}
	return fmt.Sprintf("%d,%d;", info.Size(), info.ModTime().UnixNano())
}

// isAlive reports whether somebody writes a stage. Where it cannot be told, somebody
// may.
func isAlive(stage string) bool {
	alive := flock.New(filepath.Join(stage, aliveFile), flock.SetFlag(os.O_RDONLY))
	got, err := alive.TryRLock()
	if got {
		err = alive.Unlock()
		return err != nil
	}
	return !absent(err)
}

// Live is what a run directory holds, finished or not.
type Live struct {
	Results        // State is Running while Status is Writing, Incomplete when it is Stopped
	Status  Status // never Absent
	Total   int    // runs that there will be in the end; 0: not known
}

// ReadLive reads how far a run directory has come: the runs that are finished and
// those that are under way, whose Status is UnderWay while somebody makes them and
// Interrupted when nobody does any more. Of what a process writes at this moment all
// is read that is whole; thetas and rows by device are not. The error of a directory
// where there is nothing to read wraps fs.ErrNotExist or ErrForeign.
func ReadLive(dir string) (*Live, error) {
	const attempts = 5 // what is read may be moved to its place meanwhile
	for i := 1; ; i++ {
		before, err := Stat(dir)
		if err != nil {
			return nil, err
		}
		l, err := follow(dir, before.Status)
		if err == nil || i == attempts {
			return l, err
		}
		if after, e := Stat(dir); e != nil || after == before {
			return nil, err
		}
	}
}

func follow(dir string, phase Status) (*Live, error) {
	l := &Live{Status: phase}
	place := dir
	if phase != Finished {
		place = filepath.Join(dir, stageDir)
		path := filepath.Join(place, feedFile)
		text, err := input.ReadFile(path, maxText)
		switch {
		case len(text) > 0:
			return l, l.read(path, text)
		case absent(err) && phase == Writing:
			return nil, fmt.Errorf("%s: is being moved to its place", dir)
		case absent(err) && phase == Absent:
			place = dir // so that it says what a run directory would have
		case err != nil && !absent(err):
			return nil, err
		}
	}
	r, err := Read(place) // a feed that was given up is empty
	if err != nil {
		return nil, err
	}
	l.Results = *r
	switch {
	case r.Manifest.State == Complete:
		l.Total = len(r.Runs)
	case phase == Stopped:
		l.Manifest.State = Incomplete
	}
	return l, nil
}

// read takes all frames that are whole. What is behind them is being written, or
// was when the machine went down.
func (l *Live) read(path string, text []byte) error {
	content := bytes.NewReader(nil)
	c := state.Reading(content)
	places := map[int]*results.Run{}
	for at := 0; at+frameHead <= len(text); {
		length := binary.LittleEndian.Uint32(text[at:])
		sum := binary.LittleEndian.Uint32(text[at+4:])
		rest := text[at+frameHead:]
		if uint64(length) > uint64(len(rest)) || crc32.Checksum(rest[:length], crcTable) != sum {
			break
		}
		content.Reset(rest[:length])
		l.frame(c, places)
		if c.Err() == nil && content.Len() > 0 {
			c.Fail(fmt.Errorf("%d bytes too many", content.Len()))
		}
		if c.Err() != nil {
			return fmt.Errorf("%s: the frame at byte %d: %w", path, at, c.Err())
		}
		at += frameHead + int(length)
	}
	if l.Scenario == nil {
		return fmt.Errorf("%s: must begin with what is run", path)
	}
	order := make([]int, 0, len(places))
	for index := range places {
		order = append(order, index)
	}
	sort.Ints(order)
	if l.Status != Writing {
		l.Manifest.State = Incomplete
	}
	for _, index := range order {
		run := places[index]
		if run.Status == results.UnderWay && l.Status != Writing {
			run.Status = results.Interrupted
		}
		l.Runs = append(l.Runs, *run)
	}
	l.Manifest.setRuns(l.Runs)
	l.Manifest.Clock = newClock(l.Manifest.Clock.Started, l.Runs, nil)
	return nil
}

// frame takes one frame.
func (l *Live) frame(c *state.Coder, places map[int]*results.Run) {
	var kind, index int
	if c.Int(&kind); kind != feedAbout {
		c.Int(&index)
	}
	if c.Err() != nil {
		return
	}
	switch run := places[index]; kind {
	case feedAbout:
		l.about(c)
	case feedBegin, feedEnd:
		var told results.Run
		if told.State(c); run != nil && kind == feedEnd {
			told.Rounds = run.Rounds
		}
		places[index] = &told
	case feedRound:
		if run == nil {
			c.Fail(fmt.Errorf("is of run %d, which has not begun", index))
			return
		}
		var round results.Round
		round.State(c)
		run.Rounds = append(run.Rounds, round)
	default:
		c.Fail(fmt.Errorf("is of the unknown kind %d", kind))
	}
}

func (l *Live) about(c *state.Coder) {
	var h feedHead
	if h.state(c); c.Err() != nil {
		return
	}
	if err := json.Unmarshal([]byte(h.manifest), &l.Manifest); err != nil {
		c.Fail(err)
		return
	}
	if l.Manifest.Clock == nil {
		c.Fail(fmt.Errorf("has no clock"))
	}
	l.Scenario, l.Total = []byte(h.scenario), h.runs
}
