// Package state writes the state of a computation and reads it back bit for bit. A type
// has one method that passes its fields to a [Coder] in order; the coder writes them or
// reads them. So the two directions cannot differ.
//
// It must not know the meaning of the values, nor where they are stored.
package state

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Coder writes the values that it is given, or reads them back into place. After an
// error it does nothing; Err returns the first. When it writes, others may read the
// values at the same time.
type Coder struct {
	w     io.Writer
	r     io.Reader
	err   error
	space [4096]byte

	outside Outside // of Vector; nil: there is none
	long    []byte  // a vector
}

// Writing returns a coder that writes values.
func Writing(w io.Writer) *Coder { return &Coder{w: w} }

// Reading returns a coder that sets values to the ones written before.
func Reading(r io.Reader) *Coder { return &Coder{r: r} }

// Reads reports whether the coder reads: then the caller recomputes whatever depends on
// the values.
func (c *Coder) Reads() bool { return c.r != nil }

// Err returns the first error. It is io.ErrUnexpectedEOF where the input ends early.
func (c *Coder) Err() error { return c.err }

// Fail sets the error, unless there is one.
func (c *Coder) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// pass writes or reads bytes.
func (c *Coder) pass(b []byte) {
	if c.err != nil {
		return
	}
	if c.r == nil {
		_, c.err = c.w.Write(b)
		return
	}
	if _, c.err = io.ReadFull(c.r, b); c.err == io.EOF {
		c.err = io.ErrUnexpectedEOF
	}
}

// Uint64 codes 64 bits.
func (c *Coder) Uint64(x *uint64) {
	b := c.space[:8]
	binary.LittleEndian.PutUint64(b, *x)
	c.pass(b)
	if c.Reads() && c.err == nil {
		*x = binary.LittleEndian.Uint64(b)
	}
}

// Int codes an integer.
func (c *Coder) Int(x *int) {
	bits := uint64(*x)
	if c.Uint64(&bits); c.Reads() {
		*x = int(bits)
	}
}

// Float64 codes a number bit for bit.
func (c *Coder) Float64(x *float64) {
	bits := math.Float64bits(*x)
	if c.Uint64(&bits); c.Reads() {
		*x = math.Float64frombits(bits)
	}
}

// Ints codes a list whose length the reader knows.
func (c *Coder) Ints(x []int) {
	c.length(len(x))
	for i := range x {
		c.Int(&x[i])
	}
}

// Float64s codes a list of numbers whose length the reader knows.
func (c *Coder) Float64s(x []float64) { numbers(c, x) }

// Float32s is Float64s for numbers in single precision.
func (c *Coder) Float32s(x []float32) { numbers(c, x) }

// codeOf returns how many bytes a number has, and how it is written and read.
func codeOf[T float32 | float64]() (size int, put func([]byte, T), get func([]byte) T) {
	if _, single := any(T(0)).(float32); single {
		return 4, func(b []byte, x T) { binary.LittleEndian.PutUint32(b, math.Float32bits(float32(x))) },
			func(b []byte) T { return T(math.Float32frombits(binary.LittleEndian.Uint32(b))) }
	}
	return 8, func(b []byte, x T) { binary.LittleEndian.PutUint64(b, math.Float64bits(float64(x))) },
		func(b []byte) T { return T(math.Float64frombits(binary.LittleEndian.Uint64(b))) }
}

// numbers codes a list of numbers.
func numbers[T float32 | float64](c *Coder, x []T) {
	size, put, get := codeOf[T]()
	c.length(len(x))
	for len(x) > 0 && c.err == nil {
		n := min(len(x), len(c.space)/size)
		b := c.space[:size*n]
		for i, v := range x[:n] {
			put(b[size*i:], v)
		}
		c.pass(b)
		if c.Reads() && c.err == nil {
			for i := range x[:n] {
				x[i] = get(b[size*i:])
			}
		}
		x = x[n:]
	}
}

// Bool codes a bool.
func (c *Coder) Bool(x *bool) {
	one := []bool{*x}
	if c.Bools(one); c.Reads() {
		*x = one[0]
	}
}

// Bools codes a list of bools whose length the reader knows.
func (c *Coder) Bools(x []bool) {
	c.length(len(x))
	for i := range x {
		b := c.space[:1]
		b[0] = 0
		if x[i] {
			b[0] = 1
		}
		c.pass(b)
		if c.err == nil && b[0] > 1 {
			c.Fail(fmt.Errorf("%d is neither 0 nor 1", b[0]))
		}
		if c.Reads() {
			x[i] = c.err == nil && b[0] == 1
		}
	}
}

// String codes a text of any length. Reading allocates only for bytes that are there.
func (c *Coder) String(x *string) {
	text := []byte(*x)
	if c.Bytes(&text); c.Reads() && c.err == nil {
		*x = string(text)
	}
}

// Bytes codes bytes of any length. Reading allocates only for bytes that are there.
func (c *Coder) Bytes(x *[]byte) {
	n := len(*x)
	if c.Int(&n); !c.Reads() {
		c.pass(*x)
		return
	}
	var read []byte
	for i := 0; i < n && c.err == nil; i += len(c.space) {
		piece := c.space[:min(n-i, len(c.space))]
		if c.pass(piece); c.err == nil {
			read = append(read, piece...)
		}
	}
	if c.err == nil {
		*x = read
	}
}

// Count codes the length of a list whose elements the caller codes next.
func (c *Coder) Count(n int) int {
	c.Int(&n)
	if n < 0 {
		c.Fail(fmt.Errorf("a list of %d elements", n))
	}
	if c.err != nil {
		return 0
	}
	return n
}

// length writes the length of a list, or compares it with the one written.
func (c *Coder) length(n int) {
	written := n
	if c.Int(&written); c.err == nil && written != n {
		c.Fail(fmt.Errorf("a list of %d values, must have %d", written, n))
	}
}
