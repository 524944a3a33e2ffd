package traces

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"fedsim/internal/quote"
)

// readNumber reads the argument of an opcode for an int or a float.
func (p *pickle) readNumber(op byte) (value, error) {
	switch op {
	case opInt, opLong, opFloat:
		line, err := p.textLine()
		if err != nil {
			return value{}, err
		}
		return parseNumber(op, line)
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

// parseNumber parses a line of protocol 0.
func parseNumber(op byte, line string) (value, error) {
	if op == opFloat {
		x, err := strconv.ParseFloat(line, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return value{}, fmt.Errorf("%q is no float", quote.Cut(line))
		}
		return value{real, math.Float64bits(x)}, nil
	}
	if op == opInt && (line == "00" || line == "01") {
		return value{boolean, uint64(line[1] - '0')}, nil
	}
	if op == opLong {
		line = strings.TrimSuffix(line, "L")
	}
	x, err := strconv.ParseInt(line, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return value{}, errWide
	}
	if err != nil {
		return value{}, fmt.Errorf("%q is no int", quote.Cut(line))
	}
	return value{whole, uint64(x)}, nil
}

// lineIndex reads a memo number in protocol 0.
func (p *pickle) lineIndex() (uint64, error) {
	line, err := p.textLine()
	if err != nil {
		return 0, err
	}
	index, err := strconv.ParseUint(line, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is not a memo number", quote.Cut(line))
	}
	return index, nil
}

// readText reads the argument of an opcode for a text, which must be UTF-8.
func (p *pickle) readText(op byte) (string, error) {
	var size int
	switch op {
	case opString, opUnicode:
		line, err := p.textLine()
		if err != nil {
			return "", err
		}
		if op == opUnicode {
			return unescapeUnicode(line)
		}
		return unquote(line)
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

// textLine reads up to the next line feed and drops it.
func (p *pickle) textLine() (string, error) {
	var line []byte
	for {
		part, err := p.in.ReadSlice('\n')
		p.offset += int64(len(part))
		if len(line)+len(part) > maxPickleText {
			return "", fmt.Errorf("a line has more than %d bytes", maxPickleText)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return string(line[:len(line)-1]), nil
		case err != bufio.ErrBufferFull:
			return "", ended(err)
		}
	}
}

// unquote parses a text that Python 2 wrote in protocol 0.
func unquote(line string) (string, error) {
	n := len(line)
	if n < 2 || line[0] != line[n-1] || line[0] != '\'' && line[0] != '"' {
		return "", fmt.Errorf("%q is not a text in quotes", quote.Cut(line))
	}
	return unescape(line[1:n-1], map[byte]int{'x': 2}, map[byte]byte{'\\': '\\', '\'': '\'', '"': '"', 'n': '\n', 'r': '\r', 't': '\t'})
}

// unescapeUnicode parses a text of protocol 0 (raw-unicode-escape): each byte is a
// Latin-1 character, and a backslash is an escape only before u and U.
func unescapeUnicode(line string) (string, error) {
	var wide strings.Builder
	for i := range len(line) {
		wide.WriteRune(rune(line[i]))
	}
	return unescape(wide.String(), map[byte]int{'u': 4, 'U': 8}, nil)
}

// unescape replaces escapes: those of a letter followed by a number of hexadecimal
// digits, and those of one letter.
func unescape(s string, hex map[byte]int, letters map[byte]byte) (string, error) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) || hex[s[i+1]] == 0 && letters == nil {
			out.WriteByte(s[i])
			continue
		}
		i++
		if plain, ok := letters[s[i]]; ok {
			out.WriteByte(plain)
			continue
		}
		width := hex[s[i]]
		if width == 0 || i+width >= len(s) {
			return "", fmt.Errorf("a text has the escape \\%c, which is cut off or unknown", s[i])
		}
		x, err := strconv.ParseUint(s[i+1:i+1+width], 16, 32)
		if err != nil || x > utf8.MaxRune {
			return "", fmt.Errorf("a text has the escape \\%s, which is not a character", s[i:i+1+width])
		}
		if width == 2 {
			out.WriteByte(byte(x))
		} else {
			out.WriteRune(rune(x))
		}
		i += width
	}
	if !utf8.ValidString(out.String()) {
		return "", errors.New("a text is not UTF-8")
	}
	return out.String(), nil
}
