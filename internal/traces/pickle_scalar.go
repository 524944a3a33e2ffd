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
		b, err := p.byte()
		return value{whole, uint64(b)}, err
	case opLong1:
		n, err := p.byte()
		if err != nil {
			return value{}, err
		}
		return p.long(uint32(n))
	}
	size := 4
	switch op {
	case opBinInt2:
		size = 2
	case opBinFloat:
		size = 8
	}
	b, err := p.bytes(size)
	if err != nil {
		return value{}, err
	}
	switch op {
	case opBinInt:
		return value{whole, uint64(int64(int32(binary.LittleEndian.Uint32(b))))}, nil
	case opBinInt2:
		return value{whole, uint64(binary.LittleEndian.Uint16(b))}, nil
	case opLong4:
		return p.long(binary.LittleEndian.Uint32(b))
	default:
		return value{real, binary.BigEndian.Uint64(b)}, nil
	}
}

var errWide = errors.New("an int has more than 64 bits")

// long reads a little-endian two's complement number of n bytes.
func (p *pickle) long(n uint32) (value, error) {
	if n > 8 {
		return value{}, errWide
	}
	b, err := p.bytes(int(n))
	if err != nil || n == 0 {
		return value{tag: whole}, err
	}
	var x uint64
	for i := range b {
		x |= uint64(b[i]) << (8 * i)
	}
	shift := 64 - 8*n
	return value{whole, uint64(int64(x<<shift) >> shift)}, nil
}

// readText reads the argument of an opcode for a text, which must be UTF-8.
func (p *pickle) readText(op byte) (string, error) {
	var size int
	switch op {
	case opShortBinString, opShortBinUnicode:
		size = 1
	case opBinString, opBinUnicode:
		size = 4
	default:
		size = 8
	}
	var wide [8]byte
	b, err := p.bytes(size)
	if err != nil {
		return "", err
	}
	copy(wide[:], b)
	n := binary.LittleEndian.Uint64(wide[:])
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
