package rundir

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"os"
	"path/filepath"

	"fedsim/internal/tools/input"
	"fedsim/internal/tools/state"
	"fedsim/results"
)

// rowsDir holds a file with the rows of each run, a store, until the parquet files are made of
// them at the end of all runs. A resumed run continues its store.
//
// A store is a sequence of blocks: the first letter of the table's name, the length of the rest
// as a uvarint, the names of the columns as a text, and rows. A row has a value for each column, relative to the row before it in the
// block and to zeros in the first one: a whole number is the varint of the difference; a real
// number is the uvarint of the exclusive or of their bits, whose order is reversed; a text is 0
// if it is the same, else the uvarint of its length plus 1, and its bytes. The checksum of a
// store is in the log, or in the checkpoint of a run under way.
const rowsDir = "rows"

// mostBlock is the length of a block in bytes at which it is written.
const mostBlock = 1 << 16

// storedRows describes a complete store in the log.
type storedRows struct {
	SHA256  string `json:"sha256"`            // of the file, in hexadecimal digits
	Devices int64  `json:"devices,omitempty"` // rows by device
	Clients int64  `json:"clients,omitempty"` // values by client
}

// storePath returns the store of the run at a place, in a stage.
func storePath(stage string, place int) string {
	return filepath.Join(stage, rowsDir, fmt.Sprintf("%06d.rows", place))
}

// rowStore writes the rows of a run. Without rows there is no file. It is not safe for
// concurrent use.
type rowStore struct {
	path    string
	file    *os.File // nil before the first block
	size    int64    // of the blocks so far
	sum     hash.Hash
	devices rowBlock[results.DeviceRow]
	clients rowBlock[results.ClientRow]
	value   results.ClientRow // being written
	err     error             // the first one
}

func newRowStore(path string) *rowStore {
	return &rowStore{
		path: path, sum: sha256.New(),
		devices: rowBlock[results.DeviceRow]{table: &devicesTable}, clients: rowBlock[results.ClientRow]{table: &clientsTable},
	}
}

