package results

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
)

// tableReader reads a csv file whose header is known, and names file, line and
// column in its errors.
type tableReader struct {
	path   string
	csv    *csv.Reader
	header []string
	row    []string // valid until the next call of next
}

// newTableReader reads the header and requires it to be the given one.
func newTableReader(path string, r io.Reader, header []string) (*tableReader, error) {
	t := &tableReader{path: path, csv: csv.NewReader(r), header: header}
	t.csv.ReuseRecord = true
	t.csv.FieldsPerRecord = len(header)
	switch err := t.next(); {
	case err == io.EOF:
		return nil, fmt.Errorf("%s:1: is empty: must begin with a row of column names", path)
	case err != nil:
		return nil, err
	}
	for i, want := range header {
		if t.row[i] != want {
			return nil, t.errorf(i, "column %d is %q: must be %q", i+1, t.row[i], want)
		}
	}
	return t, nil
}

// next reads a row; at the end of the file it returns io.EOF as it is.
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

// wrong returns the error of a cell: column, value and what would be right.
func (t *tableReader) wrong(column int, want string) error {
	return t.errorf(column, "%s = %q: %s", t.header[column], t.row[column], want)
}

// require reports the first cell from column on that is not the wanted one.
func (t *tableReader) require(column int, want []string, because string) error {
	for i, w := range want {
		if t.row[column+i] != w {
			return t.wrong(column+i, fmt.Sprintf("must be %q, %s", w, because))
		}
	}
	return nil
}
