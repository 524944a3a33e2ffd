// Package state writes what must be kept of a computation, and reads it back bit
// for bit. One method of the thing that is kept names its parts in order, for both
// ways; so what is written cannot differ from what is read.
//
// It must not know what the numbers mean, nor where they are kept.
package state

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Coder writes parts, which others may read meanwhile, or reads them back into place. After an error it does
// nothing; Err returns the first.
type Coder struct {
	w     io.Writer
	r     io.Reader
	err   error
	space [4096]byte
}

// Writing returns a coder that writes the parts it is given.
func Writing(w io.Writer) *Coder { return &Coder{w: w} }

// Reading returns a coder that sets the parts it is given to what was written.
func Reading(r io.Reader) *Coder { return &Coder{r: r} }

// Reads reports whether the coder reads: then what depends on the parts is to be
// made anew.
func (c *Coder) Reads() bool { return c.r != nil }

// Err returns the first error; io.ErrUnexpectedEOF when what was written ends too
// early.
func (c *Coder) Err() error { return c.err }

// Fail makes the coder fail, unless it has.
func (c *Coder) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// pass moves bytes from or to the coder's other end.
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

// Uint64 is a part of 64 bits.
func (c *Coder) Uint64(x *uint64) {
	b := c.space[:8]
	binary.LittleEndian.PutUint64(b, *x)
	c.pass(b)
	if c.Reads() && c.err == nil {
		*x = binary.LittleEndian.Uint64(b)
	}
}

// Int is a whole number.
func (c *Coder) Int(x *int) {
	bits := uint64(*x)
	if c.Uint64(&bits); c.Reads() {
		*x = int(bits)
	}
}

// Float64 is a number, bit for bit.
func (c *Coder) Float64(x *float64) {
	bits := math.Float64bits(*x)
	if c.Uint64(&bits); c.Reads() {
		*x = math.Float64frombits(bits)
	}
}

// Ints is a list whose length is known.
func (c *Coder) Ints(x []int) {
	c.length(len(x))
	for i := range x {
		c.Int(&x[i])
	}
}

// Float64s is a list of numbers whose length is known.
func (c *Coder) Float64s(x []float64) {
	c.length(len(x))
	for len(x) > 0 && c.err == nil {
		n := min(len(x), len(c.space)/8)
		b := c.space[:8*n]
		for i, v := range x[:n] {
			binary.LittleEndian.PutUint64(b[8*i:], math.Float64bits(v))
		}
		c.pass(b)
		if c.Reads() && c.err == nil {
			for i := range x[:n] {
				x[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
			}
		}
		x = x[n:]
	}
}

// Bool is yes or no.
func (c *Coder) Bool(x *bool) {
	one := []bool{*x}
	if c.Bools(one); c.Reads() {
		*x = one[0]
	}
}

// Bools is a list of yes and no whose length is known.
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
			c.Fail(fmt.Errorf("%d is neither yes nor no", b[0]))
		}
		if c.Reads() {
			x[i] = c.err == nil && b[0] == 1
		}
	}
}

// String is a text of any length. What is read is believed as far as it goes.
func (c *Coder) String(x *string) {
	text := []byte(*x)
	if c.Bytes(&text); c.Reads() && c.err == nil {
		*x = string(text)
	}
}

// Bytes is a list of bytes of any length. What is read is believed as far as it goes.
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

// Count is the length of a list that is named next, part by part.
func (c *Coder) Count(n int) int {
	c.Int(&n)
	if n < 0 {
		c.Fail(fmt.Errorf("a list of %d parts", n))
	}
	if c.err != nil {
		return 0
	}
	return n
}

// length writes the length of a part, or holds it against that which was written.
func (c *Coder) length(n int) {
	written := n
	if c.Int(&written); c.err == nil && written != n {
		c.Fail(fmt.Errorf("a part of %d values where %d are wanted", written, n))
	}
}
