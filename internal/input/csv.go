package input

import (
	"bufio"
	"encoding/csv"
	"io"
)

// CSV reads rows of a bounded size. It skips a byte-order mark, which spreadsheets
// write, at the beginning. Rows share memory: one is valid until the next.
type CSV struct {
	*csv.Reader
	records *Records
}

// NewCSV returns a reader of rows of at most the given size in bytes.
func NewCSV(r io.Reader, limit int64) *CSV {
	records := NewRecords(r, limit)
	buffered := bufio.NewReader(records)
	if mark, _ := buffered.Peek(3); string(mark) == "\ufeff" {
		_, _ = buffered.Discard(len(mark))
	}
	c := &CSV{csv.NewReader(buffered), records}
	c.ReuseRecord = true
	return c
}

// Read returns the next row, io.EOF at the end.
func (c *CSV) Read() ([]string, error) {
	row, err := c.Reader.Read()
	c.records.Next()
	return row, err
}
