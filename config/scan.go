package config

import (
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"

	"fedsim/internal/quote"
)

// scanner walks the source of a document and notes where every key and value stands and in which order keys come. The
// library tells neither for the elements of lists: in its metadata all tables
// of an [[array]] share one key.
//
// Only valid TOML gets past the library, so that the scanner need but know where
// things end; on anything else it may say what it likes, but must come to an
// end. The one fault that is its own to find is a key that is set twice: the
// library overlooks some of those and drops a value in silence ("a.b = 1"
// followed by "a = 2").
type scanner struct {
	source string
	offset int
	place  func(offset int) Place
}

// document returns the skeleton of the document: tables, lists and scalars with
// places, the scalars without values.
func (s *scanner) document(root *Node) error {
	table := root
	for {
		s.skip(blankOrComment)
		if s.offset >= len(s.source) {
			return nil
		}
		var err error
		if s.source[s.offset] == '[' {
			table, err = s.header(root)
		} else {
			err = s.keyValue(table)
		}
		if err != nil {
			return err
		}
	}
}

// header reads [a.b] or [[a.b]] and returns the table it opens.
func (s *scanner) header(root *Node) (*Node, error) {
	at := s.place(s.offset)
	s.offset++
	element := s.peek() == '['
	if element {
		s.offset++
	}
	path, err := s.path(isBareByte)
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
		if next.kind == scalarNode || last && element && next.kind != listNode {
			return nil, twice(at, path[:i+1])
		}
		if last && !element {
			next.Place, next.Key = at, at
		}
		if next.kind == listNode {
			if last {
				next.items = append(next.items, NewTable(at))
			}
			if len(next.items) == 0 {
				return nil, twice(at, path[:i+1])
			}
			next = next.items[len(next.items)-1]
		}
		table = next
	}
	return table, nil
}

// keyValue reads a.b = value into the table.
func (s *scanner) keyValue(table *Node) error {
	start := s.offset
	path, err := s.path(isBareByte)
	if err != nil {
		return err
	}
	at := s.place(start)
	s.skip(isBlank)
	if s.peek() != '=' {
		return fmt.Errorf("no value for %s", path)
	}
	s.offset++
	s.skip(isBlank)
	value, err := s.value()
	if err != nil {
		return err
	}
	value.Key = at
	for i, key := range path[:len(path)-1] {
		next := table.table[key]
		if next == nil {
			next = NewTable(at)
			table.add(key, next)
		}
		if next.kind != tableNode {
			return twice(at, path[:i+1])
		}
		table = next
	}
	last := path[len(path)-1]
	if table.table[last] != nil {
		return twice(at, path)
	}
	table.add(last, value)
	return nil
}

// value reads any value.
func (s *scanner) value() (*Node, error) {
	at := s.place(s.offset)
	switch s.peek() {
	case '[':
		node := &Node{Place: at, Key: at, kind: listNode}
		err := s.enclosed(']', func() error {
			item, err := s.value()
			node.items = append(node.items, item)
			return err
		})
		return node, err
	case '{':
		node := NewTable(at)
		return node, s.enclosed('}', func() error { return s.keyValue(node) })
	case '"', '\'':
		s.str()
	default:
		end := strings.IndexAny(s.source[s.offset:], ",]}#\r\n")
		if end == 0 {
			return nil, fmt.Errorf("no value at offset %d", s.offset)
		}
		if end < 0 {
			end = len(s.source) - s.offset
		}
		s.offset += end
	}
	return &Node{Place: at, Key: at}, nil
}

// enclosed reads elements separated by commas up to the closing bracket.
func (s *scanner) enclosed(closing byte, element func() error) error {
	s.offset++ // the opening bracket
	for {
		s.skip(blankOrComment)
		switch s.peek() {
		case 0:
			return fmt.Errorf("no %q before the end", closing)
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

// path reads a dotted key; bare tells what a segment without quotes consists of.
func (s *scanner) path(bare func(byte) bool) (Path, error) {
	var path Path
	for {
		s.skip(isBlank)
		start := s.offset
		var segment string
		switch c := s.peek(); {
		case c == '"' || c == '\'':
			s.str()
			var holder struct{ Key string }
			if _, err := toml.Decode("key = "+s.source[start:s.offset], &holder); err != nil {
				return nil, fmt.Errorf("the quoted part at column %d is not a TOML string", start+1)
			}
			segment = holder.Key
		default:
			s.skip(bare)
			segment = s.source[start:s.offset]
			if segment == "" && len(path) == 0 && start >= len(s.source) {
				return nil, fmt.Errorf("empty key")
			}
			if segment == "" {
				return nil, fmt.Errorf("a name is missing at column %d (a name that is not made of letters, digits, - and _ needs quotes)", start+1)
			}
		}
		if path = append(path, segment); len(path) > maxDepth+1 {
			return nil, fmt.Errorf("the key %s", tooDeep)
		}
		s.skip(isBlank)
		if s.peek() != '.' {
			return path, nil
		}
		s.offset++
	}
}

// str moves past a string of any of the four kinds.
func (s *scanner) str() {
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
			// A multi-line string may end in up to two quotes of its own.
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

// skip moves past bytes of a class; blankOrComment (nil) moves past white
// space, newlines and comments.
func (s *scanner) skip(class func(byte) bool) {
	for s.offset < len(s.source) {
		c := s.source[s.offset]
		switch {
		case class != nil:
			if !class(c) {
				return
			}
			s.offset++
		case c == '#':
			end := strings.IndexByte(s.source[s.offset:], '\n')
			if end < 0 {
				s.offset = len(s.source)
				return
			}
			s.offset += end
		case isBlank(c) || c == '\n' || c == '\r':
			s.offset++
		default:
			return
		}
	}
}

// blankOrComment asks skip to cross lines.
var blankOrComment func(byte) bool

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// twice reports a key that already has a value.
func twice(at Place, path Path) error {
	return Errors{{Place: at, Text: fmt.Sprintf("key %s is set twice", quote.Cut(path.String()))}}
}
