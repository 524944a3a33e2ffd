package traces

import (
	"errors"
	"fmt"
)

// ParseError is an error in a trace file.
type ParseError struct {
	File   string // the name given by the user
	Line   int    // from 1; 0 if the file has no lines
	Column int    // in bytes from 1; 0: the whole line
	Offset int64  // byte of the file from 0, if it has no lines; -1: unknown
	// Device is the device whose trace is invalid if the others can be read. It is empty
	// if the file is invalid.
	Device  string
	Problem string // problem and remedy; empty if Err has them
	Err     error  // the cause, or nil
}

// Error returns position and problem: `x.csv:3:18: value = 2: must be 0 (off) or 1
// (on)`, `x.pkl: offset 12: opcode GLOBAL ...`.
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

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }

// ofOneDevice reports whether an error is about one device, such that the others can be read.
func ofOneDevice(err error) bool {
	parse, ok := errors.AsType[*ParseError](err)
	return ok && parse.Device != ""
}

// ErrEmpty is the error for a sequence without devices.
var ErrEmpty = errors.New("no traces: must have at least one device")
