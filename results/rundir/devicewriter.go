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

// partsDir holds a file of rows by device for each run, a part, until they are joined.
const partsDir = "devices"

// devicesTable is the table of devices.parquet.
var devicesTable = rowTable[results.DeviceRow]{
	name: "devices", file: devicesParquet, absent: ErrNoDevices, remedy: "run.devices = true makes them", columns: results.DeviceColumns,
}

// DeviceWriter writes the rows by device of one run into the stage of a [Writer]. It is
// not safe for concurrent use. Writers of several runs are independent.
type DeviceWriter struct {
	of      *Writer
	index   int
	path    string
	file    *os.File
	sum     hash.Hash // of the content
	buffer  *bufio.Writer
	parquet *parquetWriter
	err     error // the first one
}

// newDevices begins the rows by device of a run, of which ID, Experiment, Method, Algorithm and
// Seed are used.
func (w *Writer) newDevices(index int, run results.Run) (*DeviceWriter, error) {
	if err := os.MkdirAll(filepath.Join(w.stage(), partsDir), 0o777); err != nil {
		return nil, err
	}
	d := &DeviceWriter{of: w, index: index, path: w.part(index), sum: sha256.New()}
	var err error
	if d.file, err = os.Create(d.path); err != nil {
		return nil, err
	}
	d.buffer = bufio.NewWriterSize(io.MultiWriter(d.file, d.sum), 1<<16)
	d.parquet = newParquetWriter(d.buffer, devicesTable.name, w.about.Version, devicesTable.all())
	d.parquet.identify(&run)
	return d, nil
}

// part returns the part of a run.
func (w *Writer) part(index int) string {
	return filepath.Join(w.stage(), partsDir, fmt.Sprintf("%06d.parquet", index))
}

// Write appends the rows of a round. After an error it does nothing.
func (d *DeviceWriter) Write(rows []results.DeviceRow) error {
	for i := 0; i < len(rows) && d.err == nil; i++ {
		d.fail(devicesTable.write(d.parquet, &rows[i]))
	}
	return d.err
}

// Close completes the file. It returns the first error.
func (d *DeviceWriter) Close() error {
	if d.err == nil {
		d.fail(d.parquet.Close())
	}
	if d.err == nil {
		d.fail(d.buffer.Flush())
	}
	if d.err == nil { // for a resumed run
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

// checkFile reports whether a file of the stage is there, and refuses a corrupt one.
func checkFile(path, sum string) (there bool, err error) {
	now, err := sumOf(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if string(now) != sum {
		return false, refuse(path, "it is corrupt: its checksum does not match its content", deleteIt)
	}
	return true, nil
}

// placesOfParts returns the places of the added runs that have a part.
func (w *Writer) placesOfParts() (places []int) {
	for _, i := range w.index {
		if exists(w.part(i)) {
			places = append(places, i)
		}
	}
	return places
}

// partsOf returns the parts of runs.
func (w *Writer) partsOf(places []int) []string {
	files := make([]string, len(places))
	for i, place := range places {
		files[i] = w.part(place)
	}
	return files
}

// join writes one parquet file with the row groups of all parts, copied as they are.
func join(out io.Writer, version string, parts []string) error {
	all := newParquetWriter(out, devicesTable.name, version, devicesTable.all())
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

// copyDevices joins copies of the parts to devices.parquet. A resumed run needs the parts
// again.
func (w *Writer) copyDevices() error {
	return atomicfile.Write(filepath.Join(w.stage(), devicesParquet), func(out io.Writer) error {
		return join(out, w.about.Version, w.partsOf(w.placesOfParts()))
	})
}
