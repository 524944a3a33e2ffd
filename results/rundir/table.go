package rundir

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"fedsim/internal/input"
)

// maxTableRow is the largest size of a row in bytes.
const maxTableRow = 1 << 24

// tableReader reads a csv file with known columns. Its errors name file, line and column.
type tableReader struct {
	path   string
	csv    *input.CSV
	header []string // columns of the file
	row    []string // valid until the next call of next
}

// newTableReader reads the header, which must be that of the columns.
func newTableReader(path string, r io.Reader, columns []column) (*tableReader, error) {
	t := &tableReader{path: path, csv: input.NewCSV(r, maxTableRow), header: names(columns)}
	switch err := t.next(); {
	case err == io.EOF:
		return nil, fmt.Errorf("%s:1: is empty: must begin with a row of column names", path)
	case err != nil:
		return nil, err
	}
	for i, name := range t.row {
		if i < len(columns) && name != columns[i].name {
			return nil, t.errorf(i, "column %d is %q: must be %q", i+1, name, columns[i].name)
		}
	}
	if len(t.row) != len(columns) {
		return nil, fmt.Errorf("%s:1: has %d columns: must have %d", path, len(t.row), len(columns))
	}
	return t, nil
}

// next reads a row. At the end of the file it returns io.EOF.
func (t *tableReader) next() (err error) {
	t.row, err = t.csv.Read()
	if err == nil || err == io.EOF {
		return err
	}
	var pe *csv.ParseError
	if !errors.As(err, &pe) {
		return fmt.Errorf("%s: %w", t.path, err)
	}
	if errors.Is(err, csv.ErrFieldCount) {
		return fmt.Errorf("%s:%d: has %d columns: must have %d", t.path, pe.Line, len(t.row), len(t.header))
	}
	return fmt.Errorf("%s:%d:%d: %w", t.path, pe.Line, pe.Column, pe.Err)
}

// errorf returns an error at a column of the current row.
func (t *tableReader) errorf(column int, format string, args ...any) error {
	line, _ := t.csv.FieldPos(column)
	return fmt.Errorf("%s:%d: %s", t.path, line, fmt.Sprintf(format, args...))
}

// wrong returns the error of a cell: column, value and the valid values.
func (t *tableReader) wrong(column int, want string) error {
	return t.errorf(column, "%s = %q: %s", t.header[column], t.row[column], want)
}

// require reports the first cell from column on that differs from want.
func (t *tableReader) require(column int, want []string, because string) error {
	for i, w := range want {
		if t.row[column+i] != w {
			return t.wrong(column+i, fmt.Sprintf("must be %q, %s", w, because))
		}
	}
	return nil
}
