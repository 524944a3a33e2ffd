package traces

import (
	"errors"
	"fmt"
)

// ParseError is a fault in a trace file.
type ParseError struct {
	File   string // as the user named it
	Line   int    // from 1; 0 where lines do not count
	Column int    // in bytes from 1; 0 when the whole line is at fault
	Offset int64  // byte of the file from 0, of a file without lines; -1 when unknown
	// Device is the one device whose trace is at fault while the others can be
	// read; empty when the file is.
	Device  string
	Problem string // what is wrong and what would be right; empty when Err says it
	Err     error  // what lies beneath, or nil
}

// Error says where and what: `x.csv:3:18: value = 2: must be 0 (off) or 1 (on)`,
// `x.pkl: offset 12: opcode GLOBAL ...`.
func (e *ParseError) Error() string {
	text := e.File
	switch {
	case e.Line > 0 && e.Column > 0:
		text = fmt.Sprintf("%s:%d:%d", text, e.Line, e.Column)
	case e.Line > 0:
		text = fmt.Sprintf("%s:%d", text, e.Line)
	case e.Offset >= 0:
		text = fmt.Sprintf("%s: offset %d", text, e.Offset)
	}
	if e.Device != "" {
		text += fmt.Sprintf(": device %q", e.Device)
	}
	if e.Problem != "" {
		text += ": " + e.Problem
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the error beneath.
func (e *ParseError) Unwrap() error { return e.Err }

// ErrEmpty is what a sequence without a device is refused with.
var ErrEmpty = errors.New("there is no trace: must have at least one device")
