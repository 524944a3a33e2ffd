// Package npy reads and writes the head of arrays in NumPy's format; it writes version 1.0. See
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html.
package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
)

// Head returns what comes before the numbers of an array of float64 in row-major order: the
// magic string, the version, the length of the header, and the header, a Python dictionary
// padded so that the numbers begin at a multiple of 64 bytes.
func Head(shape ...int) []byte {
	const magic, align = "\x93NUMPY\x01\x00", 64
	sizes := strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]")
	if len(shape) == 1 {
		sizes += ","
	}
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }", sizes)
	before := len(magic) + 2
	padded := (before+len(header)+1+align-1)/align*align - before
	head := binary.LittleEndian.AppendUint16([]byte(magic), uint16(padded))
	head = append(head, header...)
	head = append(head, bytes.Repeat([]byte(" "), padded-len(header)-1)...)
	return append(head, '\n')
}
