// Package elements reads files of one array of numbers: the numbers of a type, in bounded pieces,
// as float64.
//
// It must not know the purpose of the numbers.
package elements

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"fedsim/internal/tools/input"
)

// Type is the type of the numbers of a binary file.
type Type struct {
	Kind  byte // 'u' unsigned, 'i' signed, 'f' float, 'b' truth value
	Size  int  // bytes of a number: 1, 2, 4 or 8; 4 or 8 of a float
	Order binary.ByteOrder
}

// decode converts the bytes of len(into) numbers.
func (ty Type) decode(b []byte, into []float64) {
	order := ty.Order
	switch {
	case ty.Size == 1 && ty.Kind == 'i':
		for i := range into {
			into[i] = float64(int8(b[i]))
		}
	case ty.Size == 1 && ty.Kind == 'b':
		for i := range into {
			into[i] = 0
			if b[i] != 0 {
				into[i] = 1
			}
		}
	case ty.Size == 1:
		for i := range into {
			into[i] = float64(b[i])
		}
	case ty.Size == 2 && ty.Kind == 'i':
		for i := range into {
			into[i] = float64(int16(order.Uint16(b[2*i:])))
		}
	case ty.Size == 2:
		for i := range into {
			into[i] = float64(order.Uint16(b[2*i:]))
		}
	case ty.Size == 4 && ty.Kind == 'i':
		for i := range into {
			into[i] = float64(int32(order.Uint32(b[4*i:])))
		}
	case ty.Size == 4 && ty.Kind == 'f':
		for i := range into {
			into[i] = float64(math.Float32frombits(order.Uint32(b[4*i:])))
		}
	case ty.Size == 4:
		for i := range into {
			into[i] = float64(order.Uint32(b[4*i:]))
		}
	case ty.Kind == 'i':
		for i := range into {
			into[i] = float64(int64(order.Uint64(b[8*i:])))
		}
	case ty.Kind == 'f':
		for i := range into {
			into[i] = math.Float64frombits(order.Uint64(b[8*i:]))
		}
	default:
		for i := range into {
			into[i] = float64(order.Uint64(b[8*i:]))
		}
	}
}

// Bad is a number in a binary file that cannot be used.
type Bad struct {
	At      int64 // its index in the array
	Problem string
}

func (b *Bad) Error() string { return b.Problem }

// File is an open file of one array of numbers.
type File struct {
	Name    string // for messages
	Closer  io.Closer
	In      *bufio.Reader // after the head, once it has been read
	Numbers Type
	Head    int64  // bytes of the head, if messages name bytes; 0: they name elements
	Made    string // what may be corrupt: "download" or "file"
	// Wrong makes the error of a problem in the file, with its cause or nil.
	Wrong func(problem string, err error) error
}

// Close closes the file, which was only read.
func (f *File) Close() { _ = f.Closer.Close() }

// Fail returns an error in the file.
func (f *File) Fail(format string, arguments ...any) error {
	return f.Wrong(fmt.Sprintf(format, arguments...), nil)
}

// Unreadable converts an error of reading.
func (f *File) Unreadable(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return f.Fail("is truncated")
	}
	return f.Wrong("cannot be read: the "+f.Made+" may be corrupt", err)
}

// Read reads all numbers, and checks that the file ends after them.
func (f *File) Read(use func(Type, io.Reader) error) error {
	err := use(f.Numbers, f.In)
	if bad, ok := errors.AsType[*Bad](err); ok {
		if f.Head > 0 {
			return f.Fail("byte %d: %s", f.Head+bad.At*int64(f.Numbers.Size), bad.Problem)
		}
		return f.Fail("element %d: %s", bad.At, bad.Problem)
	}
	if err != nil {
		return f.Unreadable(err)
	}
	switch _, err := f.In.ReadByte(); { // also checks the sum of a zip
	case err == nil:
		return f.Fail("has more bytes than its head says")
	case err != io.EOF:
		return f.Unreadable(err)
	}
	return nil
}

// each reads count numbers, and calls visit with some of them at a time: a whole number of
// times step, and the index of the first. The error is a *Bad or one of reading.
func (ty Type) each(in io.Reader, count, step int, visit func(at int, values []float64)) error {
	const some = 1 << 14
	length := min(count, max(1, some/max(1, step))*step)
	bytes, values := make([]byte, length*ty.Size), make([]float64, length)
	for at := 0; at < count; at += length {
		n := min(length, count-at)
		if _, err := io.ReadFull(in, bytes[:n*ty.Size]); err != nil {
			return err
		}
		ty.decode(bytes[:n*ty.Size], values[:n])
		if ty.Kind == 'f' {
			for i, v := range values[:n] {
				if input.RefuseNumber(v) != "" {
					return &Bad{int64(at + i), input.RefuseNumber(v)}
				}
			}
		}
		visit(at, values[:n])
	}
	return nil
}

// Rows reads the rows of a matrix, one after the other. row returns one of them.
func (ty Type) Rows(in io.Reader, rows, cols int, row func(i int) []float64) error {
	return ty.each(in, rows*cols, cols, func(at int, values []float64) {
		for i := at / cols; len(values) > 0; i++ {
			copy(row(i), values)
			values = values[cols:]
		}
	})
}

// Columns reads the columns of a matrix, one after the other. row returns a row.
func (ty Type) Columns(in io.Reader, rows, cols int, row func(i int) []float64) error {
	return ty.each(in, rows*cols, rows, func(at int, values []float64) {
		first := at / rows
		for i := range rows {
			into := row(i)[first:]
			for j, k := 0, i; k < len(values); j, k = j+1, k+rows {
				into[j] = values[k]
			}
		}
	})
}

// Vector reads numbers.
func (ty Type) Vector(in io.Reader, count int) ([]float64, error) {
	y := make([]float64, count)
	return y, ty.each(in, count, 1, func(at int, values []float64) { copy(y[at:], values) })
}

// Most limits the number of values of an array (8 GiB of float64).
const Most = 1 << 30

// SizeOf returns the number of values of an array. ok is false if a size is negative or the
// product is above Most.
func SizeOf(shape []int) (count int, ok bool) {
	count = 1
	for _, n := range shape {
		if n < 0 || n > Most || count > Most/max(1, n) {
			return 0, false
		}
		count *= n
	}
	return count, true
}
