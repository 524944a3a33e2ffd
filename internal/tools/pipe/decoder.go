package pipe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"fedsim/internal/tools/quote"
)

// Kind is the kind of an error in a line.
type Kind string

// The kinds of errors.
const (
	Syntax       Kind = "syntax"        // the line is not one JSON object, or has a name twice in an object
	UnknownField Kind = "unknown-field" // an object has a field that is not in its table
	Type         Kind = "type"          // a field is missing, or has another type or range
)

// Error is the first error in a line.
type Error struct {
	Kind    Kind
	Field   string // path of the wrong value, as msgs[3].flops; empty: the line
	Message string
}

// Error returns the field and the message.
func (e *Error) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

// Decoder reads the values of a line from left to right. It remembers the first error and
// reads nothing after it: then all methods return zero values. Want names the valid values,
// for errors.
//
// The JSON library checks the whole line first. The decoder then reads the text up to the
// first syntax error, and needs to check types only. (To read the tokens of the library
// takes twice the time.)
type Decoder struct {
	whole  []byte
	line   []byte // up to the first syntax error
	at     int    // the next byte to read
	last   int    // the start of the name, value or end that was read last
	broken error  // the syntax error; nil: there is none
	err    *Error

	from bytes.Buffer // which the library reads without a copy
	json jsontext.Decoder
}

// errMore is the error of a line that continues after its object.
var errMore = errors.New("must be one JSON object in a line")

// reset starts to read a line.
func (d *Decoder) reset(line []byte) {
	d.whole, d.line, d.at, d.last, d.broken, d.err = line, line, 0, 0, nil, nil
	d.rewind()
	if _, err := d.json.ReadValue(); err != nil {
		d.broken = err
		if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			d.line = line[:e.ByteOffset]
		}
	} else if _, err := d.json.ReadToken(); err != io.EOF {
		d.broken = errMore
	}
}

// allowTwice turns off a check of the library that costs as much as all others: the tables
// of fields make it.
var allowTwice = jsontext.AllowDuplicateNames(true)

// twice is the message of an error about a name that an object has twice.
const twice = "must be there once"

// rewind moves the JSON library to the start of the line.
func (d *Decoder) rewind() {
	d.from = *bytes.NewBuffer(d.whole)
	d.json.Reset(&d.from, allowTwice)
}

// Fail makes the value that was read last an error, unless there is one.
func (d *Decoder) Fail(format string, arguments ...any) {
	d.fail(Type, fmt.Sprintf(format, arguments...))
}

func (d *Decoder) fail(kind Kind, message string) {
	if d.err != nil {
		return
	}
	d.rewind()
	for d.json.InputOffset() <= int64(d.last) {
		if _, err := d.json.ReadToken(); err != nil {
			break
		}
	}
	d.stop(&Error{Kind: kind, Field: path(d.json.StackPointer()), Message: message})
}

// stop ends the reading with an error.
func (d *Decoder) stop(err *Error) { d.err, d.at = err, len(d.line) }

