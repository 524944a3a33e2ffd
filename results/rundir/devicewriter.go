package rundir

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"

	"fedsim/internal/atomicfile"
	"fedsim/results"
)

// partsDir holds the rows by device of each run until they are joined.
const partsDir = "devices"

// DeviceWriter writes the rows by device of one run as they are made, into the
// stage of a [Writer]. It is not safe for concurrent use; those of several runs are
// independent.
type DeviceWriter struct {
	of      *Writer
	index   int
	path    string
	file    *os.File
	sum     hash.Hash // of what is written to the file
	buffer  *bufio.Writer
	parquet *parquetWriter
	err     error // the first one
}

// Devices begins the rows by device of a run, of which ID, Experiment, Method,
// Algorithm and Seed are used. The index is that of Add. The rows become part of
// devices.parquet when the run is added; the caller closes the writer before.
func (w *Writer) Devices(index int, run results.Run) (*DeviceWriter, error) {
	if err := os.MkdirAll(filepath.Join(w.stage(), partsDir), 0o777); err != nil {
		return nil, err
	}
	d := &DeviceWriter{of: w, index: index, path: w.part(index), sum: sha256.New()}
	var err error
	if d.file, err = os.Create(d.path); err != nil {
		return nil, err
	}
	d.buffer = bufio.NewWriterSize(io.MultiWriter(d.file, d.sum), 1<<16)
	d.parquet = newParquetWriter(d.buffer, devicesTable, w.about.Version, devicesColumns())
	for _, row := range d.parquet.rows { // what all rows begin with
		for i, text := range []string{run.ID, run.Experiment, run.Method, run.Algorithm} {
			row[i] = textValue(text)
		}
		row[len(identityHead)] = parquet.Int64Value(int64(run.Seed))
	}
	return d, nil
}

// part is the file of the rows of a run.
func (w *Writer) part(index int) string {
	return filepath.Join(w.stage(), partsDir, fmt.Sprintf("%06d.parquet", index))
}

// Write appends the rows of a round. After an error nothing more is written.
func (d *DeviceWriter) Write(rows []results.DeviceRow) error {
	for i := 0; i < len(rows) && d.err == nil; i++ {
		d.fail(d.parquet.write(func(row parquet.Row) {
			values := row[len(row)-len(deviceColumns):]
			for k := range deviceColumns {
				values[k] = deviceColumns[k].get(&rows[i])
			}
		}))
	}
	return d.err
}

// Close ends the rows. It returns the first error of all.
func (d *DeviceWriter) Close() error {
	if d.err == nil {
		d.fail(d.parquet.Close())
	}
	if d.err == nil {
		d.fail(d.buffer.Flush())
	}
	if d.err == nil { // a run that is gone on with relies on it
		d.fail(d.file.Sync())
	}
	d.fail(d.file.Close())
	if d.err == nil {
		d.of.setSum(d.index, string(d.sum.Sum(nil)))
	}
	return d.err
}

// setSum stores the checksum of the rows of a run.
func (w *Writer) setSum(index int, sum string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sums == nil {
		w.sums = map[int]string{}
	}
	w.sums[index] = sum
}

func (d *DeviceWriter) fail(err error) {
	if err != nil && d.err == nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err
		}
		d.err = fmt.Errorf("write %s: %w", d.path, err)
	}
}

// checkPart reports whether the rows of a run are there, and refuses those that are
// not what was written.
func (w *Writer) checkPart(index int, sum string) (there bool, err error) {
	now, err := sumOf(w.part(index))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if string(now) != sum {
		return false, refuse(w.part(index), "it is corrupt: its checksum does not match its content", deleteIt)
	}
	return true, nil
}

// placesOfParts returns the places of the runs added that have rows by device.
func (w *Writer) placesOfParts() (places []int) {
	for _, i := range w.index {
		if exists(w.part(i)) {
			places = append(places, i)
		}
	}
	return places
}

// partsOf returns the files of the rows of runs.
func (w *Writer) partsOf(places []int) []string {
	files := make([]string, len(places))
	for i, place := range places {
		files[i] = w.part(place)
	}
	return files
}

// join writes one parquet file with the row groups of all parts, copied as they are.
func join(out io.Writer, version string, parts []string) error {
	all := newParquetWriter(out, devicesTable, version, devicesColumns())
	for _, path := range parts {
		err := openParquet(path, func(f *parquet.File) error {
			for _, group := range f.RowGroups() {
				if _, err := all.file.WriteRowGroup(group); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return all.Close()
}

// copyDevices joins the parts to devices.parquet. They stay: a run that is resumed
// needs them again.
func (w *Writer) copyDevices() error {
	return atomicfile.Write(filepath.Join(w.stage(), devicesParquet), func(out io.Writer) error {
		return join(out, w.about.Version, w.partsOf(w.placesOfParts()))
	})
}
