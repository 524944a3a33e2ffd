package rundir

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"

	"fedsim/internal/atomicfile"
	"fedsim/internal/input"
	"fedsim/internal/state"
	"fedsim/results"
)

// clientsTable is the table of clients.parquet.
var clientsTable = rowTable[results.ClientRow]{
	name: "clients", file: clientsParquet, absent: ErrNoClients, remedy: "a learner that reports metrics by client makes them",
	columns: []rowColumn[results.ClientRow]{
		wholeOf("round", "rounds made so far, as in rounds.csv", func(r *results.ClientRow) *int { return &r.Round }),
		realOf("time_s", "s", "virtual time at the end of the round; relative units where federation.cost is not physical", func(r *results.ClientRow) *float64 { return &r.TimeS }),
		wholeOf("client", "its number, from 0; that of its device in devices.parquet", func(r *results.ClientRow) *int { return &r.Client }),
		textOf("split", "rows that the metric is measured on: train, validation, test; null: not said", func(r *results.ClientRow) *string { return &r.Split }),
		textOf("name", "of the metric; unit and direction are in manifest.json", func(r *results.ClientRow) *string { return &r.Name }),
		realOf("value", "", "in the unit of the metric; null: not known", func(r *results.ClientRow) *float64 { return &r.Value }),
	},
}

func textOf(name, doc string, field func(*results.ClientRow) *string) rowColumn[results.ClientRow] {
	return rowColumn[results.ClientRow]{
		column{name: name, doc: doc},
		func(r *results.ClientRow) parquet.Value { return textValue(*field(r)) },
		func(r *results.ClientRow, v parquet.Value) error {
			*field(r) = string(v.ByteArray())
			return nil
		},
	}
}

// spoolsDir holds a file of values by client for each run, a spool, until the end of all
// runs. Unlike a parquet file, a spool can be continued by a resumed run.
const spoolsDir = "clients"

// spoolRow is the size of a value in a spool: round, place of the metric in the declaration
// and client as uint32, time and value as float64, all little-endian.
const spoolRow = 3*4 + 2*8

// ClientWriter writes the values by client of one run into the stage of a [Writer]. It is
// not safe for concurrent use. Writers of several runs are independent.
type ClientWriter struct {
	of       *Writer
	index    int
	path     string
	declared []results.NamedMetric
	file     *os.File // nil before the first value
	sum      hash.Hash
	size     int64
	buffer   *bufio.Writer
	err      error // the first one
}

// Clients begins the values by client of a run, of which Metrics is used. The index is that
// of Add. The values become part of clients.parquet when the run is added; the caller closes
// the writer before. A run without values leaves no file.
func (w *Writer) Clients(index int, run results.Run) (*ClientWriter, error) {
	c := &ClientWriter{of: w, index: index, path: w.spoolPath(index), declared: run.Metrics, sum: sha256.New()}
	return c, os.MkdirAll(filepath.Dir(c.path), 0o777)
}

// spoolPath returns the spool of a run.
func (w *Writer) spoolPath(index int) string {
	return filepath.Join(w.stage(), spoolsDir, fmt.Sprintf("%06d.values", index))
}

// open opens the spool and keeps its first bytes, those in the checksum.
func (c *ClientWriter) open() {
	var err error
	if c.file, err = os.OpenFile(c.path, os.O_RDWR|os.O_CREATE, 0o666); err == nil {
		if err = c.file.Truncate(c.size); err == nil {
			_, err = c.file.Seek(c.size, io.SeekStart)
		}
	}
	c.buffer = bufio.NewWriterSize(io.MultiWriter(c.file, c.sum), 1<<16)
	c.fail(err)
}

// Write appends the values by client of a round. After an error it does nothing.
func (c *ClientWriter) Write(r *results.Round) error {
	if len(r.ClientMetrics) > 0 && c.file == nil && c.err == nil {
		c.open()
	}
	var row [spoolRow]byte
	for i := range r.ClientMetrics {
		m := &r.ClientMetrics[i]
		at := 0
		for at < len(c.declared) && (c.declared[at].Split != m.Split || c.declared[at].Name != m.Name) {
			at++
		}
		if at == len(c.declared) {
			c.fail(fmt.Errorf("metric %q of split %q was not declared", m.Name, m.Split))
		}
		for k := 0; k < len(m.Clients) && c.err == nil; k++ {
			binary.LittleEndian.PutUint32(row[0:], uint32(r.Round))
			binary.LittleEndian.PutUint32(row[4:], uint32(at))
			binary.LittleEndian.PutUint32(row[8:], uint32(m.Clients[k]))
			binary.LittleEndian.PutUint64(row[12:], math.Float64bits(r.TimeS))
			binary.LittleEndian.PutUint64(row[20:], math.Float64bits(m.Values[k]))
			_, err := c.buffer.Write(row[:])
			c.size += spoolRow
			c.fail(err)
		}
	}
	return c.err
}

