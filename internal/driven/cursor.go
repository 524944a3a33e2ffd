package driven

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"fedsim/internal/quote"
)

// cursor reads the JSON of a line strictly, from left to right: known names, each once,
// exact types. It remembers the first error and reads nothing after it. (encoding/json
// ignores the case of names and accepts a name twice; and its errors do not name the
// element of a list.)
type cursor struct {
	line []byte
	at   int
	path []step // of the value being read
	err  *Error
}

// step is a name or, with an empty name, an index.
type step struct {
	name  string
	index int
}

// reset starts to read a line.
func (c *cursor) reset(line []byte) {
	c.line, c.at, c.path, c.err = line, 0, c.path[:0], nil
	if !utf8.Valid(line) {
		for i := 0; i < len(line); {
			r, size := utf8.DecodeRune(line[i:])
			if r == utf8.RuneError && size == 1 {
				c.at = i
				break
			}
			i += size
		}
		c.fail(CodeSyntax, "byte %d is not UTF-8", c.at+1)
	}
}

// fail records the first error.
func (c *cursor) fail(code Code, format string, arguments ...any) {
	if c.err == nil {
		c.err = &Error{Code: code, Field: c.field(), Message: fmt.Sprintf(format, arguments...)}
	}
}

// field returns the path as text: msgs[3].flops.
func (c *cursor) field() string {
	var b []byte
	for _, s := range c.path {
		switch {
		case s.name == "":
			b = append(strconv.AppendInt(append(b, '['), int64(s.index), 10), ']')
		case len(b) > 0:
			b = append(append(b, '.'), s.name...)
		default:
			b = append(b, s.name...)
		}
	}
	return string(b)
}

// peek returns the next byte that is not white space, 0 at the end or after an error.
func (c *cursor) peek() byte {
	if c.err != nil {
		return 0
	}
	for ; c.at < len(c.line); c.at++ {
		switch b := c.line[c.at]; b {
		case ' ', '\t', '\r', '\n':
		default:
			return b
		}
	}
	return 0
}

// want reads a punctuation mark.
func (c *cursor) want(mark byte) bool {
	if c.peek() == mark {
		c.at++
		return true
	}
	c.syntax(strconv.QuoteRune(rune(mark)))
	return false
}

// syntax reports the text that is expected at this place.
func (c *cursor) syntax(expected string) {
	if c.err != nil {
		return
	}
	if c.peek() == 0 && c.at >= len(c.line) {
		c.fail(CodeSyntax, "the line ends where %s is expected", expected)
		return
	}
	c.fail(CodeSyntax, "byte %d: %s where %s is expected", c.at+1, quote.Text(firstRune(c.line[c.at:])), expected)
}

func firstRune(b []byte) string {
	_, size := utf8.DecodeRune(b)
	return string(b[:size])
}

// open begins an object or a list. The caller continues with more.
func (c *cursor) open(mark byte, what string) bool {
	switch c.peek() {
	case mark:
		c.at++
		c.path = append(c.path, step{index: -1})
		return true
	default:
		c.wrong(what)
		return false
	}
}

// more reports whether another element follows in the object or list that ends with a
// mark, and moves to it. After the last one, and after an error, it closes the object
// or list.
func (c *cursor) more(mark byte) bool {
	top := &c.path[len(c.path)-1]
	next := c.peek()
	if c.err == nil && next != mark {
		switch {
		case top.index < 0: // the first one
			top.index = 0
			return true
		case next == ',':
			c.at++
			top.index++
			return true
		}
	}
	c.path = c.path[:len(c.path)-1] // an error is of the list, not of its element
	if c.err == nil && next == mark {
		c.at++
	} else {
		c.syntax("',' or " + strconv.QuoteRune(rune(mark)))
	}
	return false
}

// key reads the name of the next value of an object. It is valid until the line is.
func (c *cursor) key() []byte {
	top := len(c.path) - 1
	c.path[top].name = ""
	outer := c.path
	c.path = c.path[:top] // an error belongs to the object
	text := c.quoted()
	c.want(':')
	c.path = outer
	return text
}

// enter names the value that is read next, and reports a name that occurs twice.
func (c *cursor) enter(name string, seen *uint32, bit uint32) {
	c.path[len(c.path)-1].name = name
	if *seen&bit != 0 {
		c.fail(CodeSyntax, "must be there once")
	}
	*seen |= bit
}

// unknown reports a name that the object does not have.
func (c *cursor) unknown(name []byte, known string) {
	c.path[len(c.path)-1].name = quote.Cut(string(name))
	c.fail(CodeUnknownField, "is not a field here: known are %s", known)
}

