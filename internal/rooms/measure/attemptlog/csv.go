package attemptlog

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"fedsim/config"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

const (
	maxFile = 1 << 36 // bytes of a file
	maxRow  = 1 << 20 // bytes of a row or a comment

	sampledRows = 1024 // rows by whose length the rows of a csv file are estimated
)

// settingMark begins a line of csv with a setting of the run.
const settingMark = "#!"

func (b *builder) readCSV(path string) error {
	file, err := input.OpenText(path, maxFile)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	lines := &comments{from: bufio.NewReaderSize(file, maxRow)}
	r := input.NewCSV(lines, maxRow)
	r.TrimLeadingSpace = true
	var t *table
	for {
		record, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return unreadable(path, err)
		}
		if t == nil {
			if t, err = b.header(path, record, lines.found); err != nil {
				return err
			}
			continue
		}
		line, _ := r.FieldPos(0)
		t.add(line, record)
		if t.rows == sampledRows {
			t.reserve(int(1.02 * sampledRows * float64(info.Size()) / float64(r.InputOffset())))
		}
		if b.full() {
			break
		}
	}
	if t == nil {
		b.problems.Add(config.Place{File: path}, "is empty: must have a header with the names of columns")
		return nil
	}
	t.finish()
	return b.assign(path, lines.found)
}

// unreadable adds the place to an error of the csv package.
func unreadable(path string, err error) error {
	if parse, ok := errors.AsType[*csv.ParseError](err); ok {
		return config.Errors{{Place: place(path, parse.Line), Text: parse.Err.Error()}}
	}
	return config.Errors{{Place: config.Place{File: path}, Text: err.Error()}}
}

// comment is a line that begins with #.
type comment struct {
	line int
	text string
}

// comments is a reader that replaces lines that begin with # by empty ones, which the csv package
// skips, and records them.
type comments struct {
	from  *bufio.Reader
	rest  []byte
	line  int
	found []comment
	size  int
}

func (c *comments) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		line, err := c.from.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return 0, fmt.Errorf("line %d is longer than %d bytes", c.line+1, maxRow)
		}
		if len(line) == 0 {
			return 0, err
		}
		c.line++
		if bytes.HasPrefix(line, []byte("#")) {
			if c.size += len(line); c.size > maxRow {
				return 0, fmt.Errorf("line %d: has more than %d bytes of comments", c.line, maxRow)
			}
			c.found = append(c.found, comment{c.line, strings.TrimRight(string(line), "\r\n")})
			line = []byte("\n")
		}
		c.rest = line
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// assign takes the settings from the comments of a file.
func (b *builder) assign(path string, lines []comment) error {
	for _, c := range lines {
		text, ok := strings.CutPrefix(c.text, settingMark)
		if !ok {
			continue
		}
		if err := b.set(place(path, c.line).File, text); err != nil {
			return err
		}
	}
	return nil
}

// set takes settings from TOML text.
func (b *builder) set(name, text string) error {
	root, err := config.Parse(name, []byte(text))
	if err != nil {
		return err
	}
	assignments, problems := root.Assignments()
	b.problems.Merge(problems)
	b.settings = append(b.settings, assignments...)
	return nil
}

// table reads the rows of a file.
type table struct {
	*builder
	path    string
	names   []string
	columns []*Column // by column of the file; nil: the importer reads it
	foreign *layout   // nil: the layout of Columns
	cells   []string
	line    int
	rows    int
	row     Attempt // the present one, which is in memory once
	run     *Run
	runName string
	state   any // of the layout
}

// header returns the reader of the rows below a header.
func (b *builder) header(path string, header []string, found []comment) (*table, error) {
	t := &table{builder: b, path: path, columns: make([]*Column, len(header))}
	for _, name := range header {
		t.names = append(t.names, strings.TrimSpace(name))
	}
	input.NameIndex(t.names)
	for i := range layouts {
		lacks := func(name string) bool { return !slices.Contains(t.names, name) }
		if !slices.ContainsFunc(layouts[i].has, lacks) {
			t.foreign = &layouts[i]
			return t, t.foreign.start(t, found)
		}
	}
	var problems config.Errors
	at := config.Place{File: path}
	seen := map[string]bool{}
	for i, name := range t.names {
		k := slices.IndexFunc(Columns, func(c Column) bool { return c.Name == name })
		switch {
		case k < 0:
			problems.Add(at, unknownColumn(name, t.names))
		case seen[name]:
			problems.Add(at, "two columns are named "+name)
		default:
			t.columns[i] = &Columns[k]
		}
		seen[name] = true
	}
	for _, c := range Columns {
		if c.Required && !seen[c.Name] && len(problems) == 0 { // a misspelled column is missing, too
			problems.Add(at, fmt.Sprintf("has no column %s (%s)", c.Name, c.Doc))
		}
	}
	return t, problems.Err()
}

