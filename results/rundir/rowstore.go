package rundir

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"fedsim/internal/tools/state"
	"fedsim/results"
)

// rowStore writes the rows of a run into the log, until the parquet files are made of them at the end of all runs.
// A resumed run continues them. A block has the names of the columns as a text, and records. It is not safe for
// concurrent use.
type rowStore struct {
	log     *runLog
	place   int
	blocks  int // so far
	devices rowBlock[results.DeviceRow]
	clients rowBlock[results.ClientRow]
	value   results.ClientRow // being written
	err     error             // the first one
}

// storedRows are the rows of a run in the log.
type storedRows struct {
	Blocks  int   `json:"blocks"`
	Devices int64 `json:"devices,omitempty"` // rows by device
	Clients int64 `json:"clients,omitempty"` // values by client
}

// rowBlock collects rows of a table until they are a block.
type rowBlock[R any] struct {
	table *rowTable[R]
	rows  []byte
	last  R
	count int64 // rows of the run so far
	round int   // of the last one
}

func newRowStore(log *runLog, place int) *rowStore {
	return &rowStore{
		log: log, place: place,
		devices: rowBlock[results.DeviceRow]{table: &devicesTable},
		clients: rowBlock[results.ClientRow]{table: &valuesTable},
	}
}

// begin begins the rows of a round. It returns false for a round that a resumed run replays,
// whose rows are there.
func (b *rowBlock[R]) begin(round int) bool {
	if b.count > 0 && round <= b.round {
		return false
	}
	b.round = round
	return true
}

// add adds a row.
func (b *rowBlock[R]) add(s *rowStore, row *R) {
	before := &b.last
	if len(b.rows) == 0 {
		b.rows, before = appendText(b.rows, b.table.names, ""), nil
	}
	b.rows = appendRecord(b.rows, b.table.columns, row, before)
	b.last = *row
	b.count++
	if len(b.rows) >= mostBlock {
		b.write(s)
	}
}

// write writes the rows so far as a block.
func (b *rowBlock[R]) write(s *rowStore) {
	if len(b.rows) == 0 || s.err != nil {
		return
	}
	s.err = s.log.record(func() { s.log.add(b.table.kind(), s.place, s.blocks, b.rows) })
	s.blocks++
	b.rows = b.rows[:0]
}

// writeDevices writes the rows by device of a round.
func (s *rowStore) writeDevices(rows []results.DeviceRow) error {
	if len(rows) > 0 && s.devices.begin(rows[0].Round) {
		for i := range rows {
			s.devices.add(s, &rows[i])
		}
	}
	return s.err
}

// writeClients writes the values by client of a round.
func (s *rowStore) writeClients(r *results.Round) error {
	if len(r.ClientMetrics) == 0 || !s.clients.begin(r.Round) {
		return s.err
	}
	for i := range r.ClientMetrics {
		m := &r.ClientMetrics[i]
		for k, client := range m.Clients {
			s.value = results.ClientRow{
				Round: r.Round, TimeS: r.TimeS, Client: int(client), ClientFacts: r.Client(int(client)),
				Rows: int(m.Rows[k]), Split: m.Split, Name: m.Name, Value: m.Values[k],
			}
			s.clients.add(s, &s.value)
		}
	}
	return s.err
}

// state codes how far the rows are, for a state in the same log. Reading continues behind them, and must
// come before the first row.
func (s *rowStore) state(code *state.Coder) {
	if !code.Reads() {
		s.devices.write(s)
		s.clients.write(s)
		code.Fail(s.err)
	}
	devices, clients := int(s.devices.count), int(s.clients.count)
	for _, n := range []*int{&s.blocks, &devices, &s.devices.round, &clients, &s.clients.round} {
		code.Int(n)
	}
	if code.Reads() && code.Err() == nil && (s.blocks < 0 || s.blocks > len(s.log.rows[s.place])) {
		code.Fail(lackRows(s.place, s.blocks, len(s.log.rows[s.place])))
	}
	s.devices.count, s.clients.count = int64(devices), int64(clients)
}

// close completes the rows and describes them. It returns the first error.
func (s *rowStore) close() (storedRows, error) {
	s.devices.write(s)
	s.clients.write(s)
	return storedRows{s.blocks, s.devices.count, s.clients.count}, s.err
}

// store has the rows of a run that has ended.
type store struct {
	run    *results.Run
	rows   storedRows
	blocks []block
	log    *os.File
}

// withStores opens the rows of runs in the log of a stage for a function; nil: those of the runs that have ended.
func withStores(stage string, runs []*endedRun, use func([]store) error) error {
	return withBlocks(filepath.Join(stage, logFile), func(f *os.File, r *blockReader) error {
		p := &progress{rows: rowIndex{}}
		var err error
		if runs == nil {
			if p, err = parseProgress(r); err != nil {
				return inLog(f.Name(), err)
			}
			runs = p.inOrder()
		}
		for err == nil {
			var b block
			if b, _, err = r.next(); err == nil && b.isRows() {
				err = p.rows.add(b)
			}
		}
		if err != io.EOF {
			return inLog(f.Name(), err)
		}
		var stores []store
		for _, run := range runs {
			if n := run.rows.Blocks; n > len(p.rows[run.place]) {
				return fmt.Errorf("%s: %w", f.Name(), lackRows(run.place, n, len(p.rows[run.place])))
			} else if n > 0 {
				stores = append(stores, store{&run.Run, run.rows, p.rows[run.place][:n], f})
			}
		}
		return use(stores)
	})
}

// lackRows is the error of a run without all blocks of its rows.
func lackRows(place, want, has int) error {
	return fmt.Errorf("run %d must have %d blocks of rows, and has %d", place, want, has)
}

// eachStored reads the rows of a table in a store. The row is valid until the next.
func (t *rowTable[R]) eachStored(s *store, each func(*R) error) error {
	if t.rows != nil {
		return t.rows(s.run, each)
	}
	texts := map[string]string{}
	from := blockReader{in: s.log, size: math.MaxInt64}
	for _, b := range s.blocks {
		if b.kind != t.kind() {
			continue
		}
		content, err := from.contentOf(b)
		if err == nil {
			err = t.eachOf(&records{content, texts}, each)
		}
		if errors.Is(err, errRecord) || errors.As(err, new(errBlock)) {
			return fmt.Errorf("%s: block at byte %d: %w", s.log.Name(), b.at-headerSize, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// eachOf reads the rows of a block.
func (t *rowTable[R]) eachOf(from *records, each func(*R) error) error {
	var row R
	var names string
	n := from.text(&names)
	columns, err := results.ColumnsNamed(t.columns, names, &row)
	if n <= 0 || err != nil {
		return errRecord
	}
	from.left = from.left[n:]
	for first := true; len(from.left) > 0; first = false {
		if err := readRecord(from, columns, &row, first); err != nil {
			return fmt.Errorf("%w: %w", errRecord, err)
		}
		if err := each(&row); err != nil {
			return err
		}
	}
	return nil
}