// rowBlock collects rows of a table until they are a block.
type rowBlock[R any] struct {
	table *rowTable[R]
	rows  []byte
	last  R     // zero before the first one
	count int64 // rows of the run so far
	round int   // of the last one
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
func (b *rowBlock[R]) add(row *R) {
	if len(b.rows) == 0 {
		b.rows = appendText(b.rows, b.table.names, "")
	}
	for i := range b.table.columns {
		field := b.table.columns[i].Field
		switch now := field(row).(type) {
		case *int:
			b.rows = binary.AppendVarint(b.rows, int64(*now-*field(&b.last).(*int)))
		case *int64:
			b.rows = binary.AppendVarint(b.rows, *now-*field(&b.last).(*int64))
		case *float64:
			b.rows = binary.AppendUvarint(b.rows, bits.ReverseBytes64(math.Float64bits(*now)^math.Float64bits(*field(&b.last).(*float64))))
		case *string:
			b.rows = appendText(b.rows, *now, *field(&b.last).(*string))
		case *results.Outcome:
			b.rows = appendText(b.rows, string(*now), string(*field(&b.last).(*results.Outcome)))
		}
	}
	b.last = *row
	b.count++
}

// appendText appends a text that follows another one.
func appendText(rows []byte, now, last string) []byte {
	if now == last {
		return append(rows, 0)
	}
	return append(binary.AppendUvarint(rows, uint64(len(now))+1), now...)
}

// take appends the head of the block to head, returns both, and begins the next block.
func (b *rowBlock[R]) take(head []byte) (header, rows []byte) {
	if rows = b.rows; len(rows) > 0 {
		head = binary.AppendUvarint(append(head, b.table.name[0]), uint64(len(rows)))
	}
	var zero R
	b.rows, b.last = b.rows[:0], zero
	return head, rows
}

// writeDevices writes the rows by device of a round.
func (s *rowStore) writeDevices(rows []results.DeviceRow) error {
	if len(rows) == 0 || !s.devices.begin(rows[0].Round) {
		return s.err
	}
	for i := range rows {
		if s.devices.add(&rows[i]); len(s.devices.rows) >= mostBlock {
			writeBlock(s, &s.devices)
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
			if s.clients.add(&s.value); len(s.clients.rows) >= mostBlock {
				writeBlock(s, &s.clients)
			}
		}
	}
	return s.err
}

// writeBlock writes the rows so far as a block.
func writeBlock[R any](s *rowStore, b *rowBlock[R]) {
	var room [1 + binary.MaxVarintLen64]byte
	head, rows := b.take(room[:0])
	if len(rows) > 0 && s.file == nil && s.err == nil {
		s.open()
	}
	for _, part := range [][]byte{head, rows} {
		if s.err == nil && len(part) > 0 {
			_, err := s.file.WriteAt(part, s.size)
			s.size += int64(len(part))
			s.sum.Write(part)
			s.fail(err)
		}
	}
}

// open opens the file and keeps the blocks so far.
func (s *rowStore) open() {
	err := os.MkdirAll(filepath.Dir(s.path), 0o777)
	if err == nil {
		s.file, err = os.OpenFile(s.path, os.O_WRONLY|os.O_CREATE, 0o666)
	}
	if err == nil {
		err = s.file.Truncate(s.size)
	}
	s.fail(err)
}

// sync makes the rows so far durable.
func (s *rowStore) sync() {
	writeBlock(s, &s.devices)
	writeBlock(s, &s.clients)
	if s.file != nil && s.err == nil {
		s.fail(s.file.Sync())
	}
}

// state codes how far the rows are, for a checkpoint of the run. Writing makes the rows so far
// durable; reading continues behind them, and must come before the first row.
func (s *rowStore) state(code *state.Coder) {
	if !code.Reads() {
		s.sync()
		code.Fail(s.err)
	}
	size, sum := int(s.size), string(s.sum.Sum(nil))
	devices, clients := int(s.devices.count), int(s.clients.count)
	for _, n := range []*int{&size, &devices, &s.devices.round, &clients, &s.clients.round} {
		code.Int(n)
	}
	code.String(&sum)
	if !code.Reads() || code.Err() != nil {
		return
	}
	s.size, s.devices.count, s.clients.count = int64(size), int64(devices), int64(clients)
	if err := s.restoreSum(); err != nil {
		code.Fail(err)
	} else if string(s.sum.Sum(nil)) != sum {
		code.Fail(fmt.Errorf("%s is corrupt", s.path))
	}
}

// restoreSum restores the checksum of the blocks so far from the file.
func (s *rowStore) restoreSum() error {
	if s.size == 0 {
		return nil
	}
	f, err := input.OpenOwn(s.path, maxTable)
	if err != nil {
		return err
	}
	_, err = io.CopyN(s.sum, f, s.size)
	return errors.Join(err, f.Close())
}

// close completes the file and describes it. It returns the first error.
func (s *rowStore) close() (storedRows, error) {
	if s.file == nil && s.size > 0 && s.err == nil { // a resumed run without further rows
		s.open()
	}
	if s.sync(); s.file != nil {
		s.fail(s.file.Close())
	} else if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) { // of an earlier attempt
		s.fail(err)
	}
	if s.err != nil || s.size == 0 {
		return storedRows{}, s.err
	}
	return storedRows{hex.EncodeToString(s.sum.Sum(nil)), s.devices.count, s.clients.count}, nil
}

// abandon closes the file of a run that will not end.
func (s *rowStore) abandon() {
	if s.file != nil {
		_ = s.file.Close()
	}
}

func (s *rowStore) fail(err error) {
	if err != nil && s.err == nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err
		}
		s.err = fmt.Errorf("write %s: %w", s.path, err)
	}
}
