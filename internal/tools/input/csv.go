package input

import (
	"encoding/csv"
	"io"
)

// CSV reads rows of a bounded size. Rows share memory: one is valid until the next.
type CSV struct {
	*csv.Reader
	records *Records
}

// NewCSV returns a reader of rows of at most the given size in bytes.
func NewCSV(r io.Reader, limit int64) *CSV {
	records := NewRecords(r, limit)
	c := &CSV{csv.NewReader(records), records}
	c.ReuseRecord = true
	return c
}

// Read returns the next row, io.EOF at the end.
func (c *CSV) Read() ([]string, error) {
	row, err := c.Reader.Read()
	c.records.Next()
	return row, err
}