// path returns the path of a value: msgs[3].flops for /msgs/3/flops.
func path(p jsontext.Pointer) string {
	var b strings.Builder
	for name := range p.Tokens() {
		if _, err := strconv.ParseUint(name, 10, 64); err == nil {
			b.WriteString("[" + name + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(quote.Cut(name))
	}
	return b.String()
}

// noNumber matches what some programs write for numbers that JSON does not have.
var noNumber = regexp.MustCompile(`^(NaN|[-+]?Infinity)`)

// syntax makes the syntax error that of the line, unless there is one. Want is the value
// that is expected there; empty: something else is.
func (d *Decoder) syntax(want string) {
	if d.err != nil {
		return
	}
	failed := &Error{Kind: Syntax}
	defer d.stop(failed)
	e, ok := errors.AsType[*jsontext.SyntacticError](d.broken)
	if !ok {
		failed.Message = "the line is empty: must be a JSON object"
		if d.broken == errMore {
			failed.Message = errMore.Error()
		}
		return
	}
	failed.Field = path(e.JSONPointer)
	word := noNumber.Find(bytes.TrimLeft(d.whole[d.at:], " \t\r,:"))
	switch {
	case e.Err == io.ErrUnexpectedEOF:
		failed.Message = "the line ends within the JSON object"
	case want == "":
		failed.Message = fmt.Sprintf("byte %d: %v", e.ByteOffset+1, e.Err)
	case word != nil:
		failed.Kind, failed.Message = Type, fmt.Sprintf("must be %s, not %s", want, word)
	default:
		failed.Message = fmt.Sprintf("byte %d: %v: must be %s", e.ByteOffset+1, e.Err, want)
	}
}

// peek moves to the next name, value or end and returns its first byte; 0 if there is an error.
func (d *Decoder) peek() byte {
	for i := d.at; i < len(d.line); i++ {
		// Before it are only white space, commas and colons.
		if b := d.line[i]; b > ',' && b != ':' || b == '"' {
			d.at = i
			return b
		}
	}
	d.at = len(d.line)
	return 0
}

// wrong reports that the next value is of another type.
func (d *Decoder) wrong(want string) {
	have := ""
	switch d.peek() {
	case 0:
		d.syntax(want)
		return
	case '"':
		have = "a string"
	case '{':
		have = "an object"
	case '[':
		have = "a list"
	default:
		word := d.word()
		if d.at = d.last; word == nil {
			d.syntax(want)
			return
		}
		have = quote.Cut(string(word))
	}
	d.last = d.at
	d.Fail("must be %s, not %s", want, have)
}

// word reads a number, true, false or null; nil if it ends with a syntax error.
func (d *Decoder) word() []byte {
	end := d.at
	for end < len(d.line) {
		if b := d.line[end]; b <= ',' && b != '+' || b == ']' || b == '}' {
			break
		}
		end++
	}
	d.last, d.at = d.at, end
	if end == len(d.line) && d.broken != nil {
		return nil
	}
	return d.line[d.last:end]
}

// number reads a number; nil, with an error, if something else is next.
func (d *Decoder) number(want string) []byte {
	if b := d.peek(); b == '-' || b >= '0' && b <= '9' {
		if word := d.word(); word != nil {
			return word
		}
		d.at = d.last
	}
	d.wrong(want)
	return nil
}

// Integer reads an integer in [least, most], written without a fraction or an exponent.
func (d *Decoder) Integer(least, most int64, want string) int64 {
	word := d.number(want)
	n, ok := parseInteger(word)
	if !ok || n < least || n > most {
		d.Fail("must be %s, not %s", want, quote.Cut(string(word)))
		return 0
	}
	return n
}

// parseInteger parses a number without a fraction or an exponent, in a third of the time
// that strconv takes.
func parseInteger(word []byte) (n int64, ok bool) {
	digits := bytes.TrimPrefix(word, []byte("-"))
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	var u uint64
	for _, b := range digits {
		if b < '0' || b > '9' {
			return 0, false
		}
		u = 10*u + uint64(b-'0')
	}
	if len(digits) < len(word) {
		return -int64(u), u <= math.MaxInt64
	}
	return int64(u), u <= math.MaxInt64
}

// MostAmount is the most FLOPs, steps or bytes of memory that a program may name: a device would take
// longer than virtual time has, and sums of many such amounts are still finite.
const MostAmount = 1e24

// Float reads a number in [least, most].
func (d *Decoder) Float(least, most float64, want string) float64 {
	word := d.number(want)
	// Most are whole, and need no strconv.
	if n, ok := parseInteger(bytes.TrimSuffix(word, []byte(".0"))); ok && n > 0 && n < 1<<53 && least <= 0 &&
		most >= 1<<53 {
		return float64(n)
	}
	x, err := strconv.ParseFloat(string(word), 64)
	if err != nil || x < least || x > most {
		d.Fail("must be %s, not %s", want, quote.Cut(string(word)))
		return 0
	}
	return x
}

// Text reads a string.
func (d *Decoder) Text() string { return string(d.text("a string")) }

// text reads a string, without a copy where it has no escapes.
func (d *Decoder) text(want string) []byte {
	if d.peek() != '"' {
		d.wrong(want)
		return nil
	}
	d.last = d.at
	for i := d.at + 1; i < len(d.line); i++ {
		switch d.line[i] {
		case '\\':
			i++
		case '"':
			quoted := d.line[d.at : i+1]
			d.at = i + 1
			if bytes.IndexByte(quoted, '\\') < 0 {
				return quoted[1 : len(quoted)-1]
			}
			text, err := jsontext.AppendUnquote(nil, quoted)
			if err != nil {
				panic(err) // the library has checked it
			}
			return text
		}
	}
	d.syntax(want)
	return nil
}

// literal reads a word if it is next.
func (d *Decoder) literal(word string) bool {
	d.peek()
	end := d.at + len(word)
	if end > len(d.line) || string(d.line[d.at:end]) != word {
		return false
	}
	d.last, d.at = d.at, end
	return true
}

// Null reads null if it is next, and reports whether it was.
func (d *Decoder) Null() bool { return d.literal("null") }

// Bool reads true or false.
func (d *Decoder) Bool() bool {
	if d.literal("true") {
		return true
	}
	if !d.literal("false") {
		d.wrong("true or false")
	}
	return false
}

// Open begins an object '{' or a list '['. The caller continues with More.
func (d *Decoder) Open(mark byte, want string) bool {
	if d.peek() != mark {
		d.wrong(want)
		return false
	}
	d.last = d.at
	d.at++
	return true
}

// More reports whether another value follows in the object or list that ends with '}' or
// ']', and moves to it. After the last one it closes the object or list.
func (d *Decoder) More(mark byte) bool {
	switch d.peek() {
	case mark:
		d.last = d.at
		d.at++
		return false
	case 0:
		return d.err == nil // the next read reports the syntax error
	}
	return true
}

// Texts reads an object of strings.
func (d *Decoder) Texts() map[string]string {
	m := map[string]string{}
	if d.Open('{', "an object of strings") {
		for d.More('}') {
			name := string(d.text(""))
			if _, there := m[name]; there {
				d.fail(Syntax, twice)
			}
			m[name] = d.Text()
		}
	}
	return m
}

// List reads the values of a list and appends them to a slice.
func List[T any](d *Decoder, to []T, want string, read func(*Decoder, *T)) []T {
	if d.Open('[', want) {
		for d.More(']') {
			var zero T
			to = append(to, zero)
			read(d, &to[len(to)-1])
		}
	}
	return to
}
