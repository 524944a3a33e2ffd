//go:build !noparquet

package rundir

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/parquet-go/parquet-go"

	"fedsim/internal/tools/parquetrows"
	"fedsim/results"
)

// eachInFile reads the file.
func (t *rowTable[R]) eachInFile(dir, run string, each func(run *results.Run, row *R) error) error {
	return openParquet(filepath.Join(dir, t.file), func(f *parquet.File) error {
		at, err := places(f, t.all())
		if err != nil {
			return err
		}
		head := at[:len(at)-len(t.columns)]
		var of results.Run
		var row R
		for _, group := range f.RowGroups() {
			err := parquetrows.Each(group, func(values []parquet.Value) error {
				if of.ID != string(values[head[0]].ByteArray()) {
					of = identityOf(values, head)
				}
				if run != "" && run != of.ID {
					return errOtherRun
				}
				for i, at := range at[len(head):] {
					c := &t.columns[i]
					before := c.Get(&row)
					value := results.Unknown(before.Type())
					if at >= 0 {
						value = recordValue(values[at], before)
					}
					if err := c.Check(value); err != nil {
						return fmt.Errorf("%s = %q: %w", c.Name, formatValue(value, c.Unit), err)
					}
					c.Set(&row, value)
				}
				return each(&of, &row)
			})
			if err != nil && !errors.Is(err, errOtherRun) {
				return err
			}
		}
		return nil
	})
}

// errOtherRun ends the reading of a row group, whose rows are all of one run.
var errOtherRun = errors.New("the row group is of another run")

// identityOf returns the run that the values of a row at the places of its columns identify.
func identityOf(values []parquet.Value, at []int) results.Run {
	text := func(i int) string { return string(values[at[i]].ByteArray()) }
	return results.Run{ID: text(0), Experiment: text(1), Method: text(2), Algorithm: text(3),
		Seed: values[at[len(at)-1]].Uint64()}
}

// groupsAtOnce is the number of row groups that are made at the same time.
var groupsAtOnce = min(4, runtime.GOMAXPROCS(0))

// rowGroup is a row group that is being made.
type rowGroup[R any] struct {
	to   *parquet.ConcurrentRowGroupWriter
	rows []R
	made chan error
}

// writeParquet writes the rows of stores as a parquet file with row groups of one run each, which
// it makes on several cores.
func (t *rowTable[R]) writeParquet(out io.Writer, version string, stores []store) error {
	names := t.client != nil &&
		slices.ContainsFunc(t.of(stores), func(s store) bool { return s.run.Data.NamesClients() })
	file := newParquet(out, t.name, version, t.named(names))
	var (
		groups []rowGroup[R] // oldest first
		spare  [][]R         // of groups that are written
	)
	commit := func(most int) (err error) {
		for ; len(groups) > most && err == nil; groups = groups[1:] {
			if err = <-groups[0].made; err == nil {
				_, err = groups[0].to.Commit()
			}
			spare = append(spare, groups[0].rows[:0])
		}
		return err
	}
	for _, s := range t.of(stores) {
		left := t.count(&s)
		var rows []R
		err := t.eachStored(&s, func(row *R) error {
			if n := len(spare); rows == nil && n > 0 {
				rows, spare = spare[n-1], spare[:n-1]
			} else if rows == nil {
				rows = make([]R, 0, max(1, min(left, mostRows)))
			}
			left--
			if rows = append(rows, *row); len(rows) < mostRows && left != 0 {
				return nil
			}
			group := rowGroup[R]{file.BeginRowGroup(), rows, make(chan error, 1)}
			groups, rows = append(groups, group), nil
			go func() { group.made <- t.fill(group.to, s.run, group.rows, names) }()
			return commit(groupsAtOnce - 1)
		})
		if err == nil && left != 0 {
			err = fmt.Errorf("%s: run %q has %d rows less than its end says", s.log.Name(), s.run.ID, left)
		}
		if err != nil {
			return err
		}
	}
	return cmp.Or(commit(0), file.Close())
}

// fill writes the rows of a row group, with the names of clients if the file has them.
func (t *rowTable[R]) fill(to parquet.RowWriter, run *results.Run, rows []R, names bool) error {
	head := len(identityColumns(t.keys))
	p := newParquetRows(to, len(t.named(names)))
	p.identify(run, t.keys)
	var row *R
	set := func(values parquet.Row) {
		for k := range t.columns {
			values[head+k] = p.value(t.columns[k].Get(row), head+k)
		}
		if last := head + len(t.columns); names {
			values[last] = p.text(clientName(run.Data, t.client(row)), last)
		}
	}
	for i := range rows {
		row = &rows[i]
		if err := p.write(set); err != nil {
			return err
		}
	}
	return p.flush()
}
