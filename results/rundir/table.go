package rundir

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"

	"fedsim/internal/tools/input"
)

// maxTableRow is the largest size of a row in bytes.
const maxTableRow = 1 << 24

// tableReader reads columns of a csv file, which it finds by name. It ignores other columns of the file.
// Its errors name file, line and column.
type tableReader struct {
	path   string
	csv    *input.CSV
	header []string // the columns
	at     []int    // their places in the file; -1: it does not have the column
	row    []string // a cell of each column, empty where the file has none; valid until the next call of next
}

// newTableReader reads the header.
func newTableReader(path string, r io.Reader, columns []column) (*tableReader, error) {
	t := &tableReader{path: path, csv: input.NewCSV(r, maxTableRow), header: names(columns), row: make([]string, len(columns))}
	file, err := t.read()
	switch {
	case err == io.EOF:
		return nil, fmt.Errorf("%s:1: is empty: must begin with a row of column names", path)
	case err != nil:
		return nil, err
	}
	file = slices.Clone(file)
	for i := range columns {
		at := slices.Index(file, columns[i].name)
		if t.at = append(t.at, at); at >= 0 {
			file[at] = "" // a swept key may have the name of a column of later versions
		} else if !columns[i].later {
			return nil, fmt.Errorf("%s:1: has no column %q", path, columns[i].name)
		}
	}
	return t, nil
}

// next reads a row. At the end of the file it returns io.EOF.
func (t *tableReader) next() error {
	file, err := t.read()
	if err != nil {
		return err
	}
	for i, at := range t.at {
		if at >= 0 {
			t.row[i] = file[at]
		}
	}
	return nil
}

// read reads a row of the file.
func (t *tableReader) read() (row []string, err error) {
	row, err = t.csv.Read()
	if err == nil || err == io.EOF {
		return row, err
	}
	var pe *csv.ParseError
	if !errors.As(err, &pe) {
		return nil, fmt.Errorf("%s: %w", t.path, err)
	}
	if errors.Is(err, csv.ErrFieldCount) {
		return nil, fmt.Errorf("%s:%d: has %d columns: must have %d", t.path, pe.Line, len(row), t.csv.FieldsPerRecord)
	}
	return nil, fmt.Errorf("%s:%d:%d: %w", t.path, pe.Line, pe.Column, pe.Err)
}

// errorf returns an error at a column of the current row.
func (t *tableReader) errorf(column int, format string, args ...any) error {
	line, _ := t.csv.FieldPos(max(t.at[column], 0))
	return fmt.Errorf("%s:%d: %s", t.path, line, fmt.Sprintf(format, args...))
}

// wrong returns the error of a cell: column, value and the valid values.
func (t *tableReader) wrong(column int, want string) error {
	return t.errorf(column, "%s = %q: %s", t.header[column], t.row[column], want)
}

// require reports the first cell of the file that differs from want, the cells of the first columns.
func (t *tableReader) require(want []string, because string) error {
	for i, w := range want {
		if t.at[i] >= 0 && t.row[i] != w {
			return t.wrong(i, fmt.Sprintf("must be %q, %s", w, because))
		}
	}
	return nil
}
