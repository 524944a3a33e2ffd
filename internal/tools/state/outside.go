package state

import (
	"errors"
	"fmt"
	"hash/crc32"
)

// Outside stores long lists of numbers beside a state, so that a state which is saved again writes
// those alone that have changed. Files are numbered from 1.
type Outside interface {
	// Current returns the file that Append writes to. Numbers in another one are written again.
	Current() int
	// Append writes bytes at the end of the file, and returns where they begin.
	Append(b []byte) (at int64, err error)
	// Refer notes that the state refers to so many bytes of the file.
	Refer(bytes int)
	// Read reads bytes of a file from a place on. Append goes on in this file.
	Read(file int, at int64, b []byte) error
}

// Place is where a list of numbers is outside of a state. The zero value is nowhere: the numbers
// have changed, or were never written.
type Place struct {
	file, at, sum int
}

// castagnoli is the polynomial of the checksums, for which processors have instructions.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// SetOutside makes the coder store vectors of Vector outside.
func (c *Coder) SetOutside(o Outside) { c.outside = o }

// HasOutside reports whether there is an outside.
func (c *Coder) HasOutside() bool { return c.outside != nil }

// Vector codes a list of numbers, whose length the reader knows, outside of the state. They are
// written unless they are at their place.
func Vector[T float32 | float64](c *Coder, x []T, p *Place) {
	if c.outside == nil {
		c.Fail(errors.New("there is no file of vectors"))
	}
	if c.err != nil {
		return
	}
	size, put, get := codeOf[T]()
	if c.Reads() {
		if c.place(p); c.err != nil {
			return
		}
		b := c.vector(size * len(x))
		if c.err = c.outside.Read(p.file, int64(p.at), b); c.err != nil {
			return
		}
		if sum := int(crc32.Checksum(b, castagnoli)); sum != p.sum {
			c.err = fmt.Errorf("a vector of %d values is corrupt: its checksum does not match its content", len(x))
		}
		for i := range x {
			x[i] = get(b[size*i:])
		}
		return
	}
	if p.file != c.outside.Current() {
		b := c.vector(size * len(x))
		for i, v := range x {
			put(b[size*i:], v)
		}
		at, err := c.outside.Append(b)
		if err != nil {
			c.err = err
			return
		}
		*p = Place{c.outside.Current(), int(at), int(crc32.Checksum(b, castagnoli))}
	}
	c.outside.Refer(size * len(x))
	c.place(p)
}

func (c *Coder) place(p *Place) {
	c.Int(&p.file)
	c.Int(&p.at)
	c.Int(&p.sum)
}

// vector returns space for so many bytes.
func (c *Coder) vector(bytes int) []byte {
	if len(c.long) < bytes {
		c.long = make([]byte, bytes)
	}
	return c.long[:bytes]
}
