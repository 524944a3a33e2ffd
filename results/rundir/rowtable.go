package rundir

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"fedsim/internal/tools/input"
	"fedsim/results"
)

// rowTable is a table that may exceed the memory: a parquet file, and in an unfinished run
// directory blocks of the log. Its rows are of type R; they name their run.
type rowTable[R any] struct {
	name    string
	file    string
	absent  error // of a directory without rows
	remedy  string
	columns []results.Column[R] // after those that identify the run
	names   string              // of columns, see results.ColumnNames
	keys    []string            // swept keys, which rows have, too
	count   func(*store) int64
	rows    func(*results.Run, func(*R) error) error // of a table whose rows runs hold; nil: the log has them
	client  func(*R) int                             // the number of the client; nil: the table has no names of clients
}

var (
	devicesTable = rowTable[results.DeviceRow]{
		name: "devices", file: devicesParquet, absent: ErrNoDevices, remedy: "run.devices = true makes them",
		columns: results.DeviceColumns, names: results.ColumnNames(results.DeviceColumns),
		count:  func(s *store) int64 { return s.rows.Devices },
		client: func(r *results.DeviceRow) int { return r.Device },
	}
	valuesTable = rowTable[results.ClientRow]{
		name: "client_values", file: valuesParquet, absent: ErrNoClients,
		remedy: "set run.client_metrics; learners report their own", columns: results.ClientColumns,
		names:  results.ColumnNames(results.ClientColumns),
		count:  func(s *store) int64 { return s.rows.Clients },
		client: func(r *results.ClientRow) int { return r.Client },
	}
)

// ErrNoDevices is wrapped by the errors of Devices and Export for a directory without rows by
// device, ErrNoClients by those of Clients and Export for one without values by client.
var (
	ErrNoDevices = errors.New("has no rows by device")
	ErrNoClients = errors.New("has no values by client")
)

// Devices reads the rows by device of a run directory or of the stage of an unfinished one, in
// the order of runs, rounds and devices. It calls each with the ID of the run and the row, which
// is valid until the next. It returns the first error of each.
func Devices(dir string, each func(run string, row *results.DeviceRow) error) error {
	return devicesTable.each(dir, "", func(run *results.Run, row *results.DeviceRow) error { return each(run.ID, row) })
}

// Clients reads the values by client of a run like Devices, in the order of rounds, metrics and
// clients. A run without them has no rows.
func Clients(dir, run string, each func(*results.ClientRow) error) error {
	return valuesTable.each(dir, run, func(_ *results.Run, row *results.ClientRow) error { return each(row) })
}

// all returns all columns.
func (t *rowTable[R]) all() []column {
	return append(identityColumns(t.keys), columnsOf(t.columns)...)
}

// nameColumn is the last column of a file with runs on data that name their clients.
var nameColumn = column{name: "client_name", kind: textCell, doc: "name of the client in the data; null: it has none"}

// named returns all columns of a file, with the name of the client if there is one.
func (t *rowTable[R]) named(names bool) []column {
	if names {
		return append(t.all(), nameColumn)
	}
	return t.all()
}

// kind returns the kind of the blocks with rows of the table.
func (t *rowTable[R]) kind() byte { return t.name[0] }

// each reads the rows of all runs of a directory in their order, or those of one run. It calls the function with
// the run, of which the columns that identify it are set, and the row, which is valid until the
// next. It returns the first error of the function.
func (t *rowTable[R]) each(dir, run string, each func(run *results.Run, row *R) error) error {
	if isStage(dir) {
		return t.inStage(dir, func(stores []store) (err error) {
			for i := range stores {
				if s := &stores[i]; err == nil && (run == "" || run == s.run.ID) {
					err = t.eachStored(s, func(row *R) error { return each(s.run, row) })
				}
			}
			return err
		})
	}
	if err := t.require(dir); err != nil {
		return err
	}
	return t.eachInFile(dir, run, each)
}

// inStage opens the stores with rows of the table in a stage for a function.
func (t *rowTable[R]) inStage(dir string, use func([]store) error) error {
	return withStores(dir, nil, func(stores []store) error {
		if stores = t.of(stores); len(stores) == 0 {
			return fmt.Errorf("%s: %w: %s", dir, t.absent, t.remedy)
		}
		return use(stores)
	})
}

// of returns the stores with rows of the table.
func (t *rowTable[R]) of(stores []store) (own []store) {
	for i := range stores {
		if t.count(&stores[i]) > 0 {
			own = append(own, stores[i])
		}
	}
	return own
}

// require reports a missing or corrupt file.
func (t *rowTable[R]) require(dir string) error {
	m, err := ReadManifest(dir)
	switch {
	case err != nil:
		return err
	case m.file(t.file) != nil:
		return m.checkFile(dir, t.file)
	default:
		return fmt.Errorf("%s: %w: %s", dir, t.absent, t.remedy)
	}
}

// table returns the table as cells, with the names of clients if it has them.
func (t *rowTable[R]) table(names bool, rows func(each func(*results.Run, *R) error) error) table {
	return table{columns: t.named(names), rows: func(yield func([]string) error) error {
		var cells []string
		return rows(func(run *results.Run, row *R) error {
			cells = appendCells(appendIdentity(cells[:0], run, t.keys), t.columns, row)
			if names {
				cells = append(cells, clientName(run.Data, t.client(row)))
			}
			return yield(cells)
		})
	}}
}

// exportRuns writes the rows that runs hold in a format.
func (t *rowTable[R]) exportRuns(w io.Writer, r *Results, format string) error {
	stores := t.of(storesOf(r.Runs))
	switch {
	case len(stores) == 0 && t.absent != nil:
		return fmt.Errorf("%s: %w: %s", r.Dir, t.absent, t.remedy)
	case format == "parquet":
		return t.writeParquet(w, r.Manifest.Version, stores)
	}
	return t.table(false, func(each func(*results.Run, *R) error) error {
		for i := range stores {
			run := stores[i].run
			if err := t.rows(run, func(row *R) error { return each(run, row) }); err != nil {
				return err
			}
		}
		return nil
	}).write(w, format, "")
}

// export writes the rows in a format, one by one.
func (t *rowTable[R]) export(w io.Writer, dir, format string) error {
	if format != "parquet" {
		m, err := ReadManifest(dir)
		if err != nil {
			return err
		}
		of, names := map[string]*results.DataSet{}, hasClients(m.DataSets)
		for _, run := range m.runs() {
			of[run.ID] = run.Data
		}
		return t.table(names, func(each func(run *results.Run, row *R) error) error {
			return t.each(dir, "", func(run *results.Run, row *R) error {
				run.Data = of[run.ID]
				return each(run, row)
			})
		}).write(w, format, "")
	}
	if isStage(dir) {
		m, err := ReadManifest(dir)
		if err != nil {
			return err
		}
		return t.inStage(dir, func(stores []store) error { return t.writeParquet(w, m.Version, stores) })
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
