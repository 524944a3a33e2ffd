package pipe

import (
	"strconv"
	"strings"
)

// Object is the table of the fields of an object, at most 64, in the order in which errors
// list them.
type Object[T any] []Field[T]

// Field is a field of an object.
type Field[T any] struct {
	name     string
	quoted   string // as it stands in lines
	required bool
	read     func(*Decoder, *T)
}

// Required returns a field without which an object is an error.
func Required[T any](name string, read func(*Decoder, *T)) Field[T] {
	return Field[T]{name, strconv.Quote(name), true, read}
}

// Optional returns a field that may be absent.
func Optional[T any](name string, read func(*Decoder, *T)) Field[T] {
	return Field[T]{name, strconv.Quote(name), false, read}
}

// Bits returns the bits of fields; see Decode.
func (o Object[T]) Bits(names ...string) (bits uint64) {
	for _, name := range names {
		bits |= 1 << o.index(name)
	}
	return bits
}

// Names returns the names of fields.
func (o Object[T]) Names(bits uint64) (names []string) {
	for i := range o {
		if bits&(1<<i) != 0 {
			names = append(names, o[i].name)
		}
	}
	return names
}

// Decode reads a line, which must be one object. It returns the fields that are there, as
// bits in the order of the table.
func (o Object[T]) Decode(d *Decoder, line []byte, into *T) (seen uint64, failed *Error) {
	d.reset(line)
	seen = o.read(d, into)
	if d.broken != nil {
		d.syntax("")
	}
	return seen, d.err
}

// Into returns a function that decodes a line.
func (o Object[T]) Into(into *T) func(*Decoder, []byte) *Error {
	return func(d *Decoder, line []byte) *Error {
		_, failed := o.Decode(d, line, into)
		return failed
	}
}

// Read reads the next value, which must be an object.
func (o Object[T]) Read(d *Decoder, into *T) { o.read(d, into) }

func (o Object[T]) read(d *Decoder, into *T) (seen uint64) {
	if !d.Open('{', "a JSON object") {
		return 0
	}
	for next := 0; d.More('}'); next++ {
		// Most programs write the fields in the order of the table.
		if next >= len(o) || !d.literal(o[next].quoted) {
			if next = o.index(string(d.text(""))); next < 0 {
				d.fail(UnknownField, Unknown(o.Names(^uint64(0))))
				return seen
			}
		}
		if seen&(1<<next) != 0 {
			d.fail(Syntax, twice)
		}
		seen |= 1 << next
		o[next].read(d, into)
	}
	for i := range o {
		if o[i].required && seen&(1<<i) == 0 {
			d.Fail("%s is missing", o[i].name)
		}
	}
	return seen
}

func (o Object[T]) index(name string) int {
	for i := range o {
		if o[i].name == name {
			return i
		}
	}
	return -1
}

// Unknown is the message of an error about a field that is not one of the known.
func Unknown(known []string) string {
	if len(known) == 0 {
		return "is not a field here: known are none"
	}
	return "is not a field here: known are " + strings.Join(known, ", ")
}
