package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"fedsim/internal/tools/atomicfile"
)

// Tables and Formats are the tables and formats of [Export].
var (
	Tables  = []string{"rounds", "runs", metricsTable.name, "clients", devicesTable.name, valuesTable.name}
	Formats = []string{"csv", "parquet", "json"}
)

// Locate returns the directory with the results of dir: dir itself, or its stage when the
// run is unfinished. The stage has the runs that have ended.
func Locate(dir string) string {
	stage := filepath.Join(dir, stageDir)
	if exists(filepath.Join(dir, manifestFile)) || !isStage(stage) {
		return dir
	}
	return stage
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// isFile reports whether a path is no directory.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// File is a file of a run directory.
type File struct {
	Name string // below the directory
	Size int64  // bytes
}

// Files lists the files of a run directory that its manifest names, the manifest first, or that
// of a stage that has its results.
func (m *Manifest) Files(dir string) ([]File, error) {
	names := m.fileNames()
	if isStage(dir) {
		names = []string{logFile}
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

// fileNames lists the files that the manifest names, the manifest first.
func (m *Manifest) fileNames() []string {
	return m.attached().fileNames()
}

// AddFigures adds files in DIR/figures to the manifest of a complete run.
func AddFigures(dir string, names []string) (err error) {
	held, err := lockStage(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.release()) }()
	m, err := ReadManifest(dir)
	if err != nil {
		return err
	}
	m.Figures = append(m.Figures, names...)
	slices.Sort(m.Figures)
	m.Figures = slices.Compact(m.Figures)
	staged := filepath.Join(dir, stageDir, figuresManifest)
	if err := atomicfile.Write(staged, m.write); err != nil {
		return err
	}
	return errors.Join(os.Rename(staged, filepath.Join(dir, manifestFile)), atomicfile.SyncDir(dir))
}

// figuresManifest is in the stage while figures are added to the manifest.
const figuresManifest = "figures.json"

// Export writes one of the Tables of a run directory in one of the Formats. Unknown
// values are empty cells in csv and null in JSON, which is an array of objects. Parquet
// has units and descriptions in its metadata.
func Export(w io.Writer, dir, name, format string) error {
	switch name {
	case devicesTable.name:
		return devicesTable.export(w, dir, format)
	case valuesTable.name:
		return valuesTable.export(w, dir, format)
	}
	r, err := Read(dir)
	if err != nil {
		return err
	}
	switch name {
	case "rounds":
		t := roundsTable(r.Runs)
		return t.exportRuns(w, r, format)
	case "runs":
		return runsTable(r.Runs, r.Manifest.Targets).write(w, format, r.Manifest.Version)
	case metricsTable.name:
		return metricsTable.exportRuns(w, r, format)
	case "clients":
		if !hasClients(r.Manifest.DataSets) {
			return fmt.Errorf("%s: has no names of clients: no file of its data names them", dir)
		}
		return namesTable(r.Manifest.DataSets).write(w, format, r.Manifest.Version)
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

// HasDevices reports whether there are rows by device.
func (m *Manifest) HasDevices() bool { return m.file(devicesParquet) != nil }

// HasClients reports whether there are values by client.
func (m *Manifest) HasClients() bool { return m.file(valuesParquet) != nil }
