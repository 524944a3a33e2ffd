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

	"fedsim/internal/atomicfile"
	"fedsim/internal/input"
	"fedsim/internal/state"
	"fedsim/results"
)

// clientsTable is the table of clients.parquet.
var clientsTable = rowTable[results.ClientRow]{
	name: "clients", file: clientsParquet, absent: ErrNoClients, remedy: "set run.client_metrics; learners report their own",
	columns: results.ClientColumns,
}

// spoolsDir holds a file of values by client for each run, a spool, until the end of all
// runs. Unlike a parquet file, a spool can be continued by a resumed run.
const spoolsDir = "clients"

// spoolRow is the size of a value in a spool: round, place of the metric in the declaration,
// client, number of its class, rows and updates as uint32, then time, value, ComputeS and
// TransferS as float64, all little-endian. The first value of a class comes behind a row with
// its name: newClass, the number, and the bytes of the name as the third word, then the name
// itself, both padded to spoolRow. Class 0 is none.
const spoolRow = 6*4 + 4*8

// newClass is the round of a row with the name of a class, which has less than mostClass
// bytes.
const (
	newClass  = math.MaxUint32
	mostClass = 1 << 16
)

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
	classes  map[string]uint32 // those with a row of their name
	err      error             // the first one
}

// newClients begins the values by client of a run, of which Metrics is used. A run without
// values leaves no file.
func (w *Writer) newClients(index int, run results.Run) (*ClientWriter, error) {
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
			of := r.Client(int(m.Clients[k]))
			c.row([6]uint32{uint32(r.Round), uint32(at), uint32(m.Clients[k]), c.class(of.Class), uint32(m.Rows[k]), uint32(of.Updates)},
				[4]float64{r.TimeS, m.Values[k], of.ComputeS, of.TransferS})
		}
	}
	return c.err
}

// row appends a row.
func (c *ClientWriter) row(counts [6]uint32, numbers [4]float64) {
	var row [spoolRow]byte
	for i, n := range counts {
		binary.LittleEndian.PutUint32(row[4*i:], n)
	}
	for i, x := range numbers {
		binary.LittleEndian.PutUint64(row[4*len(counts)+8*i:], math.Float64bits(x))
	}
	c.append(row[:])
}

func (c *ClientWriter) append(row []byte) {
	_, err := c.buffer.Write(row)
	c.size += int64(len(row))
	c.fail(err)
}

// class returns the number of a class, and appends the name of a new one.
func (c *ClientWriter) class(name string) uint32 {
	if name == "" || c.classes[name] > 0 {
		return c.classes[name]
	}
	if c.classes == nil {
		c.classes = map[string]uint32{}
	}
	n, text := uint32(len(c.classes)+1), name[:min(len(name), mostClass-1)]
	c.classes[name] = n
	c.row([6]uint32{newClass, n, uint32(len(text))}, [4]float64{})
	padded := make([]byte, (len(text)+spoolRow-1)/spoolRow*spoolRow)
	copy(padded, text)
	c.append(padded)
	return n
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

// copySpool writes the values by client of a run.
func (w *Writer) copySpool(to *parquetWriter, place int) error {
	return w.eachSpool(place, func(row *results.ClientRow) error {
		return clientsTable.write(to, row)
	})
}

// eachSpool reads the values by client of a run, after which it checks their checksum. The
// row is valid until the next.
func (w *Writer) eachSpool(place int, each func(*results.ClientRow) error) (err error) {
	path := w.spoolPath(w.index[place])
	f, err := input.OpenOwn(path, maxTable)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	sum := sha256.New()
	from := bufio.NewReaderSize(io.TeeReader(f, sum), 1<<16)
	var cells [spoolRow]byte
	count := func(i int) uint32 { return binary.LittleEndian.Uint32(cells[4*i:]) }
	number := func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(cells[24+8*i:])) }
	classes := map[uint32]string{}
	var row results.ClientRow
	for {
		if _, err := io.ReadFull(from, cells[:]); err == io.EOF {
			break
		} else if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if count(0) == newClass {
			name := make([]byte, (int(count(2)%mostClass)+spoolRow-1)/spoolRow*spoolRow)
			if _, err := io.ReadFull(from, name); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			classes[count(1)] = string(name[:count(2)%mostClass])
			continue
		}
		at := count(1)
		if int(at) >= len(w.runs[place].Metrics) {
			return fmt.Errorf("%s: is corrupt: run %q does not declare metric %d", path, w.runs[place].ID, at)
		}
		m := &w.runs[place].Metrics[at]
		row = results.ClientRow{
			Round: int(count(0)), Client: int(count(2)), Rows: int(count(4)), TimeS: number(0), Split: m.Split, Name: m.Name, Value: number(1),
			ClientFacts: results.ClientFacts{Class: classes[count(3)], Updates: int(count(5)), ComputeS: number(2), TransferS: number(3)},
		}
		if err := each(&row); err != nil {
			return err
		}
	}
	if string(sum.Sum(nil)) != w.spool[w.index[place]] {
		return refuse(path, "it is corrupt: its checksum does not match its content", runAgain)
	}
	return nil
}
