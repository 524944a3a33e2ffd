package input

import "fmt"

// ParseError is an error in an input file. Line and Column count from 1, columns in
// bytes. Column is 0 for the whole line, Line is 0 for the whole file.
type ParseError struct {
	File    string // the name given by the user; for files in an archive, its name, a slash and the path
	Line    int
	Column  int
	Problem string // problem and remedy
	Err     error  // the cause, or nil
}

// Error returns position and problem: `har.zip/UCI HAR Dataset/train/X_train.txt:3:18:
// "nan" is not a finite number`.
func (e *ParseError) Error() string {
	where := e.File
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, e.Line)
		if e.Column > 0 {
			where = fmt.Sprintf("%s:%d", where, e.Column)
		}
	}
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", where, e.Problem, e.Err)
	}
	return where + ": " + e.Problem
}

// Unwrap returns the cause.
func (e *ParseError) Unwrap() error { return e.Err }
