package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/parquet-go/parquet-go"

	"fedsim/internal/input"
)

// Tables and Formats are the tables and formats of [Export].
var (
	Tables  = []string{"rounds", "runs", devicesTable}
	Formats = []string{"csv", "parquet", "json"}
)

// Locate returns the directory with the results of dir: dir itself, or its stage when the
// run is unfinished. The stage has the runs that were finished at the last checkpoint.
func Locate(dir string) string {
	stage := filepath.Join(dir, stageDir)
	if exists(filepath.Join(dir, manifestFile)) || !exists(filepath.Join(stage, manifestFile)) {
		return dir
	}
	return stage
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// File is a file of a run directory.
type File struct {
	Name string // below the directory
	Size int64  // bytes
}

// Files lists the files of a run directory that its manifest names, the manifest first.
func (m *Manifest) Files(dir string) ([]File, error) {
	names := []string{manifestFile, scenarioFile, roundsFile, runsFile}
	if m.Thetas {
		names = append(names, thetasFile)
	}
	names = append(names, m.Parquet...)
	for _, f := range m.attached().folders() {
		for _, name := range f.files {
			names = append(names, filepath.Join(f.name, name))
		}
	}
	files := make([]File, len(names))
	for i, name := range names {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		files[i] = File{name, info.Size()}
	}
	return files, nil
}

// Export writes one of the Tables of a run directory in one of the Formats. Unknown
// values are empty cells in csv and null in JSON, which is an array of objects. Parquet
// has units and descriptions in its metadata.
func Export(w io.Writer, dir, name, format string) error {
	if name == devicesTable {
		return exportDevices(w, dir, format)
	}
	r, err := Read(dir)
	if err != nil {
		return err
	}
	switch name {
	case "rounds":
		return roundsTable(r.Runs).write(w, format, r.Manifest.Version)
	case "runs":
		return runsTable(r.Runs, r.Manifest.Targets).write(w, format, r.Manifest.Version)
	default:
		return fmt.Errorf("there is no table %q", name)
	}
}

// write writes the table in a format.
func (t table) write(w io.Writer, format, version string) error {
	switch format {
	case "csv":
		return t.forSpreadsheets().writeCSV(w)
	case "json":
		return t.writeJSON(w)
	case "parquet":
		return t.writeParquet(w, version)
	default:
		return fmt.Errorf("there is no format %q", format)
	}
}

// exportDevices exports the rows by device one by one: they may exceed the memory.
func exportDevices(w io.Writer, dir, format string) error {
	columns := devicesColumns()
	t := table{name: devicesTable, columns: columns, rows: func(yield func([]string) error) error {
		row := make([]string, len(columns))
		return eachDevice(dir, func(values []parquet.Value) error {
			for i := range columns {
				row[i] = columns[i].cell(values[i])
			}
			return yield(row)
		})
	}}
	if format != "parquet" {
		return t.write(w, format, "")
	}
	m, err := ReadManifest(dir)
	if err == nil {
		err = m.requireDevices(dir)
	}
	if err != nil {
		return err
	}
	f, err := input.Open(filepath.Join(dir, devicesParquet), maxTable)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}

// ErrNoDevices is wrapped by the errors of Devices and Export for a directory
// without rows by device.
var ErrNoDevices = errors.New("has no rows by device")

// HasDevices reports whether there are rows by device.
func (m *Manifest) HasDevices() bool { return slices.Contains(m.Parquet, devicesParquet) }

// requireDevices reports missing or corrupt rows by device.
func (m *Manifest) requireDevices(dir string) error {
	if m.HasDevices() {
		return m.checkSum(dir, devicesParquet)
	}
	if m.State == Running {
		return fmt.Errorf("%s: %w: they are written when its run ends", dir, ErrNoDevices)
	}
	return fmt.Errorf("%s: %w: run.devices = true makes them", dir, ErrNoDevices)
}
