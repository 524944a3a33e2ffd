package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"fedsim/internal/tools/input"
	"fedsim/internal/tools/quote"
)

// Parse reads a TOML document; places name the file. Syntax errors, keys that are set
// twice and documents that are too large or too deep are returned as Errors with their
// places. All TOML that fedsim reads comes through here.
func Parse(file string, source []byte) (*Node, error) {
	whole := func(format string, args ...any) error {
		return Errors{{Place: Place{File: file}, Text: fmt.Sprintf(format, args...)}}
	}
	plain, err := input.Plain(source)
	if err != nil {
		return nil, whole("%v", err)
	}
	text := string(plain)
	if len(source) > MaxSource {
		return nil, whole("has %d bytes: a TOML file must have at most %d", len(source), MaxSource)
	}
	s := newScanner(file, text)
	root, fault := s.document()
	if _, ok := errors.AsType[Errors](fault); ok {
		text = text[:s.statement] // The library may lack memory for more.
	}
	var values map[string]any
	if _, err := toml.Decode(text, &values); err != nil {
		return nil, Errors{s.syntaxError(err)}
	}
	if _, ok := errors.AsType[Errors](fault); ok {
		return nil, fault
	}
	if fault == nil && !root.fill(values) {
		fault = errMalformed
	}
	if fault != nil {
		return nil, whole("%v", fault)
	}
	return root, nil
}

// fill puts the values of the library's tree into the scalars of the tree n. It reports
// whether both trees have the same shape.
func (n *Node) fill(value any) bool {
	same := true
	switch n.kind {
	case tableNode:
		table, ok := value.(map[string]any)
		same = ok && len(table) == len(n.table)
		for key, child := range n.table {
			same = same && child.fill(table[key])
		}
	case listNode:
		list := reflect.ValueOf(value) // []any, or []map[string]any
		same = list.Kind() == reflect.Slice && list.Len() == len(n.items)
		for i, item := range n.items {
			same = same && item.fill(list.Index(i).Interface())
		}
	default:
		n.scalar = value
	}
	return same
}

// syntaxError turns an error of the TOML library into one of ours. It takes the
// library's offset alone: at the end of a line the library's line and column disagree.
func (s *scanner) syntaxError(err error) Located {
	parse, ok := errors.AsType[toml.ParseError](err)
	if !ok {
		return Located{Text: sentence(err.Error())}
	}
	return Located{Place: s.place(min(max(0, parse.Position.Start), len(s.source))), Text: sentence(parse.Message)}
}

// goTypes replaces the types of Go in the library's messages.
var goTypes = strings.NewReplacer("out of range for int64", "out of range: must be an integer of 64 bits",
	"out of range for float64", "out of range: must be at most 1.8e308 in size")

// sentence returns a message in the style of our errors: it begins in lower case,
// unless with an abbreviation, and has no full stop.
func sentence(text string) string {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "toml: "), ".")
	words := strings.Split(text, " ")
	for i := range words { // one of them is the invalid text
		words[i] = quote.Cut(words[i])
	}
	text = goTypes.Replace(strings.Join(words, " "))
	if strings.HasPrefix(text, "TOML") {
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToLower(first)) + text[size:]
}
