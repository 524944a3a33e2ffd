package rundir

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fedsim/internal/tools/atomicfile"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/npy"
	"fedsim/results"
)

// modelsDir holds the final models of runs.
const modelsDir = "models"

// ModelFormats are the formats of [ExportModel].
var ModelFormats = []string{"csv", "npy"}

// modelName is the file of the model of the run at a place of the scenario.
func modelName(place int) string { return fmt.Sprintf("%06d.npy", place) }

func isModelName(name string) bool {
	place, err := strconv.Atoi(strings.TrimSuffix(name, ".npy"))
	return err == nil && name == modelName(place)
}

// writeModel writes a model to a file of a folder, which it makes: a vector of weights for each task.
func writeModel(dir, name string, tasks, features int, weights func(task int) []float64) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return atomicfile.WriteIn(dir, name, func(out io.Writer) error {
		if _, err := out.Write(npy.Head(tasks, features)); err != nil {
			return err
		}
		row := make([]byte, 8*features)
		for t := range tasks {
			for i, x := range weights(t) {
				binary.LittleEndian.PutUint64(row[8*i:], math.Float64bits(x))
			}
			if _, err := out.Write(row); err != nil {
				return err
			}
		}
		return nil
	})
}

// npyHeader is the format of the header of a matrix.
const npyHeader = "{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }"

// modelFile is the model of a run in its file.
type modelFile struct {
	*os.File
	path        string
	rows, cols  int
	start, size int64 // of the numbers
}

// openModel opens the file of a model that a Writer made.
func openModel(path string) (*modelFile, error) {
	f, err := input.OpenOwn(path, maxTable)
	if err != nil {
		return nil, err
	}
	m := &modelFile{File: f, path: path}
	if err := m.readHead(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	return m, nil
}

func (m *modelFile) readHead() error {
	info, err := m.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, 128) // longer than any header
	n, err := m.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	const before = 10 // bytes
	damaged := errors.New("is corrupt: it is not a matrix that fedsim wrote")
	if n < before {
		return damaged
	}
	if _, err := fmt.Sscanf(string(head[before:n]), npyHeader, &m.rows, &m.cols); err != nil {
		return damaged
	}
	want := npy.Head(m.rows, m.cols)
	m.start = int64(len(want))
	m.size = info.Size() - m.start
	if !bytes.HasPrefix(head[:n], want) || m.rows < 0 || m.cols < 1 || m.size%8 != 0 || m.size/8%int64(m.cols) != 0 ||
		m.size/8/int64(m.cols) != int64(m.rows) {
		return damaged
	}
	return nil
}

// numbers returns the numbers, row by row, as little-endian float64.
func (m *modelFile) numbers() io.Reader { return io.NewSectionReader(m, m.start, m.size) }

// check compares the hash of the numbers, FNV-1a of their bytes in the file, with that of
// the model.
func (m *modelFile) check(want uint64) error {
	h := fnv.New64a()
	if _, err := io.Copy(h, m.numbers()); err != nil {
		return fmt.Errorf("%s: %w", m.path, err)
	}
	if h.Sum64() != want {
		return fmt.Errorf("%s: is corrupt: its hash is %s and the model_hash of its run is %s", m.path,
			results.Hash(h.Sum64()), results.Hash(want))
	}
	return nil
}

// writeCSV writes a row for each task: its number and its weights.
func (m *modelFile) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	row := []string{"task"}
	for i := range m.cols {
		row = append(row, fmt.Sprintf("w%d", i))
	}
	if err := out.Write(row); err != nil {
		return err
	}
	in := bufio.NewReaderSize(m.numbers(), 1<<16)
	var number [8]byte
	for t := range m.rows {
		row[0] = strconv.Itoa(t)
		for i := range m.cols {
			if _, err := io.ReadFull(in, number[:]); err != nil {
				return err
			}
			row[1+i] = strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(number[:])), 'g', -1, 64)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// checkModel reports whether the model of a run exists, and refuses another one.
func (w *Writer) checkModel(run *results.Run) (there bool, err error) {
	m, err := openModel(filepath.Join(w.stage(), modelsDir, run.Model))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = errors.Join(m.check(run.ModelHash), m.Close())
	}
	if err != nil {
		return false, fmt.Errorf("%w: %s", err, deleteIt)
	}
	return true, nil
}

// ErrNoModel is wrapped by the errors of ExportModel for a directory without the requested
// model.
var ErrNoModel = errors.New("has no model")

// ExportModel writes the final model of a run in one of the ModelFormats: a matrix with a
// row of weights for each task. The ID may be empty when only one run has a model. Format
// npy is NumPy's; csv has the number of the task before its weights.
func ExportModel(w io.Writer, dir, run, format string) error {
	m, err := ReadManifest(dir)
	if err != nil {
		return err
	}
	entry, err := m.withModel(dir, run)
	if err != nil {
		return err
	}
	f, err := openModel(filepath.Join(dir, modelsDir, entry.Model))
	if err != nil {
		return err
	}
	if err = f.check(uint64(entry.ModelHash)); err == nil {
		switch format {
		case "npy":
			_, err = io.Copy(w, f)
		case "csv":
			err = f.writeCSV(w)
		default:
			err = fmt.Errorf("there is no format %q", format)
		}
	}
	return errors.Join(err, f.Close())
}

// withModel finds the run with that ID, or the only run with a model.
func (m *Manifest) withModel(dir, id string) (*RunEntry, error) {
	var found []*RunEntry
	for i := range m.Runs {
		if m.Runs[i].Model != "" && (id == "" || m.Runs[i].ID == id) {
			found = append(found, &m.Runs[i])
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil,
			fmt.Errorf("%s: has the models of %d runs: name one of them, such as %s", dir, len(found), found[0].ID)
	case id != "":
		return nil,
			fmt.Errorf("%s: %w of run %q: must be a run of runs.csv, made with run.save_model = true", dir,
				ErrNoModel, id)
	default:
		return nil, fmt.Errorf("%s: %w: run.save_model = true stores them", dir, ErrNoModel)
	}
}