// unknownColumn returns the text for an unknown column. It suggests only columns that the file
// does not have.
func unknownColumn(name string, header []string) string {
	if input.PandasIndex(name) {
		return fmt.Sprintf("the column %s is an index of pandas: write the log with index=False", quote.Text(name))
	}
	var free []string
	for _, c := range Columns {
		if !slices.Contains(header, c.Name) {
			free = append(free, c.Name)
		}
	}
	text := config.UnknownName("column", name, name, free)
	if !strings.Contains(text, "did you mean") {
		text += " (docs/real.md lists the columns; put other values into another file)"
	}
	return text
}

func (t *table) add(line int, record []string) {
	t.line, t.cells = line, record
	t.rows++
	a := &t.row
	*a = absent
	a.File, a.Line = t.path, line
	name := ""
	if t.foreign != nil {
		var keep bool
		if name, keep = t.foreign.row(t, a); !keep {
			return
		}
	} else {
		for i, c := range t.columns {
			cell := strings.TrimSpace(record[i])
			if c.Name == runColumn {
				if !input.Missing(cell) {
					name = t.name(c.Name, cell)
				}
				continue
			}
			t.parse(c, c.Field(a), cell)
		}
	}
	a.complete()
	if t.run == nil || name != t.runName {
		t.run, t.runName = t.builder.run(name, t.path), strings.Clone(name)
	}
	t.run.Attempts = append(t.run.Attempts, *a)
}

// reserve makes room for the rows of the file, as if all were of the present run: a long log would be moved many times.
func (t *table) reserve(rows int) {
	if t.run != nil && rows > t.rows {
		t.run.Attempts = slices.Grow(t.run.Attempts, rows-t.rows)
	}
}

// parse sets a field to the value of a cell.
func (t *table) parse(c *Column, field any, cell string) {
	wrong := func(want string) { t.wrong(t.path, t.line, c.Name, quote.Cut(cell), want) }
	if input.Missing(cell) {
		if c.Required {
			wrong("must not be empty")
		}
		return
	}
	switch field := field.(type) {
	case *string:
		*field = t.name(c.Name, cell)
	case *Outcome:
		if !slices.Contains(outcomes, cell) {
			wrong("must be one of " + strings.Join(outcomes, ", "))
		}
		*field = Outcome(t.text(cell))
	case *int:
		n, err := strconv.ParseInt(cell, 10, 64)
		if err != nil || n < 0 || n > 1<<53 {
			wrong("must be a whole number from 0")
		}
		*field = int(n)
	case *float64:
		x, err := input.Number(cell)
		if err != nil {
			wrong("must be a finite number, or empty")
			return
		}
		if x < 0 && !c.Signed {
			wrong("must not be negative")
		}
		*field = x
	}
}

// name returns a text that shares memory with equal ones, and reports one that is no name.
func (t *table) name(column, cell string) string {
	if known, ok := t.texts[cell]; ok {
		return known
	}
	if problem := input.RefuseName(cell); problem != "" && cell != "" {
		t.wrong(t.path, t.line, column, quote.Cut(cell), strings.TrimPrefix(problem, quote.Text(cell)+" "))
	}
	return t.text(cell)
}

// cell returns the text in a cell of another layout, empty without the column.
func (t *table) cell(name string) string {
	i := slices.Index(t.names, name)
	if i < 0 {
		return ""
	}
	return strings.TrimSpace(t.cells[i])
}

// number returns the number in a cell of another layout, NaN if it is empty.
func (t *table) number(name string) float64 {
	x := math.NaN()
	t.parse(&Column{Name: name, Signed: true}, &x, t.cell(name))
	return x
}

// whole returns the whole number in a cell of another layout, which must have it.
func (t *table) whole(name string) (n int) {
	t.parse(&Column{Name: name, Required: true}, &n, t.cell(name))
	return n
}

// finish ends the reading of a file.
func (t *table) finish() {
	if t.foreign != nil && t.foreign.finish != nil && t.run != nil && len(t.problems) == 0 {
		t.foreign.finish(t)
	}
}