// wrong reports a value of another type.
func (c *cursor) wrong(want string) {
	if c.err != nil {
		return
	}
	have := ""
	switch b := c.peek(); {
	case b == '"':
		have = "a string"
	case b == '{':
		have = "an object"
	case b == '[':
		have = "a list"
	case b == '-' || b >= '0' && b <= '9':
		have = quote.Cut(string(c.word()))
	default:
		switch word := string(c.word()); word {
		case "true", "false", "null", "NaN", "Infinity":
			have = word
		default:
			c.syntax(want)
			return
		}
	}
	c.fail(CodeType, "must be %s, not %s", want, have)
}

// word returns the letters, digits and signs at this place.
func (c *cursor) word() []byte {
	end := c.at
	for end < len(c.line) {
		switch b := c.line[end]; {
		case b >= '0' && b <= '9', b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b == '-', b == '+', b == '.':
			end++
			continue
		}
		break
	}
	return c.line[c.at:end]
}

// literal reads a word if it is next.
func (c *cursor) literal(word string) bool {
	if b := c.peek(); b == 0 || b != word[0] || string(c.word()) != word {
		return false
	}
	c.at += len(word)
	return true
}

// null reads null if it is next.
func (c *cursor) null() bool { return c.literal("null") }

// bool reads true or false.
func (c *cursor) bool() bool {
	if c.literal("true") {
		return true
	}
	if !c.literal("false") {
		c.wrong("true or false")
	}
	return false
}

// text reads a string.
func (c *cursor) text() string { return string(c.quoted()) }

// quoted reads a string, mostly without a copy.
func (c *cursor) quoted() []byte {
	if c.peek() != '"' {
		c.wrong("a string")
		return nil
	}
	start := c.at
	plain := true
	for i := start + 1; i < len(c.line); i++ {
		switch b := c.line[i]; {
		case b == '"':
			c.at = i + 1
			if plain {
				return c.line[start+1 : i]
			}
			var s string
			if err := json.Unmarshal(c.line[start:c.at], &s); err != nil {
				c.fail(CodeSyntax, "byte %d: a string with a wrong escape", start+1)
			}
			return []byte(s)
		case b == '\\':
			plain = false
			i++
		case b < ' ':
			c.fail(CodeSyntax, "byte %d: a string with a control character", i+1)
			return nil
		}
	}
	c.fail(CodeSyntax, "the line ends within a string")
	return nil
}

// number returns the text of a number; nil, with an error, if another value is next.
func (c *cursor) number(want string) []byte {
	if b := c.peek(); b != '-' && (b < '0' || b > '9') {
		c.wrong(want)
		return nil
	}
	word := c.word()
	if !isNumber(word) {
		c.wrong(want)
		return nil
	}
	return word
}

// isNumber reports whether a word is a number of JSON.
func isNumber(w []byte) bool {
	digits := func() bool {
		n := 0
		for n < len(w) && w[n] >= '0' && w[n] <= '9' {
			n++
		}
		w = w[n:]
		return n > 0
	}
	if len(w) > 0 && w[0] == '-' {
		w = w[1:]
	}
	if len(w) > 1 && w[0] == '0' && w[1] >= '0' && w[1] <= '9' || !digits() {
		return false
	}
	if len(w) > 0 && w[0] == '.' {
		if w = w[1:]; !digits() {
			return false
		}
	}
	if len(w) > 0 && (w[0] == 'e' || w[0] == 'E') {
		w = w[1:]
		if len(w) > 0 && (w[0] == '+' || w[0] == '-') {
			w = w[1:]
		}
		if !digits() {
			return false
		}
	}
	return len(w) == 0
}

// integer reads an integer in [least, most]. want says so in errors.
func (c *cursor) integer(least, most int64, want string) int64 {
	word := c.number(want)
	if word == nil {
		return 0
	}
	n, ok := parseInteger(word)
	if !ok || n < least || n > most {
		c.wrong(want)
		return 0
	}
	c.at += len(word)
	return n
}

// parseInteger parses the digits of an int64; ok is false for a fraction, an exponent
// and numbers out of range.
func parseInteger(word []byte) (n int64, ok bool) {
	digits := word
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > 19 {
		return 0, false
	}
	var u uint64
	for _, b := range digits {
		if b < '0' || b > '9' {
			return 0, false
		}
		u = 10*u + uint64(b-'0')
	}
	if u > math.MaxInt64 {
		return 0, false
	}
	if word[0] == '-' {
		return -int64(u), true
	}
	return int64(u), true
}

// float reads a finite number that is at least a bound.
func (c *cursor) float(least float64, want string) float64 {
	word := c.number(want)
	if word == nil {
		return 0
	}
	x, err := strconv.ParseFloat(string(word), 64)
	if err != nil || x < least {
		c.wrong(want)
		return 0
	}
	c.at += len(word)
	return x
}
