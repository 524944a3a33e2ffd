package traces

import (
	"errors"
	"fmt"
)

// ParseError is an error in a trace file.
type ParseError struct {
	File    string // the name given by the user
	Line    int    // from 1; 0: the whole file
	Column  int    // in bytes from 1; 0: the whole line
	Problem string // problem and remedy
	Err     error  // the cause, or nil
}

// Error returns position and problem: `x.csv:3:18: value = 2: must be 0 (off) or 1
// (on)`.
func (e *ParseError) Error() string {
	text := e.File
	switch {
	case e.Line > 0 && e.Column > 0:
		text = fmt.Sprintf("%s:%d:%d", text, e.Line, e.Column)
	case e.Line > 0:
		text = fmt.Sprintf("%s:%d", text, e.Line)
	}
	text += ": " + e.Problem
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// ErrEmpty is the error for a sequence without devices.
var ErrEmpty = errors.New("no traces: must have at least one device")
