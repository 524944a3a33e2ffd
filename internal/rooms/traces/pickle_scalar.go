package traces

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// readNumber reads the argument of an opcode for an int or a float.
func (p *pickle) readNumber(op byte) (value, error) {
	switch op {
	case opBinInt1:
		n, err := p.uint(1)
		return value{whole, n}, err
	case opBinInt2:
		n, err := p.uint(2)
		return value{whole, n}, err
	case opBinInt:
		n, err := p.uint(4)
		return value{whole, uint64(int64(int32(n)))}, err
	case opLong1:
		return p.long(1)
	case opLong4:
		return p.long(4)
	default:
		b, err := p.bytes(8)
		if err != nil {
			return value{}, err
		}
		return value{real, binary.BigEndian.Uint64(b)}, nil
	}
}

// uint reads a little-endian number of at most 8 bytes.
func (p *pickle) uint(size int) (x uint64, err error) {
	b, err := p.bytes(size)
	for i := range b {
		x |= uint64(b[i]) << (8 * i)
	}
	return x, err
}

var errWide = errors.New("an int has more than 64 bits")

// long reads a little-endian two's complement number after its number of bytes, which has a size.
func (p *pickle) long(size int) (value, error) {
	n, err := p.uint(size)
	if err != nil || n == 0 {
		return value{tag: whole}, err
	}
	if n > 8 {
		return value{}, errWide
	}
	x, err := p.uint(int(n))
	shift := 64 - 8*n
	return value{whole, uint64(int64(x<<shift) >> shift)}, err
}

// readText reads the argument of an opcode for a text, which must be UTF-8.
func (p *pickle) readText(op byte) (string, error) {
	size := 8
	switch op {
	case opShortBinString, opShortBinUnicode:
		size = 1
	case opBinString, opBinUnicode:
		size = 4
	}
	n, err := p.uint(size)
	if err != nil {
		return "", err
	}
	if n > maxPickleText {
		return "", fmt.Errorf("a text claims %d bytes: must have at most %d", n, maxPickleText)
	}
	s, err := p.chars(int(n))
	if err == nil && !utf8.ValidString(s) {
		err = errors.New("a text is not UTF-8")
	}
	return s, err
}

// chars reads n bytes. It allocates as they arrive, whatever length the input claims.
func (p *pickle) chars(n int) (string, error) {
	var s strings.Builder
	got, err := io.CopyN(&s, p.in, int64(n))
	p.offset += got
	if err != nil {
		return "", ended(err)
	}
	return s.String(), nil
}
