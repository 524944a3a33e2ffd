// Package quote prepares text of any origin for messages: short, and without control
// characters.
package quote

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// most is how many characters of a value a message shows.
const most = 80

// Text returns a value in quotation marks as Go writes them, cut at 80 characters.
func Text(s string) string { return strconv.Quote(Cut(s)) }

// Cut returns the first 80 characters of a text, and three dots where there are more.
// Use it where a message has its own quotation marks, or none.
func Cut(s string) string { return cut(s, most) }

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "..."
		}
		n++
	}
	return s
}

// mostOfLine is how many characters a line of a message may have: it may
// list many names.
const mostOfLine = 2000

// Line returns a message as one line: line breaks become semicolons, and characters
// that cannot be printed are escaped as in Go.
func Line(s string) string {
	var b strings.Builder
	for i, r := range cut(s, mostOfLine) {
		switch {
		case r == '\n':
			b.WriteString("; ")
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[i])|0x100, 16)[1:])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			escaped := strconv.QuoteRune(r)
			b.WriteString(escaped[1 : len(escaped)-1])
		}
	}
	return b.String()
}
