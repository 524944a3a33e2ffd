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

	"fedsim/internal/tools/input"
	"fedsim/results"
)

// store is the complete store of a run.
type store struct {
	run  *results.Run
	path string
	rows storedRows
}

// stores returns the stores of the runs that have ended.
func (w *Writer) stores() []store { return storesOf(w.stage(), w.ended.list) }

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
	var names string
	n := readText(rows, texts, &names)
	columns, err := results.ColumnsNamed(t.columns, names, &row)
	if n <= 0 || err != nil {
		return errStore
	}
	fields := fieldsOf(columns, &row)
	for rows = rows[n:]; len(rows) > 0; {
		for i, field := range fields {
			n := 0
			switch field := field.(type) {
			case *int:
				var more int64
				more, n = binary.Varint(rows)
				*field += int(more)
			case *int64:
				var more int64
				more, n = binary.Varint(rows)
				*field += more
			case *float64:
				var differ uint64
				differ, n = binary.Uvarint(rows)
				*field = math.Float64frombits(math.Float64bits(*field) ^ bits.ReverseBytes64(differ))
			case *string:
				n = readText(rows, texts, field)
			case *results.Outcome:
				text := string(*field)
				if n = readText(rows, texts, &text); n > 0 && !slices.Contains(columns[i].Values, text) {
					return fmt.Errorf("%w: %s = %q", errStore, columns[i].Name, text)
				}
				*field = results.Outcome(text)
			}
			if n <= 0 {
				return errStore
			}
			rows = rows[n:]
		}
		if err := each(&row); err != nil {
			return err
		}
	}
	return nil
}

// readText reads a text that follows the one in to, and returns its length in the block; 0: there
// is none.
func readText(rows []byte, texts map[string]string, to *string) int {
	size, n := binary.Uvarint(rows)
	if n <= 0 || size == 0 {
		return max(n, 0)
	}
	if size-1 > uint64(len(rows)-n) {
		return 0
	}
	bytes := rows[n : n+int(size)-1]
	text, ok := texts[string(bytes)]
	if !ok {
		text = string(bytes)
		texts[text] = text
	}
	*to = text
	return n + len(bytes)
}
