package input

import (
	"fmt"
	"io"
)

// Records limits the bytes that a parser reads between two calls of Next. A parser that
// calls Next after each record cannot be made to buffer a record without end.
type Records struct {
	in         io.Reader
	most, left int64
}

// NewRecords returns a reader of r. The limit includes the buffer of the parser.
func NewRecords(r io.Reader, limit int64) *Records { return &Records{in: r, most: limit, left: limit} }

// Next starts a new record.
func (r *Records) Next() { r.left = r.most }

// Read reads from the input, and fails where a record exceeds the limit.
func (r *Records) Read(b []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("a row has more than %s", sizeText(r.most))
	}
	n, err := r.in.Read(b[:min(int64(len(b)), r.left)])
	r.left -= int64(n)
	return n, err
}
