package rundir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"fedsim/results"
)

// A record in a log has a value for each column, relative to the one before, and to an unknown one in the first
// record of a block: a whole number is the varint of the difference; a real number is the uvarint of the exclusive or
// of their bits, whose order is reversed; a text is 0 if it is the same, else the uvarint of its length plus 1, and its
// bytes.

// appendRecord appends a record; nil: there is none before.
func appendRecord[R any](b []byte, columns []results.Column[R], now, before *R) []byte {
	for i := range columns {
		v := columns[i].Get(now)
		last := results.Unknown(v.Type())
		if before != nil {
			last = columns[i].Get(before)
		}
		switch v.Type() {
		case results.TextType:
			b = appendText(b, v.Text(), last.Text())
		case results.WholeType:
			b = binary.AppendVarint(b, v.Whole()-last.Whole())
		default:
			b = appendReal(b, v.Real(), last.Real())
		}
	}
	return b
}

// appendText appends a text that follows another one.
func appendText(b []byte, now, last string) []byte {
	if now == last {
		return append(b, 0)
	}
	return append(binary.AppendUvarint(b, uint64(len(now))+1), now...)
}

// appendReal appends a real number that follows another one.
func appendReal(b []byte, now, last float64) []byte {
	return binary.AppendUvarint(b, bits.ReverseBytes64(math.Float64bits(now)^math.Float64bits(last)))
}

// errRecord is the error of a block whose content is no list of records.
var errRecord = errors.New("is corrupt")

// records reads the records of a block.
type records struct {
	left  []byte
	texts map[string]string // that records have in common; nil: they are not collected
}

// readRecord reads the next record to r, which has the one before, if there is one.
func readRecord[R any](from *records, columns []results.Column[R], r *R, first bool) error {
	for i := range columns {
		c := &columns[i]
		v := c.Get(r)
		if first {
			v = results.Unknown(v.Type())
		}
		n := 0
		switch v.Type() {
		case results.TextType:
			text := v.Text()
			n = from.text(&text)
			v = results.Text(text)
		case results.WholeType:
			var more int64
			more, n = binary.Varint(from.left)
			v = results.Whole(v.Whole() + more)
		default:
			var x float64
			x, n = from.real(v.Real())
			v = results.Real(x)
		}
		if n <= 0 {
			return errRecord
		}
		if err := c.Check(v); err != nil {
			return fmt.Errorf("%s %w", c.Name, err)
		}
		c.Set(r, v)
		from.left = from.left[n:]
	}
	return nil
}

// real returns the real number that follows another one, and its length; 0: there is none.
func (r *records) real(last float64) (x float64, n int) {
	differ, n := binary.Uvarint(r.left)
	return math.Float64frombits(math.Float64bits(last) ^ bits.ReverseBytes64(differ)), n
}

// text reads a text that follows the one in to, and returns its length; 0: there is none.
func (r *records) text(to *string) int {
	size, n := binary.Uvarint(r.left)
	if n <= 0 || size == 0 {
		return max(n, 0)
	}
	if size-1 > uint64(len(r.left)-n) {
		return 0
	}
	bytes := r.left[n : n+int(size)-1]
	text, ok := r.texts[string(bytes)]
	if !ok {
		if text = string(bytes); r.texts != nil {
			r.texts[text] = text
		}
	}
	*to = text
	return n + len(bytes)
}

// appendNamed appends the values of a round: one for each declared metric, NaN without a value. Where there are
// statistics over clients, they are in the list, too.
func appendNamed(b []byte, declared []results.NamedMetric, values []results.NamedValue) []byte {
	if results.HasStatistics(declared, values) {
		declared = results.WithStatistics(declared)
	}
	at := 0
	for i := range declared {
		value := math.NaN()
		if at < len(values) && values[at].Split == declared[i].Split && values[at].Name == declared[i].Name {
			value = values[at].Value
			at++
		}
		b = appendReal(b, value, math.NaN())
	}
	return b
}

// named reads what appendNamed has appended, up to the end of the block.
func (r *records) named(declared []results.NamedMetric) (values []results.NamedValue, err error) {
	var list []float64
	for len(r.left) > 0 {
		x, n := r.real(math.NaN())
		if n <= 0 {
			return nil, errRecord
		}
		list, r.left = append(list, x), r.left[n:]
	}
	if len(list) > len(declared) {
		declared = results.WithStatistics(declared)
	}
	if len(list) != 0 && len(list) != len(declared) {
		return nil, fmt.Errorf("has %d values of metrics, must have %d", len(list), len(declared))
	}
	for i, x := range list {
		if !math.IsNaN(x) {
			values = append(values, results.NamedValue{Split: declared[i].Split, Name: declared[i].Name, Value: x})
		}
	}
	return values, nil
}
