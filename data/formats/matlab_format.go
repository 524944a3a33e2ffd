package formats

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"fedsim/data"
	"fedsim/internal/tools/elements"
	"fedsim/internal/tools/quote"
)

// The parts of MATLAB 5 files ("MAT-File Format", The MathWorks, 2019).
const (
	matHead       = 128 // bytes before the first element
	matMatrix     = 14  // type of an element: an array
	matCompressed = 15  // type of an element: another one, packed by zlib

	// classes of arrays
	matCell   = 1
	matSparse = 5
	matDouble = 6  // the first class of numbers
	matUint64 = 15 // the last

	matComplex = 0x800 // flag of an array
)

// matNumbers are the types of elements that have numbers.
var matNumbers = map[uint32]elements.Type{
	1: {Kind: 'i', Size: 1}, 2: {Kind: 'u', Size: 1}, 3: {Kind: 'i', Size: 2}, 4: {Kind: 'u', Size: 2},
	5: {Kind: 'i', Size: 4}, 6: {Kind: 'u', Size: 4}, 7: {Kind: 'f', Size: 4}, 9: {Kind: 'f', Size: 8},
	12: {Kind: 'i', Size: 8}, 13: {Kind: 'u', Size: 8},
}

// matPlace is a place in a file for messages.
type matPlace struct {
	at   int64  // byte of the element in the file; 0: none
	name string // of the variable, if known
	cell int    // from 1; 0: none
}

// matReader reads elements.
type matReader struct {
	file  string
	in    io.Reader
	order binary.ByteOrder
	matPlace
}

// fail returns an error at the place.
func (m *matReader) fail(format string, arguments ...any) error {
	return m.wrong(fmt.Sprintf(format, arguments...), nil)
}

// wrong returns an error at the place with its cause.
func (m *matReader) wrong(problem string, err error) error {
	switch {
	case m.name != "":
		place := "variable " + quote.Text(m.name)
		if m.cell > 0 {
			place += fmt.Sprintf(", cell %d", m.cell)
		}
		problem = place + ": " + problem
	case m.at > 0:
		problem = fmt.Sprintf("byte %d: %s", m.at, problem)
	}
	return &data.ParseError{File: m.file, Problem: problem, Err: err}
}

// corrupt returns the error for a file that cannot be right.
func (m *matReader) corrupt() error { return m.fail("is corrupt or truncated") }

// unreadable converts an error of reading.
func (m *matReader) unreadable(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return m.corrupt()
	}
	return m.wrong("cannot be read: the file may be corrupt", err)
}

// head reads the head of the file.
func (m *matReader) head() error {
	const remedy = `: save it in MATLAB with save(name, "X", "Y", "-v7"), or with scipy.io.savemat`
	head := make([]byte, matHead)
	n, err := io.ReadFull(m.in, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return m.unreadable(err)
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte("\x89HDF")) || bytes.HasPrefix(head, []byte("MATLAB 7.3")):
		return m.fail("is a MATLAB 7.3 file (HDF5), must be MATLAB 5%s", remedy)
	case n == matHead && string(head[126:]) == "IM":
		m.order = binary.LittleEndian
	case n == matHead && string(head[126:]) == "MI":
		m.order = binary.BigEndian
	case n >= 20 && bytes.IndexByte(head[:4], 0) >= 0:
		return m.fail("is a MATLAB 4 file, must be MATLAB 5%s", remedy)
	default:
		return m.fail("is not a MATLAB 5 file%s", remedy)
	}
	if version := m.order.Uint16(head[124:]); version != 0x100 {
		return m.fail("has version %#x of the format, must be 0x100 (MATLAB 5)%s", version, remedy)
	}
	return nil
}

// matTag is an element: its type, and the bytes after its head.
type matTag struct {
	kind uint32
	size int64
	in   io.Reader // its bytes
}

// element reads the next element of a parent with some bytes left. Bytes that use does not
// read are skipped.
func (m *matReader) element(left *int64, use func(matTag) error) error {
	var head [8]byte
	if *left < int64(len(head)) {
		return m.corrupt()
	}
	if _, err := io.ReadFull(m.in, head[:]); err != nil {
		return m.unreadable(err)
	}
	*left -= int64(len(head))
	tag := matTag{kind: m.order.Uint32(head[:]), size: int64(m.order.Uint32(head[4:]))}
	if small := tag.kind >> 16; small != 0 { // the type and up to 4 bytes are in the head
		if small > 4 {
			return m.corrupt()
		}
		tag.kind &= 0xffff
		tag.size = int64(small)
		tag.in = bytes.NewReader(head[4 : 4+small])
		return use(tag)
	}
	if tag.size > *left {
		return m.corrupt()
	}
	outer := m.in
	body := &io.LimitedReader{R: outer, N: tag.size}
	tag.in, m.in = body, body
	err := use(tag)
	m.in = outer
	if err != nil {
		return err
	}
	*left -= tag.size
	skip := body.N
	if tag.kind != matCompressed { // others are padded
		padding := min(-tag.size&7, *left)
		*left -= padding
		skip += padding
	}
	if _, err := io.CopyN(io.Discard, outer, skip); err != nil {
		return m.unreadable(err)
	}
	return nil
}

// matArray is the head of an array.
type matArray struct {
	class   byte
	complex bool
	shape   []int
	count   int // of its values
	name    string
}

// arrayHead reads the head of an array: flags, sizes and name. An array without bytes is an
// empty matrix.
func (m *matReader) arrayHead(left *int64) (head matArray, err error) {
	if *left == 0 {
		return matArray{class: matDouble, shape: []int{0, 0}}, nil
	}
	flags, err := m.small(left, 8)
	if err != nil {
		return head, err
	}
	sizes, err := m.small(left, 4*32)
	if err != nil {
		return head, err
	}
	name, err := m.small(left, 1<<10)
	if err != nil {
		return head, err
	}
	if len(flags) != 8 || len(sizes) < 8 || len(sizes)%4 != 0 {
		return head, m.corrupt()
	}
	word := m.order.Uint32(flags)
	head = matArray{class: byte(word), complex: word&matComplex != 0, name: string(name)}
	for i := 0; i < len(sizes); i += 4 {
		head.shape = append(head.shape, int(int32(m.order.Uint32(sizes[i:]))))
	}
	ok := false
	if head.count, ok = elements.SizeOf(head.shape); !ok {
		return head, m.corrupt()
	}
	return head, nil
}

// small reads an element of at most some bytes.
func (m *matReader) small(left *int64, most int64) (content []byte, err error) {
	err = m.element(left, func(tag matTag) error {
		if tag.size > most {
			return m.corrupt()
		}
		content = make([]byte, tag.size)
		if _, err := io.ReadFull(tag.in, content); err != nil {
			return m.unreadable(err)
		}
		return nil
	})
	return content, err
}

// refuse returns why the array is not a matrix of numbers, or "".
func (a *matArray) refuse() string {
	switch {
	case a.class == matSparse:
		return "is sparse: save full(...) of it"
	case a.class < matDouble || a.class > matUint64:
		return "must have numbers, or be cells of them"
	case a.complex:
		return "has complex numbers: must have real ones"
	case len(a.shape) != 2:
		return fmt.Sprintf("has %d sizes: must be a matrix", len(a.shape))
	case a.count == 0:
		return fmt.Sprintf("is empty (%d x %d)", a.shape[0], a.shape[1])
	}
	return ""
}
