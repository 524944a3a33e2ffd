// Package formats reads sets of data in the formats of others: the archive of UCI HAR, IDX of MNIST,
// LEAF, MATLAB 5, and LIBSVM. A program that imports it, as package scenario does, has their sources:
//
//	import _ "fedsim/data/formats"
//
// It must not know the purpose of the rows: package data splits and prepares them.
package formats

import (
	"fmt"

	"fedsim/data"
)

func init() {
	data.RegisterReader(data.SourceHAR, readHAR)
	data.RegisterReader(data.SourceIDX, readIDX)
	data.RegisterReader(data.SourceLEAF, readLEAF)
	data.RegisterReader(data.SourceMATLAB, readMATLAB)
	data.RegisterReader(data.SourceLIBSVM, readLIBSVM)
}

const (
	maxFile = 1 << 36 // bytes of a file
	maxRow  = 1 << 26 // bytes of a row of text
)

// inFile returns an error in a file.
func inFile(file, format string, arguments ...any) error {
	return atLine(file, 0, format, arguments...)
}

// atLine returns an error in a line of a file.
func atLine(file string, line int, format string, arguments ...any) error {
	return &data.ParseError{File: file, Line: line, Problem: fmt.Sprintf(format, arguments...)}
}
