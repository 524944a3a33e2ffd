package config

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"fedsim/internal/quote"
)

// Parse reads a TOML document. The file's name only serves the places; syntax
// errors, duplicate keys among them, come back as Errors with theirs, and so does what
// is too large or lies too deep. All TOML that fedsim reads comes through here.
func Parse(file string, source []byte) (root *Node, err error) {
	text := strings.TrimPrefix(string(source), "\ufeff")
	whole := Place{File: file}
	if strings.HasPrefix(text, "\xff\xfe") || strings.HasPrefix(text, "\xfe\xff") {
		return nil, Errors{{Place: whole, Text: "is written in UTF-16: TOML files must be UTF-8"}}
	}
	if len(source) > MaxSource {
		return nil, Errors{{Place: whole, Text: fmt.Sprintf("has %d bytes: a TOML file must have at most %d", len(source), MaxSource)}}
	}
	lines := lineStarts(text)
	s := scanner{source: text, place: func(offset int) Place {
		line := lines.of(offset)
		return Place{File: file, Line: line + 1, Column: offset - lines[line] + 1}
	}}
	if err := s.limits(); err != nil {
		return nil, err
	}
	root = NewTable(whole)
	var values map[string]any
	_, syntax := toml.Decode(text, &values)
	structure := s.document(root)
	var twice Errors
	switch {
	case errors.As(structure, &twice) && (syntax == nil || strings.Contains(syntax.Error(), "already")):
		return nil, twice // the library is vague about where, and misses some
	case syntax != nil:
		return nil, Errors{syntaxError(syntax, s.place, len(text))}
	case structure != nil:
		return nil, Errors{{Place: whole, Text: fmt.Sprintf("cannot be understood: %v", structure)}}
	}
	if err := root.fill(values, nil); err != nil {
		return nil, Errors{{Place: whole, Text: fmt.Sprintf("cannot be understood: %v", err)}}
	}
	return root, nil
}

// fill puts the values of the library's tree into the skeleton of the scanner.
func (n *Node) fill(value any, at Path) error {
	differ := func() error { return fmt.Errorf("key %s is written in a way this program does not know", at) }
	switch value := value.(type) {
	case map[string]any:
		if n.kind != tableNode || len(n.table) != len(value) {
			return differ()
		}
		for _, key := range n.keys {
			v, ok := value[key]
			if !ok {
				return differ()
			}
			if err := n.table[key].fill(v, append(at[:len(at):len(at)], key)); err != nil {
				return err
			}
		}
	case []map[string]any:
		if n.kind != listNode || len(n.items) != len(value) {
			return differ()
		}
		for i, v := range value {
			if err := n.items[i].fill(v, at); err != nil {
				return err
			}
		}
	case []any:
		if n.kind != listNode || len(n.items) != len(value) {
			return differ()
		}
		for i, v := range value {
			if err := n.items[i].fill(v, at); err != nil {
				return err
			}
		}
	default:
		if n.kind != scalarNode {
			return differ()
		}
		n.scalar = value
	}
	return nil
}

// syntaxError turns an error of the TOML library into one of ours. Of the
// library's position only the offset can be relied on: at the end of a line its
// line and column speak of different ones.
func syntaxError(err error, place func(offset int) Place, length int) Located {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		return Located{Text: sentence(err.Error())}
	}
	return Located{Place: place(min(parse.Position.Start, length)), Text: sentence(parse.Message)}
}

// goTypes names the types of Go that the library's messages speak of.
var goTypes = strings.NewReplacer("out of range for int64", "out of range: must be an integer of 64 bits", "out of range for float64", "out of range: must be at most 1.8e308 in size")

// sentence writes a message as our errors are written: lower case, no full stop.
func sentence(text string) string {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "toml: "), ".")
	words := strings.Split(text, " ")
	for i := range words { // of which one is what is wrong
		words[i] = quote.Cut(words[i])
	}
	text = goTypes.Replace(strings.Join(words, " "))
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToLower(first)) + text[size:]
}

// lineOffsets holds the offset of the first byte of every line.
type lineOffsets []int

func lineStarts(text string) lineOffsets {
	starts := lineOffsets{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// of returns the line of an offset, from 0.
func (l lineOffsets) of(offset int) int {
	low, high := 0, len(l)
	for high-low > 1 {
		if mid := (low + high) / 2; l[mid] <= offset {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
