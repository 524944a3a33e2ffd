package data

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"fedsim/internal/input"
	"fedsim/internal/quote"
)

// readParquet reads a set from a parquet file, one row group after the other. Its columns are
// chosen like those of csv. Features are numbers and truth values (0 and 1); a column of
// lists with the same number of values in each row is a feature for each place in the list.
// Labels and tasks are numbers or texts. Nulls are missing values, and so is NaN. An error in
// the file is a *ParseError.
func readParquet(cfg *Config, path string) (set *Set, err error) {
	file, err := input.Open(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read parquet data: %w", err)
	}
	defer func() {
		_ = file.Close()              // it was only read
		if p := recover(); p != nil { // the library panics on some corrupt files
			err = fmt.Errorf("is corrupt: %v", p)
		}
		if _, placed := errors.AsType[*ParseError](err); err != nil && !placed {
			err = &ParseError{File: path, Problem: "cannot be read", Err: err}
		}
		if err != nil {
			set = nil
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkFooter(file, info.Size()); err != nil {
		return nil, err
	}
	f, err := parquet.OpenFile(file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	p := &parquetReader{cfg: cfg, path: path, raw: file, file: f}
	if set, err = p.read(); err != nil {
		return nil, err
	}
	set.Name = nameOf(path)
	return set, nil
}

// parquetReader is the state of the reader.
type parquetReader struct {
	cfg     *Config
	path    string
	raw     io.ReaderAt
	file    *parquet.File
	columns []*parquet.Column // by column of the table
	task    *parquetColumn    // nil if all rows are of one task
	label   *parquetColumn
	x       []*parquetColumn
	names   []string // of the columns of the table, whose lists have a column for each place
	listed  int64    // values of a row in lists
	row     int      // the current one, from 1
}

// maxListed limits the values of a row in lists: each has a name, before any value is read.
const maxListed = 1 << 20

// parquetColumn reads a column of a row group.
type parquetColumn struct {
	column *parquet.Column
	index  int // of the leaf
	width  int // values of a row

	unsigned bool // the values are

	pages  parquet.Pages
	values parquet.ValueReader
	buffer [128]parquet.Value
	at, n  int
}

// read reads the rows.
func (p *parquetReader) read() (*Set, error) {
	chosen, err := p.choose()
	if err != nil {
		return nil, err
	}
	rows := int64(0)
	for i, group := range p.file.RowGroups() {
		if err := p.check(group, &p.file.Metadata().RowGroups[i]); err != nil {
			return nil, err
		}
		rows += group.NumRows()
	}
	if cells := int64(padded(len(chosen.features), Lane)); rows > maxCells/cells {
		return nil, fmt.Errorf("has too many values: must have at most %d", maxCells)
	}
	table := newTable(p.cfg, p.path, chosen, p.at)
	x := make([]float64, len(chosen.features))
	for _, group := range p.file.RowGroups() {
		p.open(group)
		for range group.NumRows() {
			p.row++
			if err := p.add(table, chosen, x); err != nil {
				return nil, err
			}
			if p.row == 1 && p.task == nil && len(table.tasks) == 1 { // all rows are of one task
				all := &table.tasks[0]
				all.X.Data = slices.Grow(all.X.Data, int(rows-1)*all.X.Stride)
			}
		}
		for _, c := range p.used() {
			if _, err := c.peek(); err != io.EOF {
				return nil, p.wrong(c, "has more values than its group has rows")
			}
			if err := c.pages.Close(); err != nil {
				return nil, err
			}
		}
	}
	return table.set()
}

// used returns the columns that are read.
func (p *parquetReader) used() []*parquetColumn {
	used := append([]*parquetColumn{p.label}, p.x...)
	if p.task != nil {
		used = append(used, p.task)
	}
	return used
}

// at returns an error at a column of the table in the current row.
func (p *parquetReader) at(column int, problem string) error {
	return &ParseError{File: p.path, Problem: fmt.Sprintf("row %d, column %s: %s", p.row, quote.Text(p.names[column]), problem)}
}

// wrong is at for a column of the file; before the first row it has no row.
func (p *parquetReader) wrong(c *parquetColumn, problem string) error {
	problem = fmt.Sprintf("column %s: %s", quote.Text(c.column.Path()[0]), problem)
	if p.row > 0 {
		problem = fmt.Sprintf("row %d, %s", p.row, problem)
	}
	return &ParseError{File: p.path, Problem: problem}
}

// choose chooses the columns.
func (p *parquetReader) choose() (tableColumns, error) {
	var header []string
	p.columns = p.file.Root().Columns()
	for _, c := range p.columns {
		header = append(header, c.Name())
	}
	chosen, at, problem := p.cfg.chooseColumns(header)
	if problem != "" && at >= 0 {
		problem = fmt.Sprintf("column %d: %s", at+1, problem)
	}
	if problem != "" {
		return chosen, &ParseError{File: p.path, Problem: problem}
	}
	readers := make([]*parquetColumn, len(header))
	numbers := chosen.features
	if chosen.task >= 0 {
		numbers = append([]int{chosen.task}, numbers...)
	}
	for _, i := range append([]int{chosen.label}, numbers...) {
		c, err := p.reader(p.columns[i], i != chosen.label && i != chosen.task)
		if err != nil {
			return chosen, err
		}
		readers[i] = c
	}
	return p.widen(header, readers, chosen), nil
}

// widen returns the columns of the table, which has a column for each place in a list.
func (p *parquetReader) widen(header []string, readers []*parquetColumn, chosen tableColumns) tableColumns {
	wide := tableColumns{task: -1}
	for i, c := range readers {
		switch {
		case c == nil:
		case i == chosen.label:
			p.label, wide.label = c, len(p.names)
			p.names = append(p.names, header[i])
		case i == chosen.task:
			p.task, wide.task = c, len(p.names)
			p.names = append(p.names, header[i])
		default:
			p.x = append(p.x, c)
			for k := range c.width {
				name := header[i]
				if c.column.MaxRepetitionLevel() > 0 || !c.top() {
					name = fmt.Sprintf("%s[%d]", name, k)
				}
				wide.features = append(wide.features, len(p.names))
				wide.names = append(wide.names, name)
				p.names = append(p.names, name)
			}
		}
	}
	return wide
}

// top reports whether the column is not in a group.
func (c *parquetColumn) top() bool { return len(c.column.Path()) == 1 }

// reader returns the reader of a column of the file.
func (p *parquetReader) reader(top *parquet.Column, feature bool) (*parquetColumn, error) {
	leaf := top
	for range 64 {
		if leaf.Leaf() || len(leaf.Columns()) != 1 {
			break
		}
		leaf = leaf.Columns()[0]
	}
	wrong := func(problem string) error {
		return &ParseError{File: p.path, Problem: fmt.Sprintf("column %s %s", quote.Text(top.Name()), problem)}
	}
	const remedy = ": data.drop_columns must name it"
	switch {
	case !leaf.Leaf():
		return nil, wrong("is nested" + remedy)
	case !feature && leaf.MaxRepetitionLevel() > 0:
		return nil, wrong("has lists: must have one value a row")
	}
	c := &parquetColumn{column: leaf, index: leaf.Index(), width: 1}
	if logical := leaf.Type().LogicalType(); logical != nil {
		switch kind := logical.Value.(type) {
		case *format.DecimalType:
			return nil, wrong("has decimal numbers: must have floats or integers")
		case *format.TimestampType, *format.DateType, *format.TimeType:
			if feature {
				return nil, wrong("has dates or times" + remedy)
			}
		case *format.IntType:
			c.unsigned = !kind.IsSigned
		}
	}
	switch leaf.Type().Kind() {
	case parquet.Boolean, parquet.Int32, parquet.Int64, parquet.Float, parquet.Double:
	case parquet.ByteArray:
		if feature {
			return nil, wrong("has texts" + remedy)
		}
	default:
		return nil, wrong("has values of type " + leaf.Type().String() + remedy)
	}
	if leaf.MaxRepetitionLevel() == 0 {
		return c, nil
	}
	for _, group := range p.file.RowGroups() {
		if rows := group.NumRows(); rows > 0 {
			values := group.ColumnChunks()[c.index].NumValues()
			if values < rows || values%rows != 0 {
				return nil, wrong("has lists of different lengths" + remedy)
			}
			if p.listed += values / rows; p.listed > maxListed {
				return nil, wrong(fmt.Sprintf("has lists of %d values, with those before it more than %d%s", values/rows, maxListed, remedy))
			}
			c.width = int(values / rows)
			break
		}
	}
	return c, nil
}

// check checks the numbers of values of a row group.
func (p *parquetReader) check(group parquet.RowGroup, metadata *format.RowGroup) error {
	for _, c := range p.used() {
		n := group.ColumnChunks()[c.index].NumValues()
		if rows := group.NumRows(); rows < 0 || n != rows*int64(c.width) {
			return p.wrong(c, fmt.Sprintf("has %d values in %d rows", n, rows))
		}
		if err := checkPages(p.raw, p.file.Size(), &metadata.Columns[c.index].MetaData); err != nil {
			return p.wrong(c, err.Error())
		}
	}
	return nil
}

// open starts to read a row group.
func (p *parquetReader) open(group parquet.RowGroup) {
	for _, c := range p.used() {
		c.pages, c.values, c.at, c.n = group.ColumnChunks()[c.index].Pages(), nil, 0, 0
	}
}

// peek returns the next value of the group.
func (c *parquetColumn) peek() (*parquet.Value, error) {
	for c.at == c.n {
		if c.values == nil {
			page, err := c.pages.ReadPage()
			if err != nil {
				return nil, err
			}
			c.values = page.Values()
		}
		n, err := c.values.ReadValues(c.buffer[:])
		if err == io.EOF {
			c.values = nil
		} else if err != nil {
			return nil, err
		} else if n == 0 {
			return nil, errors.New("is corrupt: has a page without values")
		}
		c.at, c.n = 0, n
	}
	return &c.buffer[c.at], nil
}

// next returns the value at a place of the current row.
func (p *parquetReader) next(c *parquetColumn, place int) (*parquet.Value, error) {
	v, err := c.peek()
	if err != nil && err != io.EOF {
		return nil, err
	}
	if err == io.EOF || (v.RepetitionLevel() == 0) != (place == 0) {
		return nil, p.wrong(c, fmt.Sprintf("must have %d values in each row", c.width))
	}
	c.at++
	return v, nil
}

// add reads a row, and adds it to the table.
func (p *parquetReader) add(table *table, chosen tableColumns, x []float64) error {
	task := ""
	if p.task != nil {
		v, err := p.next(p.task, 0)
		if err != nil {
			return err
		}
		if !v.IsNull() {
			task = strings.TrimSpace(p.task.text(v))
		}
	}
	v, err := p.next(p.label, 0)
	if err != nil {
		return err
	}
	y, problem := math.NaN(), ""
	switch {
	case v.IsNull():
	case v.Kind() == parquet.ByteArray:
		y, problem = table.labels.text(strings.TrimSpace(p.label.text(v)))
	default:
		y, problem = table.labels.number(p.label.number(v))
	}
	if problem != "" {
		return p.at(chosen.label, problem)
	}
	j := 0
	for _, c := range p.x {
		for place := range c.width {
			v, err := p.next(c, place)
			if err != nil {
				return err
			}
			x[j] = math.NaN()
			if !v.IsNull() {
				x[j] = c.number(v)
			}
			if math.Abs(x[j]) > maxMagnitude {
				return p.at(chosen.features[j], refuseNumber(x[j]))
			}
			j++
		}
	}
	return table.add(task, y, x)
}

// number returns a value as a number.
func (c *parquetColumn) number(v *parquet.Value) float64 {
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return 1
		}
		return 0
	case parquet.Int32:
		if c.unsigned {
			return float64(v.Uint32())
		}
		return float64(v.Int32())
	case parquet.Int64:
		if c.unsigned {
			return float64(v.Uint64())
		}
		return float64(v.Int64())
	case parquet.Float:
		return float64(v.Float())
	default:
		return v.Double()
	}
}

// text returns a value as a text.
func (c *parquetColumn) text(v *parquet.Value) string {
	switch kind := v.Kind(); {
	case kind == parquet.ByteArray:
		return string(v.ByteArray())
	case kind == parquet.Int64 && c.unsigned:
		return strconv.FormatUint(v.Uint64(), 10)
	case kind == parquet.Int64: // not by number, which rounds large ones
		return strconv.FormatInt(v.Int64(), 10)
	default:
		return strconv.FormatFloat(c.number(v)+0, 'f', -1, 64)
	}
}
