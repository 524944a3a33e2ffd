// Package plainparquet writes parquet files in their plainest form: each value as it is, without compression. It
// takes the place of a library where that is too large, as in a web page.
//
// It must not know the columns.
package plainparquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
)

// Kind is the type of the values of a column.
type Kind int

// The kinds of columns: texts, integers, integers without a sign, and real numbers, each of 64 bits.
const (
	Text Kind = iota
	Whole
	Unsigned
	Real
)

// physical returns the type of parquet, and its meaning; negative: none.
func (k Kind) physical() (kind, meaning int) {
	return [4]int{6, 2, 2, 5}[k], [4]int{0, 18, 14, -1}[k]
}

// Column is a column. Each value may be null.
type Column struct {
	Name string
	Kind Kind

	values []byte
	levels []byte // runs of the definition levels
	known  byte   // the level of the last run
	run    uint64 // its length
}

// Writer writes a file. The caller must close it.
type Writer struct {
	to      io.Writer
	name    string
	by      string
	meta    [2]string
	columns []Column

	at, rows int64
	open     int64 // rows of the group under way
	groups   []func(*thrift)
	err      error
}

// New begins a file with a schema of a name, made by a program, with a pair of metadata.
func New(to io.Writer, name, by string, meta [2]string, columns []Column) *Writer {
	w := &Writer{to: to, name: name, by: by, meta: meta, columns: columns}
	w.write([]byte("PAR1"))
	return w
}

func (w *Writer) write(b []byte) {
	if w.err == nil {
		_, w.err = w.to.Write(b)
		w.at += int64(len(b))
	}
}

// Rows returns the number of rows in the group under way.
func (w *Writer) Rows() int64 { return w.open }

// Write adds a row: a cell for each column, empty if it is not known.
func (w *Writer) Write(cells []string) error {
	for i := range w.columns {
		if err := w.columns[i].add(cells[i]); err != nil {
			return fmt.Errorf("%s = %q: %w", w.columns[i].Name, cells[i], err)
		}
	}
	w.open++
	return w.err
}

func (c *Column) add(cell string) (err error) {
	level := byte(1)
	if cell == "" {
		level = 0
	}
	if level != c.known {
		c.endRun()
		c.known = level
	}
	if c.run++; level == 0 {
		return nil
	}
	var bits uint64
	switch c.Kind {
	case Text:
		c.values = binary.LittleEndian.AppendUint32(c.values, uint32(len(cell)))
		c.values = append(c.values, cell...)
		return nil
	case Whole:
		var n int64
		n, err = strconv.ParseInt(cell, 10, 64)
		bits = uint64(n)
	case Unsigned:
		bits, err = strconv.ParseUint(cell, 10, 64)
	case Real:
		var x float64
		x, err = strconv.ParseFloat(cell, 64)
		bits = math.Float64bits(x)
	}
	c.values = binary.LittleEndian.AppendUint64(c.values, bits)
	return err
}

func (c *Column) endRun() {
	if c.run > 0 {
		c.levels = append(binary.AppendUvarint(c.levels, c.run<<1), c.known)
		c.run = 0
	}
}

// EndGroup ends a group of rows, unless it is empty.
func (w *Writer) EndGroup() error {
	rows, first := w.open, w.at
	if rows == 0 {
		return w.err
	}
	chunks := make([]func(*thrift), len(w.columns))
	for i := range w.columns {
		chunks[i] = w.chunk(&w.columns[i], rows)
	}
	size := w.at - first
	w.groups = append(w.groups, func(t *thrift) {
		t.list(1, structure, len(chunks), func(i int) { t.structure(func() { chunks[i](t) }) })
		t.whole(2, size)
		t.whole(3, rows)
	})
	w.rows += rows
	w.open = 0
	return w.err
}

