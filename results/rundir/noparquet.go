//go:build noparquet

package rundir

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"fedsim/internal/tools/plainparquet"
	"fedsim/results"
)

// The tables of builds without the parquet library, which is larger than the rest of a web page: they write plain
// files, which other builds read, and read none.

// writeParquet writes the table as a parquet file with row groups of one run each.
func (t table) writeParquet(w io.Writer, version string) error {
	columns := make([]plainparquet.Column, len(t.columns))
	for i, c := range t.columns {
		columns[i] = plainparquet.Column{Name: c.name, Kind: map[kind]plainparquet.Kind{textCell: plainparquet.Text,
			wholeCell: plainparquet.Whole, seedCell: plainparquet.Unsigned, realCell: plainparquet.Real}[c.kind]}
	}
	file := plainparquet.New(w, t.name, "fedsim version "+version, [2]string{columnsKey, describe(t.columns)}, columns)
	run := ""
	return cmp.Or(t.rows(func(cells []string) error {
		if cells[0] != run || file.Rows() == mostRows {
			run = cells[0]
			if err := file.EndGroup(); err != nil {
				return err
			}
		}
		return file.Write(cells)
	}), file.Close())
}

// writeParquet writes the rows of stores as a parquet file.
func (t *rowTable[R]) writeParquet(out io.Writer, version string, stores []store) error {
	own := t.of(stores)
	names := t.client != nil && slices.ContainsFunc(own, func(s store) bool { return s.run.Data.NamesClients() })
	rows := t.table(names, func(each func(*results.Run, *R) error) error {
		for i := range own {
			left := t.count(&own[i])
			err := t.eachStored(&own[i], func(row *R) error {
				left--
				return each(own[i].run, row)
			})
			if err == nil && left != 0 {
				err = fmt.Errorf("%s: run %q has %d rows less than its end says", own[i].log.Name(), own[i].run.ID,
					left)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	rows.name = t.name
	return rows.writeParquet(out, version)
}

// eachInFile refuses the file.
func (t *rowTable[R]) eachInFile(dir, _ string, _ func(*results.Run, *R) error) error {
	return fmt.Errorf("%s: this fedsim was built without parquet (tag noparquet), and reads no such tables: read them "+
		"with another build", filepath.Join(dir, t.file))
}
