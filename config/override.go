package config

import (
	"fmt"
	"strings"

	"fedsim/internal/tools/quote"
)

// ParseOverride parses the argument of --set: a dotted key, an equals sign and a TOML
// value. A value that is not TOML is a string unless it begins like a string, a list or a
// table, so --set network.profile=3g needs no quotes. Without a value, the key is left out: [Node.Set] removes it.
func ParseOverride(argument string) (Assignment, error) {
	if strings.TrimSpace(argument) == "" {
		return Assignment{}, Errors{{Text: "--set: must be key=value"}}
	}
	at := Place{Override: argument}
	fail := func(format string, args ...any) (Assignment, error) {
		return Assignment{}, Errors{{Place: at, Text: fmt.Sprintf(format, args...)}}
	}
	s := scanner{source: argument, lines: []int{0}}
	path, err := s.path(isBareByte, maxDepth+1)
	if err != nil {
		return fail("%v: must be key=value", err)
	}
	if s.peek() != '=' {
		return fail("must be key=value")
	}
	text := strings.TrimSpace(argument[s.offset+1:])
	if text == "" {
		return Assignment{Path: path, Value: &Node{Place: at, Key: at, kind: absentNode}}, nil
	}

	root, err := Parse("", []byte("value = "+text))
	if err == nil && len(root.keys) == 1 && !strings.Contains(text, "\n") {
		value := root.Child("value")
		value.relocate(at)
		return Assignment{Path: path, Value: value}, nil
	}
	switch wrong, _ := err.(Errors); {
	case len(wrong) > 0 && wrong[0].Text == tooDeep:
		return fail("%s", tooDeep)
	case strings.Contains(text, "\n"):
		return fail("the value must be on one line")
	case text[0] == '[' && len(wrong) > 0 && strings.Contains(wrong[0].Text, "out of range"):
		return fail("%s", wrong[0].Text)
	case text[0] == '[':
		return fail(`%s is not a TOML value: strings within a list need quotes, ["a", "b"]`, quote.Cut(text))
	case strings.ContainsAny(text[:1], `"'{`):
		return fail("%s is not a TOML value: %s", quote.Cut(text), err.(Errors)[0].Text)
	}
	return Assignment{Path: path, Value: NewScalar(text, at)}, nil
}

// relocate sets the place of every value of the tree.
func (n *Node) relocate(at Place) {
	n.Place, n.Key = at, at
	for _, child := range n.table {
		child.relocate(at)
	}
	for _, item := range n.items {
		item.relocate(at)
	}
}