// chunk writes the column as a page, empties it, and returns its entry in the metadata.
func (w *Writer) chunk(c *Column, rows int64) func(*thrift) {
	c.endRun()
	page := binary.LittleEndian.AppendUint32(nil, uint32(len(c.levels)))
	page = append(append(page, c.levels...), c.values...)
	c.levels, c.values = c.levels[:0], c.values[:0]
	var head thrift
	head.structure(func() {
		head.number(1, 0) // a page of data
		head.number(2, len(page))
		head.number(3, len(page))
		head.field(5, structure)
		head.structure(func() {
			head.number(1, int(rows))
			head.number(2, 0) // plain values
			head.number(3, 3) // runs of levels
			head.number(4, 3)
		})
	})
	at := w.at
	w.write(head.b)
	w.write(page)
	size := w.at - at
	return func(t *thrift) {
		t.whole(2, at)
		t.field(3, structure)
		t.structure(func() {
			kind, _ := c.Kind.physical()
			t.number(1, kind)
			t.list(2, i32, 2, func(i int) { t.zigzag(int64([2]int{0, 3}[i])) })
			t.list(3, binaryText, 1, func(int) { t.bytes(c.Name) })
			t.number(4, 0) // not compressed
			t.whole(5, rows)
			t.whole(6, size)
			t.whole(7, size)
			t.whole(9, at)
		})
	}
}

// Close ends the file.
func (w *Writer) Close() error {
	if err := w.EndGroup(); err != nil {
		return err
	}
	var t thrift
	t.structure(func() {
		t.number(1, 1) // version
		t.list(2, structure, len(w.columns)+1, func(i int) {
			t.structure(func() {
				if i == 0 {
					t.text(4, w.name)
					t.number(5, len(w.columns))
					return
				}
				c := &w.columns[i-1]
				kind, meaning := c.Kind.physical()
				t.number(1, kind)
				t.number(3, 1) // may be null
				t.text(4, c.Name)
				if meaning >= 0 {
					t.number(6, meaning)
				}
			})
		})
		t.whole(3, w.rows)
		t.list(4, structure, len(w.groups), func(i int) { t.structure(func() { w.groups[i](&t) }) })
		t.list(5, structure, 1, func(int) {
			t.structure(func() {
				t.text(1, w.meta[0])
				t.text(2, w.meta[1])
			})
		})
		t.text(6, w.by)
	})
	w.write(append(binary.LittleEndian.AppendUint32(t.b, uint32(len(t.b))), "PAR1"...))
	return w.err
}

// Types of the compact protocol of Apache Thrift.
const (
	i32        = 5
	i64        = 6
	binaryText = 8
	list       = 9
	structure  = 12
)

// thrift is a text in the compact protocol of Apache Thrift, in which parquet has its metadata.
type thrift struct {
	b    []byte
	last int // the number of the last field
}

func (t *thrift) structure(fill func()) {
	outer := t.last
	t.last = 0
	fill()
	t.b, t.last = append(t.b, 0), outer
}

// field begins a field. Numbers grow by less than 16.
func (t *thrift) field(id int, kind byte) {
	t.b = append(t.b, byte(id-t.last)<<4|kind)
	t.last = id
}

func (t *thrift) zigzag(n int64) { t.b = binary.AppendVarint(t.b, n) }

func (t *thrift) number(id, n int) {
	t.field(id, i32)
	t.zigzag(int64(n))
}

func (t *thrift) whole(id int, n int64) {
	t.field(id, i64)
	t.zigzag(n)
}

func (t *thrift) bytes(s string) { t.b = append(binary.AppendUvarint(t.b, uint64(len(s))), s...) }

func (t *thrift) text(id int, s string) {
	t.field(id, binaryText)
	t.bytes(s)
}

func (t *thrift) list(id int, kind byte, n int, element func(i int)) {
	t.field(id, list)
	if n < 15 {
		t.b = append(t.b, byte(n)<<4|kind)
	} else {
		t.b = binary.AppendUvarint(append(t.b, 0xf0|kind), uint64(n))
	}
	for i := range n {
		element(i)
	}
}
