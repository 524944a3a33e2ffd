package rundir

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	"fedsim/internal/input"
	"fedsim/results"
)

// store is the complete store of a run.
type store struct {
	run  *results.Run
	path string
	rows storedRows
}

// ownStores returns the stores of the runs that have one, in their order.
func (w *Writer) ownStores() (stores []store) {
	for i, place := range w.index {
		if rows, ok := w.stores[place]; ok {
			stores = append(stores, store{&w.runs[i], storePath(w.stage(), place), rows})
		}
	}
	return stores
}

// stores returns the stores of the runs of the log of a stage that have ended, in their order.
func (p *progress) stores(stage string) (stores []store) {
	for _, place := range p.places() {
		if run := p.runs[place]; run.rows.SHA256 != "" {
			stores = append(stores, store{&run.Run, storePath(stage, place), run.rows})
		}
	}
	return stores
}

// errStore is the error of a store that is cut off or has something else.
var errStore = errors.New("is corrupt")

// eachStored reads the rows of a table in a store, after which it checks the checksum. The row is
// valid until the next.
func (t *rowTable[R]) eachStored(s *store, each func(*R) error) (err error) {
	f, err := input.OpenOwn(s.path, maxTable)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var (
		sum   = sha256.New()
		from  = bufio.NewReaderSize(io.TeeReader(f, sum), mostBlock)
		texts = map[string]string{}
		block []byte
	)
	for {
		name, err := from.ReadByte()
		if err == io.EOF {
			break
		}
		if err == nil {
			block, err = readBlock(from, block)
		}
		if err == nil && name == t.name[0] {
			err = t.eachOf(block, texts, each)
		}
		if errors.Is(err, errStore) {
			return fmt.Errorf("%s: %w", s.path, err)
		}
		if err != nil {
			return err
		}
	}
	if hex.EncodeToString(sum.Sum(nil)) != s.rows.SHA256 {
		return fmt.Errorf("%s: %w: its checksum does not match its content", s.path, errStore)
	}
	return nil
}

// readBlock reads the rows of a block into the memory of an earlier one.
func readBlock(from *bufio.Reader, block []byte) ([]byte, error) {
	size, err := binary.ReadUvarint(from)
	if err != nil || size > mostBlock+maxTableRow {
		return nil, errStore
	}
	block = slices.Grow(block[:0], int(size))[:size]
	if _, err := io.ReadFull(from, block); err != nil {
		return nil, errStore
	}
	return block, nil
}

// eachOf reads the rows of a block; texts are those that it has in common with others.
func (t *rowTable[R]) eachOf(rows []byte, texts map[string]string, each func(*R) error) error {
	var row R
	for len(rows) > 0 {
		for i := range t.columns {
			c := &t.columns[i]
			v := c.Get(&row)
			n := 0
			switch v.Type() {
			case results.WholeType:
				var more int64
				more, n = binary.Varint(rows)
				v = results.Whole(v.Whole() + more)
			case results.RealType:
				var differ uint64
				differ, n = binary.Uvarint(rows)
				v = results.Real(math.Float64frombits(bits.ReverseBytes64(differ) ^ math.Float64bits(v.Real())))
			default:
				var size uint64
				if size, n = binary.Uvarint(rows); n > 0 && size > 0 {
					if size > uint64(len(rows)-n)+1 {
						return errStore
					}
					bytes := rows[n : n+int(size)-1]
					text, ok := texts[string(bytes)]
					if !ok {
						text = string(bytes)
						texts[text] = text
					}
					v, n = results.Text(text), n+len(bytes)
				}
			}
			if n <= 0 {
				return errStore
			}
			if err := c.Check(v); err != nil {
				return fmt.Errorf("%w: %s = %q: %w", errStore, c.Name, formatValue(v, c.Unit), err)
			}
			c.Set(&row, v)
			rows = rows[n:]
		}
		if err := each(&row); err != nil {
			return err
		}
	}
	return nil
}
