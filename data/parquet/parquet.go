// Package parquet reads sets of data from parquet files. A program that imports it, as
// fedsim does, has the source "parquet" of package data:
//
//	import _ "fedsim/data/parquet"
//
// It must not know the purpose of the rows: package data splits and prepares them.
package parquet

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"fedsim/data"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/parquetrows"
	"fedsim/internal/tools/quote"
)

func init() { data.RegisterReader(data.SourceParquet, read) }

// maxFile is the largest number of bytes of a file.
const maxFile = 1 << 36

// read reads a set from a parquet file, one row group after the other. Its columns are
// chosen like those of csv, without an index of pandas. Features are numbers and truth values (0 and 1); a column of
// lists with the same number of values in each row is a feature for each place in the list.
// Labels and tasks are numbers or texts. Nulls are missing values, and so is NaN. An error in
// the file is a *data.ParseError.
func read(cfg data.Config, path string) (set *data.Set, err error) {
	file, err := input.Open(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read parquet data: %w", err)
	}
	defer func() {
		_ = file.Close()              // it was only read
		if p := recover(); p != nil { // the library panics on some corrupt files
			err = parquetrows.Corrupt(p)
		}
		if _, placed := errors.AsType[*data.ParseError](err); err != nil && !placed {
			err = &data.ParseError{File: path, Problem: "cannot be read", Err: err}
		}
		if err != nil {
			set = nil
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	f, err := parquetrows.Open(file, info.Size())
	if err != nil {
		return nil, err
	}
	r := &reader{cfg: &cfg, path: path, raw: file, file: f}
	return r.read()
}

// reader is the state of the reader of a file.
type reader struct {
	cfg     *data.Config
	path    string
	raw     io.ReaderAt
	file    *parquet.File
	columns []*parquet.Column // by column of the table
	task    *column           // nil if all rows are of one task
	label   *column
	x       []*column
	names   []string // of the columns of the table, whose lists have a column for each place
	listed  int64    // values of a row in lists
	row     int      // the current one, from 1
}

// maxListed limits the values of a row in lists: each has a name, before any value is read.
const maxListed = 1 << 20

// column reads a column of a row group.
type column struct {
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
func (r *reader) read() (*data.Set, error) {
	chosen, err := r.choose()
	if err != nil {
		return nil, err
	}
	rows := int64(0)
	for i, group := range r.file.RowGroups() {
		if err := r.check(group, &r.file.Metadata().RowGroups[i]); err != nil {
			return nil, err
		}
		rows += group.NumRows()
	}
	table, err := data.NewTableReader(r.cfg, r.path, chosen, rows, r.at)
	if err != nil {
		return nil, err
	}
	x := make([]float64, len(chosen.Features))
	for _, group := range r.file.RowGroups() {
		r.open(group)
		for range group.NumRows() {
			r.row++
			if err := r.add(table, chosen, x); err != nil {
				return nil, err
			}
		}
		for _, c := range r.used() {
			if _, err := c.peek(); err != io.EOF {
				return nil, r.wrong(c, "has more values than its group has rows")
			}
			if err := c.pages.Close(); err != nil {
				return nil, err
			}
		}
	}
	return table.Set()
}

func (r *reader) used() []*column {
	used := append([]*column{r.label}, r.x...)
	if r.task != nil {
		used = append(used, r.task)
	}
	return used
}

// at returns an error at a column of the table in the current row.
func (r *reader) at(column int, problem string) error {
	return &data.ParseError{File: r.path,
		Problem: fmt.Sprintf("row %d, column %s: %s", r.row, quote.Text(r.names[column]), problem)}
}

// wrong is at for a column of the file; before the first row it has no row.
func (r *reader) wrong(c *column, problem string) error {
	problem = fmt.Sprintf("column %s: %s", quote.Text(c.column.Path()[0]), problem)
	if r.row > 0 {
		problem = fmt.Sprintf("row %d, %s", r.row, problem)
	}
	return &data.ParseError{File: r.path, Problem: problem}
}

func (r *reader) choose() (data.Columns, error) {
	var header []string
	r.columns = r.file.Root().Columns()
	for _, c := range r.columns {
		header = append(header, c.Name())
	}
	index, err := parquetrows.Index(r.file)
	if err != nil {
		return data.Columns{}, err
	}
	chosen, problems := r.cfg.ChooseColumns(header, index)
	var wrong []error
	for _, p := range problems {
		if p.Column >= 0 {
			p.Text = fmt.Sprintf("column %d: %s", p.Column+1, p.Text)
		}
		wrong = append(wrong, &data.ParseError{File: r.path, Problem: p.Text})
	}
	if len(wrong) > 0 {
		return chosen, errors.Join(wrong...)
	}
	readers := make([]*column, len(header))
	numbers := chosen.Features
	if chosen.Task >= 0 {
		numbers = append([]int{chosen.Task}, numbers...)
	}
	for _, i := range append([]int{chosen.Label}, numbers...) {
		c, err := r.reader(r.columns[i], i != chosen.Label && i != chosen.Task)
		if err != nil {
			return chosen, err
		}
		readers[i] = c
	}
	return r.widen(header, readers, chosen), nil
}

// widen returns the columns of the table, which has a column for each place in a list.
func (r *reader) widen(header []string, readers []*column, chosen data.Columns) data.Columns {
	wide := data.Columns{Task: -1}
	for i, c := range readers {
		switch {
		case c == nil:
		case i == chosen.Label:
			r.label, wide.Label = c, len(r.names)
			r.names = append(r.names, header[i])
		case i == chosen.Task:
			r.task, wide.Task = c, len(r.names)
			r.names = append(r.names, header[i])
		default:
			r.x = append(r.x, c)
			for k := range c.width {
				name := header[i]
				if c.column.MaxRepetitionLevel() > 0 || !c.top() {
					name = fmt.Sprintf("%s[%d]", name, k)
				}
				wide.Features = append(wide.Features, len(r.names))
				wide.Names = append(wide.Names, name)
				r.names = append(r.names, name)
			}
		}
	}
	return wide
}

// top reports whether the column is not in a group.
func (c *column) top() bool { return len(c.column.Path()) == 1 }

// reader returns the reader of a column of the file.
func (r *reader) reader(top *parquet.Column, feature bool) (*column, error) {
	leaf := top
	for range 64 {
		if leaf.Leaf() || len(leaf.Columns()) != 1 {
			break
		}
		leaf = leaf.Columns()[0]
	}
	wrong := func(problem string) error {
		return &data.ParseError{File: r.path, Problem: fmt.Sprintf("column %s %s", quote.Text(top.Name()), problem)}
	}
	const remedy = ": data.drop_columns must name it"
	switch {
	case !leaf.Leaf():
		return nil, wrong("is nested" + remedy)
	case !feature && leaf.MaxRepetitionLevel() > 0:
		return nil, wrong("has lists: must have one value a row")
	}
	c := &column{column: leaf, index: leaf.Index(), width: 1}
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
	for _, group := range r.file.RowGroups() {
		if rows := group.NumRows(); rows > 0 {
			values := group.ColumnChunks()[c.index].NumValues()
			if values < rows || values%rows != 0 {
				return nil, wrong("has lists of different lengths" + remedy)
			}
			if r.listed += values / rows; r.listed > maxListed {
				return nil,
					wrong(fmt.Sprintf("has lists of %d values, with those before it more than %d%s", values/rows,
						maxListed, remedy))
			}
			c.width = int(values / rows)
			break
		}
	}
	return c, nil
}

// check checks the numbers of values of a row group.
func (r *reader) check(group parquet.RowGroup, metadata *format.RowGroup) error {
	for _, c := range r.used() {
		n := group.ColumnChunks()[c.index].NumValues()
		if rows := group.NumRows(); rows < 0 || n != rows*int64(c.width) {
			return r.wrong(c, fmt.Sprintf("has %d values in %d rows", n, rows))
		}
		if err := parquetrows.CheckPages(r.raw, r.file.Size(), &metadata.Columns[c.index].MetaData); err != nil {
			return r.wrong(c, err.Error())
		}
	}
	return nil
}

// open starts to read a row group.
func (r *reader) open(group parquet.RowGroup) {
	for _, c := range r.used() {
		c.pages, c.values, c.at, c.n = group.ColumnChunks()[c.index].Pages(), nil, 0, 0
	}
}

// peek returns the next value of the group.
func (c *column) peek() (*parquet.Value, error) {
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
func (r *reader) next(c *column, place int) (*parquet.Value, error) {
	v, err := c.peek()
	if err != nil && err != io.EOF {
		return nil, err
	}
	if err == io.EOF || (v.RepetitionLevel() == 0) != (place == 0) {
		return nil, r.wrong(c, fmt.Sprintf("must have %d values in each row", c.width))
	}
	c.at++
	return v, nil
}

// add reads a row, and adds it to the table.
func (r *reader) add(table *data.TableReader, chosen data.Columns, x []float64) error {
	task := ""
	if r.task != nil {
		v, err := r.next(r.task, 0)
		if err != nil {
			return err
		}
		if !v.IsNull() {
			task = strings.TrimSpace(r.task.text(v))
		}
	}
	v, err := r.next(r.label, 0)
	if err != nil {
		return err
	}
	y, problem := math.NaN(), ""
	switch {
	case v.IsNull():
	case v.Kind() == parquet.ByteArray:
		y, problem = table.Text(strings.TrimSpace(r.label.text(v)))
	default:
		y, problem = table.Number(r.label.number(v))
	}
	if problem != "" {
		return r.at(chosen.Label, problem)
	}
	j := 0
	for _, c := range r.x {
		for place := range c.width {
			v, err := r.next(c, place)
			if err != nil {
				return err
			}
			x[j] = math.NaN()
			if !v.IsNull() {
				x[j] = c.number(v)
			}
			if problem := input.RefuseNumber(x[j]); problem != "" && !math.IsNaN(x[j]) {
				return r.at(chosen.Features[j], problem)
			}
			j++
		}
	}
	return table.Add(task, y, x)
}

func (c *column) number(v *parquet.Value) float64 {
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

func (c *column) text(v *parquet.Value) string {
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
