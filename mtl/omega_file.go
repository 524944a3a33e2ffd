package mtl

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"

	"fedsim/data"
	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// omegaSymmetry is the largest difference between entry (s, t) and entry (t, s), relative to
// the largest entry. It allows for files with seven digits. Omega has the mean of both.
const omegaSymmetry = 1e-6

// The largest size of a file with Omega, and of one of its rows, in bytes.
const (
	maxOmegaFile = 1 << 36
	maxOmegaRow  = 1 << 26
)

// readOmega reads the known m x m matrix Omega from a csv file without a header. A malformed
// file is a *data.ParseError with line and column.
func readOmega(path string, m int) (*mat.SymDense, error) {
	file, err := input.OpenText(path, maxOmegaFile)
	if err != nil {
		return nil, fmt.Errorf("read omega: %w", err)
	}
	omega, err := parseOmega(file, path, m)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return omega, nil
}

// parseOmega reads Omega; name is the file in error messages.
func parseOmega(r io.Reader, name string, m int) (*mat.SymDense, error) {
	records := input.NewCSV(r, maxOmegaRow)
	records.FieldsPerRecord = -1 // checked below, for a better error message
	fault := func(line, column int, format string, args ...any) error {
		return &data.ParseError{File: name, Line: line, Column: column, Problem: fmt.Sprintf(format, args...)}
	}
	type place struct{ line, column int }
	values, places := mat.NewDense(m, m, nil), make([]place, m*m)
	rows, most := 0, 0.0
	for ; ; rows++ {
		record, err := records.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			if parse, ok := errors.AsType[*csv.ParseError](err); ok {
				return nil, &data.ParseError{File: name, Line: parse.Line, Column: parse.Column,
					Problem: "not comma-separated values", Err: parse.Err}
			}
			return nil, &data.ParseError{File: name, Problem: "cannot be read", Err: err}
		}
		line, _ := records.FieldPos(0)
		if rows == m {
			return nil, fault(line, 0, "omega has more than %d rows: it must have one for each task", m)
		}
		if len(record) != m {
			return nil, fault(line, 0, "the row has %d numbers: it must have one for each of the %d tasks",
				len(record), m)
		}
		for t, field := range record {
			line, column := records.FieldPos(t)
			x, err := input.Number(strings.TrimSpace(field))
			if err != nil || math.Abs(x) > 1e100 {
				return nil, fault(line, column, "%s must be a number of at most 1e100 in size",
					quote.Text(strings.TrimSpace(field)))
			}
			values.Set(rows, t, x)
			places[rows*m+t] = place{line, column}
			most = math.Max(most, math.Abs(x))
		}
	}
	if rows != m {
		return nil, fault(0, 0, "omega has %d rows: it must have one for each of the %d tasks", rows, m)
	}
	return symmetricOmega(values, most, func(row, column int, format string, args ...any) error {
		at := place{}
		if row >= 0 {
			at = places[row*m+column]
		}
		return fault(at.line, at.column, format, args...)
	})
}

// symmetricOmega returns the mean of both triangles. most is the largest size of an entry. fault
// returns an error at an entry, or of the whole file where the row is negative.
func symmetricOmega(values *mat.Dense, most float64,
	fault func(row, column int, format string, args ...any) error) (*mat.SymDense, error) {
	m, _ := values.Dims()
	omega := mat.NewSymDense(m, nil)
	for s := range m {
		for t := range s + 1 {
			x, y := values.At(s, t), values.At(t, s)
			if math.Abs(x-y) > omegaSymmetry*most {
				return nil, fault(s, t, "omega must be symmetric: this is %g, and %g in row %d, column %d", x, y,
					t+1, s+1)
			}
			omega.SetSym(t, s, (x+y)/2)
		}
	}
	// Zero eigenvalues have errors of the size of the file's precision.
	eigen, err := eigenvalues(omega)
	if err != nil {
		return nil, fault(-1, 0, "%v", err)
	}
	if eigen[0] < -omegaSymmetry*most {
		return nil, fault(-1, 0, "omega has the eigenvalue %.3g: it must be positive semidefinite", eigen[0])
	}
	return omega, nil
}
