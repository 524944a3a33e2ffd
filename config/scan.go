package config

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"

	"fedsim/internal/tools/quote"
)

// scanner finds the place of every key and value of a TOML document and the order of
// its keys. The TOML library reports neither: its metadata has no places, and one key
// for all elements of a list.
//
// The library checks the syntax, so the scanner accepts more than TOML. It reports two
// faults itself: values that lie too deep for the library, and keys that are set twice
// where the library drops one of the values ("a.b = 1" followed by "a = 2").
type scanner struct {
	file, source string
	lines        []int // offsets at which lines begin
	offset       int
	statement    int // offset of the header or the key at the top that is being read
}

// errMalformed stands for all that the library reports with a better text.
var errMalformed = errors.New("this TOML is not supported")

func newScanner(file, source string) *scanner {
	s := &scanner{file: file, source: source, lines: []int{0}}
	for i := range len(source) {
		if source[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// place returns the place of an offset.
func (s *scanner) place(offset int) Place {
	line := sort.SearchInts(s.lines, offset+1)
	return Place{File: s.file, Line: line, Column: offset - s.lines[line-1] + 1}
}

// document returns the tree of the document, its scalars without values.
func (s *scanner) document() (*Node, error) {
	root := NewTable(Place{File: s.file})
	table := root
	for {
		s.skipSpace()
		s.statement = s.offset
		var err error
		switch s.peek() {
		case 0:
			return root, nil
		case '[':
			table, err = s.header(root)
		default:
			err = s.keyValue(table, 0)
		}
		if err != nil {
			return nil, err
		}
	}
}

// header reads [a.b] or [[a.b]] and returns the table that it opens.
func (s *scanner) header(root *Node) (*Node, error) {
	at := s.place(s.offset)
	s.offset++
	element := s.peek() == '['
	if element {
		s.offset++
	}
	path, err := s.path(isBareByte, maxDepth)
	if err != nil {
		return nil, err
	}
	s.skip(func(c byte) bool { return c == ']' })

	table := root
	for i, key := range path {
		next := table.table[key]
		last := i == len(path)-1
		if next == nil {
			next = NewTable(at)
			if last && element {
				next.kind = listNode
			}
			table.add(key, next)
		}
		if last && element {
			next.items = append(next.items, NewTable(at))
		} else if last {
			next.Place, next.Key = at, at
		}
		if next.kind == listNode && len(next.items) > 0 {
			next = next.items[len(next.items)-1]
		}
		if next.kind != tableNode {
			return nil, errMalformed
		}
		table = next
	}
	return table, nil
}

// keyValue reads a.b = value into a table whose values lie at a depth; that of a table
// with a header is 0.
func (s *scanner) keyValue(table *Node, depth int) error {
	at := s.place(s.offset)
	path, err := s.path(isBareByte, maxDepth+1-depth)
	if err != nil {
		return err
	}
	s.skip(isBlank)
	if s.peek() != '=' {
		return errMalformed
	}
	s.offset++
	s.skip(isBlank)
	value, err := s.value(depth + len(path) - 1)
	if err != nil {
		return err
	}
	value.Key = at
	for i, key := range path {
		next := table.table[key]
		last := i == len(path)-1
		if next != nil && (last || next.kind != tableNode) {
			return Errors{{Place: at, Text: fmt.Sprintf("key %s is set twice", quote.Cut(path[:i+1].String()))}}
		}
		if last {
			table.add(key, value)
			break
		}
		if next == nil {
			next = NewTable(at)
			table.add(key, next)
		}
		table = next
	}
	return nil
}

// value reads any value that lies at a depth.
func (s *scanner) value(depth int) (*Node, error) {
	node := NewScalar(nil, s.place(s.offset))
	if c := s.peek(); (c == '[' || c == '{') && depth == maxDepth {
		return nil, s.tooDeep()
	}
	switch s.peek() {
	case '[':
		node.kind = listNode
		return node, s.enclosed(']', func() error {
			item, err := s.value(depth + 1)
			node.items = append(node.items, item)
			return err
		})
	case '{':
		node = NewTable(node.Place)
		return node, s.enclosed('}', func() error { return s.keyValue(node, depth+1) })
	case '"', '\'':
		s.skipString()
	default:
		start := s.offset
		s.skip(func(c byte) bool { return !strings.ContainsRune(",]}#\r\n", rune(c)) })
		if s.offset == start {
			return nil, errMalformed
		}
	}
	return node, nil
}

// enclosed reads elements separated by commas up to the closing bracket.
func (s *scanner) enclosed(closing byte, element func() error) error {
	s.offset++ // the opening bracket
	for {
		s.skipSpace()
		switch s.peek() {
		case 0:
			return errMalformed
		case closing:
			s.offset++
			return nil
		case ',':
			s.offset++
		default:
			if err := element(); err != nil {
				return err
			}
		}
	}
}

// path reads a dotted key of at most so many parts. A part without quotes consists of
// the bytes that bare reports.
func (s *scanner) path(bare func(byte) bool, most int) (Path, error) {
	var path Path
	for {
		s.skip(isBlank)
		if len(path) == most {
			return nil, s.tooDeep()
		}
		start := s.offset
		var part string
		if c := s.peek(); c == '"' || c == '\'' {
			s.skipString()
			var holder struct{ Key string }
			if _, err := toml.Decode("key = "+s.source[start:s.offset], &holder); err != nil {
				return nil, fmt.Errorf("the quoted part at column %d is not a TOML string", start+1)
			}
			part = holder.Key
		} else if s.skip(bare); s.offset == start {
			return nil,
				fmt.Errorf("a name is missing at column %d (a name that is not made of letters, digits, "+
					"- and _ needs quotes)", start+1)
		} else {
			part = s.source[start:s.offset]
		}
		path = append(path, part)
		s.skip(isBlank)
		if s.peek() != '.' {
			return path, nil
		}
		s.offset++
	}
}

// tooDeep reports the value or the part of a key at the offset.
func (s *scanner) tooDeep() error {
	return Errors{{Place: s.place(s.offset), Text: tooDeep}}
}

// skipString moves past a string of any of the four kinds.
func (s *scanner) skipString() {
	quote := s.source[s.offset : s.offset+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.source[s.offset:], triple) {
		quote = triple
	}
	s.offset += len(quote)
	for s.offset < len(s.source) {
		switch {
		case quote[0] == '"' && s.peek() == '\\':
			s.offset = min(s.offset+2, len(s.source))
		case strings.HasPrefix(s.source[s.offset:], quote):
			s.offset += len(quote)
			// The text of a multi-line string may end in up to two quotes.
			for more := 0; len(quote) == 3 && more < 2 && s.peek() == quote[0]; more++ {
				s.offset++
			}
			return
		default:
			s.offset++
		}
	}
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.offset < len(s.source) {
		return s.source[s.offset]
	}
	return 0
}

// skip moves past bytes of a class.
func (s *scanner) skip(class func(byte) bool) {
	for s.offset < len(s.source) && class(s.source[s.offset]) {
		s.offset++
	}
}

// skipSpace moves past white space, newlines and comments.
func (s *scanner) skipSpace() {
	for s.skip(isSpace); s.peek() == '#'; s.skip(isSpace) {
		s.skip(func(c byte) bool { return c != '\n' })
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isSpace(c byte) bool { return isBlank(c) || c == '\n' || c == '\r' }
