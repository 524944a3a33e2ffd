package traces

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// csvHeader is the first line of a csv file, and csvEnd the kind of a device's last row.
const (
	csvHeader = "device,time_s,kind,value"
	csvEnd    = "end"
)

// CSV reads traces in fedsim's own format (docs/time.md#traces). After the header
// device,time_s,kind,value, each device has its change points in order of time, each
// kind from time 0 on, and a row of kind end without a value at the end of its trace.
// name is for messages. The reader streams: it holds one device and the names so far.
// Errors are a *input.ParseError with line and column, and end the sequence.
func CSV(r io.Reader, name string) Sequence {
	return func(yield func(*Trace, error) bool) {
		lines, err := input.NewNamedText(r, name)
		p := &csvReader{name: name, lines: lines, rules: newRules()}
		if err == nil {
			err = p.header()
		}
		if err != nil {
			yield(nil, err)
			return
		}
		for {
			done, err := p.device()
			if err != nil {
				yield(nil, err)
				return
			}
			if done || !yield(&p.trace, nil) {
				return
			}
		}
	}
}

// maxLine is the largest number of bytes in a line.
const maxLine = 1 << 16

type csvReader struct {
	name  string
	lines *bufio.Reader
	line  int
	rules *rules
	trace Trace
	last  engine.Time // of the previous row
}

// at returns an error at a column of the current line.
func (c *csvReader) at(column int, format string, arguments ...any) error {
	return &input.ParseError{File: c.name, Line: c.line, Column: column, Problem: fmt.Sprintf(format, arguments...)}
}

