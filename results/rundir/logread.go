package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"fedsim/internal/tools/formats"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
	"fedsim/results"
)

// progress is the content of a log.
type progress struct {
	head    logHead
	columns []results.Column[results.Round] // of its rounds
	runs    map[int]*endedRun               // by place
	rows    rowIndex
	states  stateIndex

	end   int64 // of the blocks
	cut   int64 // bytes behind them, of a block that was not written as a whole
	chain chain
}

// rowIndex has the blocks of rows by the place of their run. A run that begins again, or continues at a checkpoint,
// replaces them from a number on.
type rowIndex map[int][]block

func (r rowIndex) add(b block) error {
	own := r[b.place]
	if b.number > len(own) {
		return fmt.Errorf("has rows %d of run %d, behind rows %d", b.number, b.place, len(own)-1)
	}
	r[b.place] = append(own[:b.number], b)
	return nil
}

// inOrder returns the runs in the order of the scenario.
func (p *progress) inOrder() []*endedRun {
	runs := endedRuns{list: slices.Collect(maps.Values(p.runs))}
	runs.sort()
	return runs.list
}

// isStage reports whether a directory is the stage of an unfinished run: its log says what its runs are.
func isStage(dir string) bool { return exists(filepath.Join(dir, logFile)) }

// readLog reads the log of a stage.
func readLog(stage string) (p *progress, err error) {
	path := filepath.Join(stage, logFile)
	if p, err = readProgress(path, false); err != nil && !absent(err) {
		err = inLog(path, err)
	}
	return p, err
}

// inLog adds a log and the remedy to its error.
func inLog(path string, err error) error {
	if remedy := cutRemedy(path, err, ""); remedy != "" {
		return fmt.Errorf("%s: %w: %s", path, err, remedy)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// cutRemedy returns the remedy for an error of a log: that for a block that does not fit, or another one.
func cutRemedy(path string, err error, other string) string {
	if at, ok := errors.AsType[errBlock](err); ok && at > 0 {
		return fmt.Sprintf("to compute what follows again, cut the file off there: truncate -s %d %s",
			int64(at), quote.Shell(path))
	}
	return other
}

// results returns runs of the log of a stage.
func (p *progress) results(stage string, runs []results.Run) Results {
	r := Results{Dir: stage, Manifest: p.head.Manifest, Scenario: []byte(p.head.Scenario), Runs: runs}
	r.Manifest.setRuns(runs)
	r.Manifest.Clock = newClock(p.head.Manifest.Clock.Started, runs, nil)
	return r
}

// ended returns the runs that have ended, in their order.
func (p *progress) ended() (runs []results.Run) {
	for _, run := range p.inOrder() {
		if run.Status != results.UnderWay {
			runs = append(runs, run.Run)
		}
	}
	return runs
}

// readProgress reads a log, and checks all of it if asked to; see blockReader. The error of a file
// that is not there wraps fs.ErrNotExist.
func readProgress(path string, all bool) (p *progress, err error) {
	err = withBlocks(path, func(_ *os.File, r *blockReader) error {
		r.all = all
		p, err = parseProgress(r)
		return err
	})
	return p, err
}

// withBlocks opens a log for a function.
func withBlocks(path string, use func(*os.File, *blockReader) error) error {
	f, err := input.OpenOwn(path, maxTable)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		err = use(f, &blockReader{in: f, size: info.Size()})
	}
	return errors.Join(err, f.Close())
}

func parseProgress(r *blockReader) (*progress, error) {
	p := &progress{runs: map[int]*endedRun{}, rows: rowIndex{}}
	for {
		b, content, err := r.next()
		if err == io.EOF && p.head.Format != 0 {
			p.end, p.cut, p.chain = r.at, r.cut(), r.chain
			p.states.prune()
			return p, nil
		}
		if err == io.EOF || err == nil && p.head.Format == 0 && b.kind != headBlock {
			err = errBlock(0)
		} else if err == nil {
			if err = p.add(b, content); err != nil {
				err = fmt.Errorf("block at byte %d: %w", b.at-headerSize, err)
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// add takes a block.
func (p *progress) add(b block, content []byte) error {
	if b.isRows() {
		return p.rows.add(b)
	}
	run := p.runs[b.place]
	switch b.kind {
	case headBlock:
		return p.addHead(content)
	case partBlock, stateBlock:
		return p.states.add(b, content)
	case beginBlock:
		var begin RunEntry
		if err := json.Unmarshal(content, &begin); err != nil {
			return plainJSON(err)
		}
		p.runs[b.place] = &endedRun{Run: begin.run(), place: b.place}
		return nil
	case roundBlock:
		if run == nil || b.number != len(run.Rounds) {
			return fmt.Errorf("has round %d of run %d, which does not follow", b.number, b.place)
		}
		return p.addRound(run, content)
	case endBlock:
		if run == nil {
			return fmt.Errorf("ends run %d, which has not begun", b.place)
		}
		return p.addEnd(run, content)
	default:
		return nil // of a later version
	}
}

// addHead takes a head. Its format says how to read the rest of it.
func (p *progress) addHead(text []byte) error {
	var version struct {
		Format   int `json:"format"`
		Manifest struct {
			Version *string `json:"fedsim_version"`
		} `json:"manifest"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return plainJSON(err)
	}
	if err := formats.Check(version.Format, formats.Unfinished, version.Manifest.Version); err != nil {
		return err
	}
	p.head = logHead{}
	if err := json.Unmarshal(text, &p.head); err != nil {
		return plainJSON(err)
	}
	var err error
	if p.columns, err = results.ColumnsNamed(results.RoundColumns, p.head.Columns, new(results.Round)); err != nil {
		return err
	}
	if p.head.Manifest.Clock == nil {
		return errors.New("must say when the run began")
	}
	return nil
}

func (p *progress) addRound(run *endedRun, content []byte) (err error) {
	round, from := results.NewRound(), records{left: content}
	if err := readRecord(&from, p.columns, &round, true); err != nil {
		return err
	}
	if round.Metrics, err = from.named(run.Metrics); err == nil {
		run.Rounds = append(run.Rounds, round)
	}
	return err
}

func (p *progress) addEnd(run *endedRun, text []byte) error {
	var end logEnd
	if err := json.Unmarshal(text, &end); err != nil {
		return plainJSON(err)
	}
	rounds, own := run.Rounds, p.rows[run.place]
	*run = endedRun{end.run(), run.place, end.Rows}
	run.WallS, run.Rounds, run.ProgramTime = float64(end.WallS), rounds, end.ProgramS
	if run.rows.Blocks < 0 || run.rows.Blocks > len(own) {
		return lackRows(run.place, run.rows.Blocks, len(own))
	}
	p.rows[run.place] = own[:run.rows.Blocks]
	p.states.ended(&run.Run)
	return nil
}