// Declare replaces the declared metrics by a longer list that begins with them: a driver may
// declare metrics late.
func (c *ClientWriter) Declare(metrics []results.NamedMetric) { c.declared = metrics }

// State codes how far the values are, for a checkpoint of the run. Writing makes the values
// so far durable; reading continues behind them, and must come before the first Write.
func (c *ClientWriter) State(code *state.Coder) {
	if !code.Reads() {
		c.sync()
		code.Fail(c.err)
	}
	size, sum := int(c.size), string(c.sum.Sum(nil))
	code.Int(&size)
	code.String(&sum)
	if !code.Reads() || code.Err() != nil {
		return
	}
	if size < 0 || size%spoolRow != 0 {
		code.Fail(errors.New("its values by client do not end with a value"))
		return
	}
	if size > 0 {
		if err := copyRange(c.sum, c.path, 0, int64(size)); err != nil {
			code.Fail(err)
			return
		}
	}
	if c.size = int64(size); string(c.sum.Sum(nil)) != sum {
		code.Fail(fmt.Errorf("%s is corrupt", c.path))
	}
}

// sync makes the values so far durable.
func (c *ClientWriter) sync() {
	if c.file != nil && c.err == nil {
		c.fail(c.buffer.Flush())
	}
	if c.file != nil && c.err == nil {
		c.fail(c.file.Sync())
	}
}

// Close completes the values. It returns the first error.
func (c *ClientWriter) Close() error {
	if c.file == nil && c.size > 0 && c.err == nil { // a resumed run without further values
		c.open()
	}
	c.sync()
	if c.file != nil {
		c.fail(c.file.Close())
	} else if err := os.Remove(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an earlier attempt
		c.fail(err)
	}
	if c.err == nil && c.size > 0 {
		c.of.setSpool(c.index, string(c.sum.Sum(nil)))
	}
	return c.err
}

// setSpool stores the checksum of the values of a run.
func (w *Writer) setSpool(index int, sum string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.spool == nil {
		w.spool = map[int]string{}
	}
	w.spool[index] = sum
}

func (c *ClientWriter) fail(err error) {
	if err != nil && c.err == nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err
		}
		c.err = fmt.Errorf("write %s: %w", c.path, err)
	}
}

// placesOfSpools returns the places, in w.runs, of the added runs with values by client.
func (w *Writer) placesOfSpools() (places []int) {
	for i, index := range w.index {
		if w.spool[index] != "" {
			places = append(places, i)
		}
	}
	return places
}

// writeClients makes clients.parquet of the spools of some runs, which stay.
func (w *Writer) writeClients(places []int) error {
	return atomicfile.Write(filepath.Join(w.stage(), clientsParquet), func(out io.Writer) error {
		p := newParquetWriter(out, clientsTable.name, w.about.Version, clientsTable.all())
		for _, i := range places {
			p.identify(&w.runs[i])
			if err := w.copySpool(p, i); err != nil {
				return err
			}
			if err := p.endGroup(); err != nil {
				return err
			}
		}
		return p.Close()
	})
}

// copySpool writes the values by client of a run, after a check of their checksum.
func (w *Writer) copySpool(to *parquetWriter, place int) (err error) {
	path := w.spoolPath(w.index[place])
	f, err := input.Open(path, maxTable)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	from := bufio.NewReaderSize(io.TeeReader(f, sum), 1<<16)
	var row [spoolRow]byte
	for {
		if _, err := io.ReadFull(from, row[:]); err == io.EOF {
			break
		} else if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		at := binary.LittleEndian.Uint32(row[4:])
		if int(at) >= len(w.runs[place].Metrics) {
			return fmt.Errorf("%s: is corrupt: run %q does not declare metric %d", path, w.runs[place].ID, at)
		}
		m := &w.runs[place].Metrics[at]
		value := results.ClientRow{
			Round: int(binary.LittleEndian.Uint32(row[0:])), Client: int(binary.LittleEndian.Uint32(row[8:])), Split: m.Split, Name: m.Name,
			TimeS: math.Float64frombits(binary.LittleEndian.Uint64(row[12:])), Value: math.Float64frombits(binary.LittleEndian.Uint64(row[20:])),
		}
		if err := to.write(func(values parquet.Row) { clientsTable.set(values, &value) }); err != nil {
			return err
		}
	}
	if string(sum.Sum(nil)) != w.spool[w.index[place]] {
		return refuse(path, "it is corrupt: its checksum does not match its content", runAgain)
	}
	return nil
}
