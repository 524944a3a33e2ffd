package rundir

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"fedsim/internal/input"
	"fedsim/results"
)

// rowTable is the table of a parquet file that may exceed the memory. Its rows are of type
// R; they name their run, whose settings are in runs.csv.
type rowTable[R any] struct {
	name    string
	file    string
	absent  error // of a directory without the file
	remedy  string
	columns []results.Column[R] // after those that identify the run
}

// all returns all columns.
func (t *rowTable[R]) all() []column {
	return append(identityColumns(nil), columnsOf(t.columns)...)
}

// write writes a row behind the values that identify its run.
func (t *rowTable[R]) write(p *parquetWriter, row *R) error {
	return p.write(func(values parquet.Row) {
		own := values[len(values)-len(t.columns):]
		for k := range t.columns {
			own[k] = p.value(t.columns[k].Get(row))
		}
	})
}

// each reads the file in its order, or the row groups of one run. It calls the function with
// the ID of the run and the row, which is valid until the next. It returns the first error of
// the function.
func (t *rowTable[R]) each(dir, run string, each func(run string, row *R) error) error {
	var row R
	return t.eachRow(dir, func(values []parquet.Value) error {
		if run != "" && string(values[0].ByteArray()) != run {
			return errOtherRun
		}
		own := values[len(values)-len(t.columns):]
		for i := range t.columns {
			c := &t.columns[i]
			v := recordValue(own[i], c.Get(&row))
			if err := c.Check(v); err != nil {
				return fmt.Errorf("%s = %q: %w", c.Name, formatValue(v, c.Unit), err)
			}
			c.Set(&row, v)
		}
		return each(string(values[0].ByteArray()), &row)
	})
}

// errOtherRun ends the reading of a row group, whose rows are all of one run.
var errOtherRun = errors.New("the row group is of another run")

// eachRow reads the file as rows of values.
func (t *rowTable[R]) eachRow(dir string, each func([]parquet.Value) error) error {
	if err := t.require(dir); err != nil {
		return err
	}
	return openParquet(filepath.Join(dir, t.file), func(f *parquet.File) error {
		if want := schema(t.name, t.all()); !parquet.EqualNodes(f.Schema(), want) {
			return fmt.Errorf("has other columns than this version of fedsim writes: run the scenario again")
		}
		for _, group := range f.RowGroups() {
			if err := eachRow(group, each); err != nil && !errors.Is(err, errOtherRun) {
				return err
			}
		}
		return nil
	})
}

// require reports a missing or corrupt file.
func (t *rowTable[R]) require(dir string) error {
	m, err := ReadManifest(dir)
	switch {
	case err != nil:
		return err
	case slices.Contains(m.Parquet, t.file):
		return m.checkSum(dir, t.file)
	case m.State == Running:
		return fmt.Errorf("%s: %w: they are written when its run ends", dir, t.absent)
	default:
		return fmt.Errorf("%s: %w: %s", dir, t.absent, t.remedy)
	}
}

// export writes the rows in a format, one by one.
func (t *rowTable[R]) export(w io.Writer, dir, format string) error {
	columns := t.all()
	if format != "parquet" {
		return table{name: t.name, columns: columns, rows: func(yield func([]string) error) error {
			row := make([]string, len(columns))
			return t.eachRow(dir, func(values []parquet.Value) error {
				for i := range columns {
					row[i] = columns[i].cell(values[i])
				}
				return yield(row)
			})
		}}.write(w, format, "")
	}
	if err := t.require(dir); err != nil {
		return err
	}
	f, err := input.OpenOwn(filepath.Join(dir, t.file), maxTable)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}

// cell returns a value as a cell of csv.
func (c *column) cell(v parquet.Value) string {
	switch {
	case v.IsNull():
		return ""
	case c.kind == wholeCell:
		return strconv.FormatInt(v.Int64(), 10)
	case c.kind == seedCell:
		return strconv.FormatUint(v.Uint64(), 10)
	case c.kind == realCell && c.unit == "s":
		return formatDecimal(v.Double())
	case c.kind == realCell:
		return formatNumber(v.Double())
	default:
		return string(v.ByteArray())
	}
}
