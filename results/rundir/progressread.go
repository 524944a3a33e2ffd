package rundir

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fedsim/internal/tools/formats"
	"fedsim/internal/tools/input"
	"fedsim/results"
)

// The end of a line: ,"after":"89abcdef","crc":"01234567"} and the line break. The checksum is that of the
// line before its key, and continues that of the line before, which it is after.
const (
	afterKey  = `,"after":"`
	afterTail = len(afterKey) + 8 + len(`"`)
	crcKey    = `,"crc":"`
	crcTail   = len(crcKey) + 8 + len(`"}`)
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// chain is the checksum of the last line of a log.
type chain [4]byte

// endLine completes the line that begins at start: an object without its closing brace.
func (c *chain) endLine(b []byte, start int) []byte {
	b = append(hex.AppendEncode(append(b, afterKey...), c[:]), '"')
	*c = sumLine(b[start:])
	return append(hex.AppendEncode(append(b, crcKey...), c[:]), "\"}\n"...)
}

func sumLine(text []byte) (sum chain) {
	binary.BigEndian.PutUint32(sum[:], crc32.Checksum(text, crcTable))
	return sum
}

// errChain is the error of a line that is whole, and does not continue those before it.
var errChain = errors.New("does not follow the line before it: lines were moved, doubled, deleted or added")

// cutLines is the remedy for errChain.
const cutLines = "delete this line and those behind it to compute their rounds again"

// checkLine returns the object of a line without its closing brace; nil when the line is corrupt.
func (c *chain) checkLine(line []byte) (body []byte, err error) {
	if len(line) < crcTail+afterTail {
		return nil, nil
	}
	text := line[:len(line)-crcTail]
	var end [crcTail]byte
	sum, before := sumLine(text), *c
	if !bytes.Equal(line[len(text):], append(hex.AppendEncode(append(end[:0], crcKey...), sum[:]), `"}`...)) {
		return nil, nil
	}
	*c = sum
	body, after := text[:len(text)-afterTail], text[len(text)-afterTail:]
	var want [afterTail]byte
	if !bytes.Equal(after, append(hex.AppendEncode(append(want[:0], afterKey...), before[:]), '"')) {
		return nil, errChain
	}
	return body, nil
}

// progress is the content of a log.
type progress struct {
	head    logHead
	columns []results.Column[results.Round] // of the cells of its rounds
	runs    map[int]*endedRun               // by place
}

// inOrder returns the runs in the order of the scenario.
func (p *progress) inOrder() []*endedRun {
	runs := endedRuns{list: slices.Collect(maps.Values(p.runs))}
	runs.sort()
	return runs.list
}

// isStage reports whether a directory is the stage of an unfinished run: its log of progress says
// what its runs are.
func isStage(dir string) bool { return exists(filepath.Join(dir, progressFile)) }

// readLog reads the log of a stage.
func readLog(stage string) (*progress, error) {
	path := filepath.Join(stage, progressFile)
	p, err := readProgress(path)
	if err != nil && !absent(err) {
		if err = fmt.Errorf("%s: %w", path, err); errors.Is(err, errChain) {
			err = fmt.Errorf("%w: %s", err, cutLines)
		}
	}
	return p, err
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

// readProgress reads a log up to the first line that is not whole. The error of a file
// that is not there wraps fs.ErrNotExist.
func readProgress(path string) (*progress, error) {
	f, err := input.OpenOwn(path, maxTable)
	if err != nil {
		return nil, err
	}
	p, err := parseProgress(f)
	return p, errors.Join(err, f.Close())
}

func parseProgress(r io.Reader) (*progress, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxText)
	lines.Split(wholeLines)
	p := &progress{runs: map[int]*endedRun{}}
	var last chain
	for number := 1; lines.Scan(); number++ {
		body, err := last.checkLine(lines.Bytes())
		if err == nil && body == nil {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if before, list, is := bytes.Cut(body, []byte(`,"round":[`)); is {
			err = p.addRound(string(before), string(list))
		} else {
			err = p.addLine(append(body, '}'), number)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if p.head.Format == 0 {
		return nil, errors.New("is corrupt: its first line must be the head of a progress log")
	}
	return p, nil
}

// wholeLines is bufio.ScanLines that ignores a last line without a line break.
func wholeLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	return 0, nil, nil
}

// addLine takes a line other than that of a round.
func (p *progress) addLine(text []byte, number int) error {
	if number == 1 {
		return p.addHead(text)
	}
	var line logLine
	if err := json.Unmarshal(text, &line); err != nil {
		return plainJSON(err)
	}
	switch {
	case line.Place == nil || (line.Begin == nil) == (line.End == nil):
		return errors.New("must be the begin, a round or the end of a run")
	case line.Begin != nil:
		p.runs[*line.Place] = &endedRun{Run: line.Begin.run(), place: *line.Place}
	default:
		run := p.runs[*line.Place]
		if run == nil {
			return fmt.Errorf("ends run %d, which has not begun", *line.Place)
		}
		rounds := run.Rounds
		*run = endedRun{line.End.run(), run.place, line.End.Rows}
		run.Optimum, run.OptimumGap, run.WallS = float64(line.End.Optimum), float64(line.End.OptimumGap), float64(line.End.WallS)
		run.Rounds, run.ProgramTime = rounds, line.End.ProgramS
	}
	return nil
}

// addHead takes the first line. Its format says how to read the rest of it.
func (p *progress) addHead(text []byte) error {
	var version struct {
		Head struct {
			Format   int `json:"format"`
			Manifest struct {
				Version *string `json:"fedsim_version"`
			} `json:"manifest"`
		} `json:"head"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return plainJSON(err)
	}
	if err := formats.Check(version.Head.Format, formats.Unfinished, version.Head.Manifest.Version); err != nil {
		return err
	}
	line := logLine{Head: &p.head}
	if err := json.Unmarshal(text, &line); err != nil {
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

// addRound takes the line of a round: its place, and its lists behind the first bracket.
func (p *progress) addRound(before, lists string) error {
	place, err := strconv.Atoi(strings.TrimPrefix(before, `{"place":`))
	run := p.runs[place]
	if err != nil || run == nil {
		return fmt.Errorf("has a round of run %d, which has not begun", place)
	}
	cells, values, named := strings.Cut(strings.TrimSuffix(lists, "]"), `],"metrics":[`)
	round := results.NewRound()
	if named {
		if round.Metrics, err = parseNamed(run.Metrics, values); err != nil {
			return err
		}
	}
	list := strings.Split(cells, ",")
	if len(list) != len(p.columns) {
		return fmt.Errorf("has a round of %d cells, must have %d", len(list), len(p.columns))
	}
	for i := range p.columns {
		c := &p.columns[i]
		if err := parseCell(c, &round, jsonCell(list[i])); err != nil {
			return fmt.Errorf("%s = %s: %w", c.Name, list[i], err)
		}
	}
	run.Rounds = append(run.Rounds, round)
	return nil
}

// jsonCell returns a JSON number, infinity or null as a cell of csv.
func jsonCell(text string) string {
	if text == "null" {
		return ""
	}
	return strings.Trim(text, `"`)
}
