package data

import (
	"fmt"

	"fedsim/internal/tools/input"
)

// ParseError is an error in an input file, with line and column.
type ParseError = input.ParseError

func inFile(file, format string, arguments ...any) error {
	return atLine(file, 0, format, arguments...)
}

func atLine(file string, line int, format string, arguments ...any) error {
	return &ParseError{File: file, Line: line, Problem: fmt.Sprintf(format, arguments...)}
}

// wrongIn returns a function that makes errors in a file, with their cause or nil.
func wrongIn(file string) func(problem string, err error) error {
	return func(problem string, err error) error { return &ParseError{File: file, Problem: problem, Err: err} }
}
