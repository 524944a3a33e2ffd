package data

import "fmt"

// ParseError is a fault in an input file. Line and Column count from 1, columns
// in bytes; Column is 0 when the whole line is at fault, Line is 0 when the
// whole file is.
type ParseError struct {
	File    string // as the user named it; files in an archive follow its name and a slash
	Line    int
	Column  int
	Problem string // what is wrong and what would be right
	Err     error  // what lies beneath, or nil
}

// Error says where and what: `har.zip/UCI HAR Dataset/train/X_train.txt:3:18: "nan" is not a finite number`.
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

// Unwrap returns the error beneath.
func (e *ParseError) Unwrap() error { return e.Err }
