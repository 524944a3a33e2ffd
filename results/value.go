package results

import "math"

// Type is the type of the values of a column.
type Type uint8

const (
	TextType  Type = iota
	WholeType      // a count, or a number of something
	RealType
)

// String returns the name of the type.
func (t Type) String() string { return [...]string{"text", "whole", "real"}[t] }

// Value is a value of a column: a text, a whole or a real number. Two values are equal (==) if
// their types and all their bits are.
type Value struct {
	typ  Type
	bits uint64
	text string
}

// UnknownCount is the whole number of a count that is not known.
const UnknownCount = -1

// Text, Whole and Real return a value.
func Text(s string) Value  { return Value{text: s} }
func Whole(n int64) Value  { return Value{typ: WholeType, bits: uint64(n)} }
func Real(x float64) Value { return Value{typ: RealType, bits: math.Float64bits(x)} }

// Unknown returns the value of a type that is not known: "", UnknownCount or NaN.
func Unknown(t Type) Value {
	switch t {
	case WholeType:
		return Whole(UnknownCount)
	case RealType:
		return Real(math.NaN())
	default:
		return Text("")
	}
}

// Type returns the type.
func (v Value) Type() Type { return v.typ }

// Text returns a text; empty for a number.
func (v Value) Text() string { return v.text }

// Whole returns a whole number, UnknownCount for one that is not known.
func (v Value) Whole() int64 { return int64(v.bits) }

// Real returns a number: NaN where it is not known, and for a text.
func (v Value) Real() float64 {
	if v.typ == RealType {
		return math.Float64frombits(v.bits)
	}
	return v.wholeAsReal()
}

func (v Value) wholeAsReal() float64 {
	if v.typ == TextType || v.IsUnknown() {
		return math.NaN()
	}
	return float64(v.Whole())
}

// IsUnknown reports whether the value is not known: an empty text, UnknownCount, or NaN.
func (v Value) IsUnknown() bool {
	switch v.typ {
	case WholeType:
		return v.Whole() == UnknownCount
	case RealType:
		return math.IsNaN(v.Real())
	default:
		return v.text == ""
	}
}

// plus returns the sum of two numbers of one type, unknown if one is.
func (v Value) plus(w Value) Value {
	switch {
	case v.typ == RealType:
		return Real(v.Real() + w.Real())
	case v.IsUnknown() || w.IsUnknown():
		return Unknown(v.typ)
	default:
		return Whole(v.Whole() + w.Whole())
	}
}