// next returns the next line without its line break, or io.EOF after the last.
func (c *csvReader) next() ([]byte, error) {
	line, err := c.lines.ReadSlice('\n')
	if len(line) > 0 {
		c.line++
	}
	switch {
	case err == bufio.ErrBufferFull:
		return nil, c.at(0, "the line has more than %d bytes", maxLine)
	case err == io.EOF && len(line) == 0:
		return nil, io.EOF
	case err != nil && err != io.EOF:
		return nil, &input.ParseError{File: c.name, Line: c.line, Problem: "cannot be read", Err: err}
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
}

func (c *csvReader) header() error {
	line, err := c.next()
	if err == io.EOF {
		return &input.ParseError{File: c.name, Problem: "the file is empty: must have the header " + csvHeader}
	}
	if err != nil {
		return err
	}
	if got := string(line); got != csvHeader {
		return c.at(1, "the header is %q, must be %s", quote.Cut(got), csvHeader)
	}
	return nil
}

// device reads the rows of the next device into p.trace. It returns done if there is
// none.
func (c *csvReader) device() (done bool, err error) {
	begun := false
	for {
		line, err := c.next()
		if err == io.EOF {
			if begun {
				c.line++
				return false,
					c.at(0, "the file ends within the trace of device %q: its last row must be of kind %s and say "+
						"when the trace ends", c.trace.Name, csvEnd)
			}
			if c.rules.first == "" {
				return false, &input.ParseError{File: c.name, Problem: "has a header but no rows", Err: ErrEmpty}
			}
			return true, nil
		}
		if err != nil {
			return false, err
		}
		var row csvRow
		if err := c.split(line, &row); err != nil {
			return false, err
		}
		if !begun {
			begun = true
			c.last = 0
			c.trace.reset(string(row.device), 0)
		} else if string(row.device) != c.trace.Name {
			return false,
				c.at(1, "device %q begins within the trace of device %q: its last row must be of kind %s and say "+
					"when the trace ends", quote.Cut(string(row.device)), c.trace.Name, csvEnd)
		}
		ended, err := c.row(&row)
		if err != nil {
			return false, err
		}
		if ended {
			return false, nil
		}
	}
}

type csvRow struct {
	device, time, kind, value []byte
	column                    [4]int
}

func (c *csvReader) split(line []byte, row *csvRow) error {
	fields := [4]*[]byte{&row.device, &row.time, &row.kind, &row.value}
	rest, column := line, 1
	for i, field := range fields {
		row.column[i] = column
		text, after, more := bytes.Cut(rest, []byte(","))
		if more != (i < len(fields)-1) {
			return c.at(1, "the row has %d fields, must have 4: %s", bytes.Count(line, []byte(","))+1, csvHeader)
		}
		column += len(text) + 1
		*field, rest = bytes.TrimSpace(text), after
	}
	return nil
}

// row reads a row of the current device and reports whether it was the last one.
func (c *csvReader) row(row *csvRow) (ended bool, err error) {
	r := &c.trace
	at, problem := parseTime(string(row.time))
	if problem != "" {
		return false, c.at(row.column[1], "time_s = %q: %s", quote.Cut(string(row.time)), problem)
	}
	if at < c.last {
		return false,
			c.at(row.column[1], "time_s = %s comes after %s: the rows of a device must be in order of time",
				formatTime(nil, at), formatTime(nil, c.last))
	}
	c.last = at
	if string(row.kind) == csvEnd {
		return true, c.end(at, row)
	}
	k := slices.Index(kindNames[:], string(row.kind))
	if k < 0 {
		return false, c.unknownKind(row)
	}
	kind := Kind(k)
	steps := r.Steps[kind]
	switch n := len(steps); {
	case n == 0 && at != 0:
		return false,
			c.at(row.column[1], "%v begins at %s s: the first row of a kind must be at time 0", kind,
				formatTime(nil, at))
	case n > 0 && at <= steps[n-1].At:
		return false, c.at(row.column[1], "%v has two rows at %s s: must have one", kind, formatTime(nil, at))
	}
	value, parseErr := input.Number(string(row.value))
	if parseErr != nil {
		return false, c.at(row.column[3], "value = %q: must be a number", quote.Cut(string(row.value)))
	}
	if problem := kind.refuse(value); problem != "" {
		return false, c.at(row.column[3], "value = %s of %v: %s", quote.Cut(string(row.value)), kind, problem)
	}
	r.add(kind, at, value)
	return false, nil
}

// end completes the trace of the current device.
func (c *csvReader) end(at engine.Time, row *csvRow) error {
	if len(row.value) > 0 {
		return c.at(row.column[3], "value = %q: must be empty in a row of kind %s", quote.Cut(string(row.value)),
			csvEnd)
	}
	c.trace.Span = at
	if err := c.trace.Check(); err != nil {
		return c.at(1, "%v", err)
	}
	if err := c.rules.admit(&c.trace); err != nil {
		return c.at(1, "%v", err)
	}
	return nil
}

func (c *csvReader) unknownKind(row *csvRow) error {
	names := append(kindNames[:len(kindNames):len(kindNames)], csvEnd)
	text := fmt.Sprintf("kind = %q: must be one of %s", quote.Cut(string(row.kind)), strings.Join(names, ", "))
	if near := config.Nearest(quote.Cut(string(row.kind)), names); near != "" {
		text += fmt.Sprintf(" (did you mean %s?)", near)
	}
	return c.at(row.column[2], "%s", text)
}

// parseTime parses seconds to the nanosecond: exactly with at most nine decimals,
// otherwise rounded to the nearest.
func parseTime(text string) (at engine.Time, problem string) {
	whole, decimals, _ := strings.Cut(text, ".")
	if len(whole) <= 10 && len(decimals) <= 9 && digits(whole) && digits(decimals) && len(whole)+len(decimals) > 0 {
		var n uint64
		for _, part := range [2]string{whole, decimals} {
			for i := range len(part) {
				n = n*10 + uint64(part[i]-'0')
			}
		}
		for range 9 - len(decimals) {
			n *= 10
		}
		if n < uint64(engine.Never) {
			return engine.Time(n), ""
		}
		return 0, tooLate
	}
	s, err := input.Number(text)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, tooLate
	case err != nil:
		return 0, "must be a number of seconds"
	default:
		return seconds(s)
	}
}

const tooLate = "must be below 9223372036 s, 292 years"

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// seconds returns s to the nearest nanosecond, or the reason why it is invalid.
func seconds(s float64) (at engine.Time, problem string) {
	if math.IsNaN(s) || s < 0 {
		return 0, "must not be negative"
	}
	if at = engine.FromSeconds(s); at == engine.Never {
		return 0, tooLate
	}
	return at, ""
}
