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
	return readMatrix(path, "omega", func(file io.Reader) (*mat.SymDense, error) { return parseOmega(file, path, m) })
}

// ReadSymmetric reads a symmetric m x m matrix from a csv file without a header. what is its name in errors, which are
// *data.ParseError with line and column for a malformed file.
func ReadSymmetric(path, what string, m int) (*mat.SymDense, error) {
	return readMatrix(path, what, func(file io.Reader) (*mat.SymDense, error) {
		matrix, _, _, err := parseSymmetric(file, path, what, m)
		return matrix, err
	})
}

func readMatrix(path, what string, parse func(io.Reader) (*mat.SymDense, error)) (*mat.SymDense, error) {
	file, err := input.OpenText(path, maxOmegaFile)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	matrix, err := parse(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return matrix, nil
}

// parseOmega reads Omega; name is the file in error messages.
func parseOmega(r io.Reader, name string, m int) (*mat.SymDense, error) {
	omega, most, fault, err := parseSymmetric(r, name, "omega", m)
	if err != nil {
		return nil, err
	}
	// Zero eigenvalues have errors of the size of the file's precision.
	eigen, err := eigenvalues(omega)
	if err != nil {
		return nil, fault(0, 0, "%v", err)
	}
	if eigen[0] < -omegaSymmetry*most {
		return nil, fault(0, 0, "omega has the eigenvalue %.3g: it must be positive semidefinite", eigen[0])
	}
	return omega, nil
}

// parseSymmetric reads a symmetric matrix, of which most is the largest size of an entry. fault returns an error at a
// place of the file.
func parseSymmetric(r io.Reader, name, what string, m int) (matrix *mat.SymDense, most float64,
	fault func(line, column int, format string, args ...any) error, err error) {
	records := input.NewCSV(r, maxOmegaRow)
	records.FieldsPerRecord = -1 // checked below, for a better error message
	fault = func(line, column int, format string, args ...any) error {
		return &data.ParseError{File: name, Line: line, Column: column, Problem: fmt.Sprintf(format, args...)}
	}
	type place struct{ line, column int }
	values, places := mat.NewDense(m, m, nil), make([]place, m*m)
	rows := 0
	for ; ; rows++ {
		record, err := records.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			if parse, ok := errors.AsType[*csv.ParseError](err); ok {
				return nil, 0, nil, &data.ParseError{File: name, Line: parse.Line, Column: parse.Column,
					Problem: "not comma-separated values", Err: parse.Err}
			}
			return nil, 0, nil, &data.ParseError{File: name, Problem: "cannot be read", Err: err}
		}
		line, _ := records.FieldPos(0)
		if rows == m {
			return nil, 0, nil, fault(line, 0, "%s has more than %d rows: it must have one for each task", what, m)
		}
		if len(record) != m {
			return nil, 0, nil, fault(line, 0, "the row has %d numbers: it must have one for each of the %d tasks",
				len(record), m)
		}
		for t, field := range record {
			line, column := records.FieldPos(t)
			x, err := input.Number(strings.TrimSpace(field))
			if err != nil || math.Abs(x) > 1e100 {
				return nil, 0, nil, fault(line, column, "%s must be a number of at most 1e100 in size",
					quote.Text(strings.TrimSpace(field)))
			}
			values.Set(rows, t, x)
			places[rows*m+t] = place{line, column}
			most = math.Max(most, math.Abs(x))
		}
	}
	if rows != m {
		return nil, 0, nil, fault(0, 0, "%s has %d rows: it must have one for each of the %d tasks", what, rows, m)
	}
	matrix = mat.NewSymDense(m, nil) // the mean of both triangles
	for s := range m {
		for t := range s + 1 {
			x, y := values.At(s, t), values.At(t, s)
			if at := places[s*m+t]; math.Abs(x-y) > omegaSymmetry*most {
				return nil, 0, nil, fault(at.line, at.column,
					"%s must be symmetric: this is %g, and %g in row %d, column %d", what, x, y, t+1, s+1)
			}
			matrix.SetSym(t, s, (x+y)/2)
		}
	}
	return matrix, most, fault, nil
}
