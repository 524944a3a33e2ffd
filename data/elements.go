package data

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strconv"
)

// elements is the type of the numbers of a binary file.
type elements struct {
	kind  byte // 'u' unsigned, 'i' signed, 'f' float, 'b' truth value
	size  int  // bytes of a number: 1, 2, 4 or 8; 4 or 8 of a float
	order binary.ByteOrder
}

// decode converts the bytes of len(into) numbers.
func (e elements) decode(b []byte, into []float64) {
	order := e.order
	switch {
	case e.size == 1 && e.kind == 'i':
		for i := range into {
			into[i] = float64(int8(b[i]))
		}
	case e.size == 1 && e.kind == 'b':
		for i := range into {
			into[i] = 0
			if b[i] != 0 {
				into[i] = 1
			}
		}
	case e.size == 1:
		for i := range into {
			into[i] = float64(b[i])
		}
	case e.size == 2 && e.kind == 'i':
		for i := range into {
			into[i] = float64(int16(order.Uint16(b[2*i:])))
		}
	case e.size == 2:
		for i := range into {
			into[i] = float64(order.Uint16(b[2*i:]))
		}
	case e.size == 4 && e.kind == 'i':
		for i := range into {
			into[i] = float64(int32(order.Uint32(b[4*i:])))
		}
	case e.size == 4 && e.kind == 'f':
		for i := range into {
			into[i] = float64(math.Float32frombits(order.Uint32(b[4*i:])))
		}
	case e.size == 4:
		for i := range into {
			into[i] = float64(order.Uint32(b[4*i:]))
		}
	case e.kind == 'i':
		for i := range into {
			into[i] = float64(int64(order.Uint64(b[8*i:])))
		}
	case e.kind == 'f':
		for i := range into {
			into[i] = math.Float64frombits(order.Uint64(b[8*i:]))
		}
	default:
		for i := range into {
			into[i] = float64(order.Uint64(b[8*i:]))
		}
	}
}

// badElement is a number in a binary file that cannot be used.
type badElement struct {
	at      int64 // its index in the array
	problem string
}

func (b *badElement) Error() string { return b.problem }

// numbersFile is an open file of one array of numbers.
type numbersFile struct {
	name     string // for messages
	file     io.Closer
	in       *bufio.Reader // after the head, once it has been read
	elements elements
	head     int64  // bytes of the head, if messages name bytes; 0: they name elements
	made     string // what may be corrupt: "download" or "file"
}

func (f *numbersFile) close() { _ = f.file.Close() } // it was only read

func (f *numbersFile) fail(format string, arguments ...any) error {
	return inFile(f.name, format, arguments...)
}

// wrong returns an error in the file with its cause.
func (f *numbersFile) wrong(problem string, err error) error {
	return &ParseError{File: f.name, Problem: problem, Err: err}
}

// unreadable converts an error of reading.
func (f *numbersFile) unreadable(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return f.fail("is truncated")
	}
	return f.wrong("cannot be read: the "+f.made+" may be corrupt", err)
}

// read reads all numbers, and checks that the file ends after them.
func (f *numbersFile) read(use func(elements, io.Reader) error) error {
	err := use(f.elements, f.in)
	if bad, ok := errors.AsType[*badElement](err); ok {
		if f.head > 0 {
			return f.fail("byte %d: %s", f.head+bad.at*int64(f.elements.size), bad.problem)
		}
		return f.fail("element %d: %s", bad.at, bad.problem)
	}
	if err != nil {
		return f.unreadable(err)
	}
	switch _, err := f.in.ReadByte(); { // also checks the sum of a zip
	case err == nil:
		return f.fail("has more bytes than its head says")
	case err != io.EOF:
		return f.unreadable(err)
	}
	return nil
}

// each reads count numbers, and calls visit with some of them at a time: a whole number of
// times step, and the index of the first. The error is a *badElement or one of reading.
func (e elements) each(in io.Reader, count, step int, visit func(at int, values []float64)) error {
	const some = 1 << 14
	length := min(count, max(1, some/max(1, step))*step)
	bytes, values := make([]byte, length*e.size), make([]float64, length)
	for at := 0; at < count; at += length {
		n := min(length, count-at)
		if _, err := io.ReadFull(in, bytes[:n*e.size]); err != nil {
			return err
		}
		e.decode(bytes[:n*e.size], values[:n])
		if e.kind == 'f' {
			for i, v := range values[:n] {
				if !(math.Abs(v) <= maxMagnitude) {
					return &badElement{int64(at + i), RefuseNumber(v)}
				}
			}
		}
		visit(at, values[:n])
	}
	return nil
}

// rows reads the rows of a matrix, one after the other.
func (e elements) rows(in io.Reader, x *Matrix) error {
	return e.each(in, x.Rows*x.Cols, x.Cols, func(at int, values []float64) {
		for i := at / x.Cols; len(values) > 0; i++ {
			copy(x.Row(i), values)
			values = values[x.Cols:]
		}
	})
}

// columns reads the columns of a matrix, one after the other.
func (e elements) columns(in io.Reader, x *Matrix) error {
	return e.each(in, x.Rows*x.Cols, x.Rows, func(at int, values []float64) {
		first := at / x.Rows
		for i := range x.Rows {
			row := x.Row(i)[first:]
			for j, k := 0, i; k < len(values); j, k = j+1, k+x.Rows {
				row[j] = values[k]
			}
		}
	})
}

// vector reads numbers.
func (e elements) vector(in io.Reader, count int) ([]float64, error) {
	y := make([]float64, count)
	return y, e.each(in, count, 1, func(at int, values []float64) { copy(y[at:], values) })
}

// sizeOf returns the number of values of an array. ok is false if a size is negative or the
// product is above maxCells.
func sizeOf(shape []int) (count int, ok bool) {
	count = 1
	for _, n := range shape {
		if n < 0 || n > maxCells || count > maxCells/max(1, n) {
			return 0, false
		}
		count *= n
	}
	return count, true
}

// RefuseNumber returns why a number cannot be a feature or a target, or "".
func RefuseNumber(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return strconv.FormatFloat(v, 'g', -1, 64) + " is not a finite number"
	case math.Abs(v) > maxMagnitude:
		return strconv.FormatFloat(v, 'g', -1, 64) + " is too large, values must be at most 1e100 in size"
	}
	return ""
}
