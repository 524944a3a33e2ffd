package input

import (
	"fmt"
	"io"
)

// Records is a reader of which at most so many bytes are read between two calls of
// Next: a parser of records that calls it after each of them cannot be made to
// collect a record without end.
type Records struct {
	in         io.Reader
	most, left int64
}

// NewRecords returns a reader of r for records of at most so many bytes, and the
// buffer of who reads them.
func NewRecords(r io.Reader, most int64) *Records { return &Records{in: r, most: most, left: most} }

// Next says that a record was complete.
func (r *Records) Next() { r.left = r.most }

// Read reads from the input, and fails where a record is too long.
func (r *Records) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("a row has more than %s", bytes(r.most))
	}
	n, err := r.in.Read(b[:min(int64(len(b)), r.left)])
	r.left -= int64(n)
	return n, err
}
