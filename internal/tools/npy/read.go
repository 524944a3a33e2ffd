package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Header describes an array.
type Header struct {
	Kind    byte // of the elements: 'b' truth values, 'i', 'u', 'f', 'U' texts, or another of NumPy's
	Size    int  // bytes of an element; of texts 4 for each character
	Big     bool // the most significant byte of an element comes first
	Fortran bool // the first index changes fastest
	Shape   []int
	Bytes   int // of the head, before the elements
}

// maxHeader is the largest length of a header.
const maxHeader = 1 << 16

var (
	descrPattern   = regexp.MustCompile(`'descr'\s*:\s*'([<>|=])(\w)([0-9]*)'`)
	fortranPattern = regexp.MustCompile(`'fortran_order'\s*:\s*(True|False)`)
	shapePattern   = regexp.MustCompile(`'shape'\s*:\s*\(([0-9, ]*)\)`)
)

// Read reads what comes before the elements of an array, of version 1, 2 or 3. It does not
// read pickles; the kind of an array of objects is 'O'.
func Read(in io.Reader) (h Header, err error) {
	start := make([]byte, 12)
	if _, err := io.ReadFull(in, start[:10]); err != nil {
		return h, truncated(err)
	}
	version := start[6]
	if string(start[:6]) != "\x93NUMPY" || version < 1 || version > 3 {
		return h, errors.New("not an array of NumPy (format 1 to 3)")
	}
	length := int(binary.LittleEndian.Uint16(start[8:]))
	h.Bytes = 10
	if version > 1 {
		if _, err := io.ReadFull(in, start[10:]); err != nil {
			return h, truncated(err)
		}
		length = int(min(binary.LittleEndian.Uint32(start[8:]), maxHeader+1))
		h.Bytes = 12
	}
	if length > maxHeader {
		return h, fmt.Errorf("the header has more than %d bytes", maxHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(in, text); err != nil {
		return h, truncated(err)
	}
	h.Bytes += length
	return h, h.parse(string(text))
}

// truncated names the end of the input.
func truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("is truncated")
	}
	return err
}

// parse reads the dictionary of the header.
func (h *Header) parse(text string) error {
	descr, fortran, shape := descrPattern.FindStringSubmatch(text), fortranPattern.FindStringSubmatch(text),
		shapePattern.FindStringSubmatch(text)
	if descr == nil || fortran == nil || shape == nil {
		return errors.New("the header has no type of one kind, order and shape")
	}
	h.Kind, h.Big, h.Fortran = descr[2][0], descr[1] == ">", fortran[1] == "True"
	if descr[3] != "" {
		size, err := strconv.Atoi(descr[3])
		if err != nil {
			return fmt.Errorf("the header has elements of size %s", descr[3])
		}
		h.Size = size
	}
	if h.Kind == 'U' {
		if h.Size > maxHeader {
			return fmt.Errorf("the header has texts of more than %d characters", maxHeader)
		}
		h.Size *= 4
	}
	for size := range strings.SplitSeq(shape[1], ",") {
		if size = strings.TrimSpace(size); size == "" {
			continue
		}
		n, err := strconv.Atoi(size)
		if err != nil {
			return fmt.Errorf("the header has the size %s", size)
		}
		h.Shape = append(h.Shape, n)
	}
	return nil
}
