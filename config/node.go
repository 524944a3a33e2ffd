package config

import (
	"fmt"
	"slices"
)

// Node is a value of a TOML document with its place: a table with its keys in the order
// of the file, a list, or a scalar (string, int64, float64, bool or time.Time).
//
// A value has its place also in a tree that Set composed of several documents and
// overrides, so an error can name the line or the override.
type Node struct {
	Place Place // of the value
	Key   Place // of the key that holds the value; of the value itself in a list

	kind   kind
	scalar any
	keys   []string // of a table, in the order of the file
	table  map[string]*Node
	items  []*Node
}

type kind uint8

const (
	scalarNode kind = iota
	tableNode
	listNode
	absentNode // in the place of a key that is to be left out
)

// NewTable returns an empty table at a place.
func NewTable(at Place) *Node {
	return &Node{Place: at, Key: at, kind: tableNode, table: map[string]*Node{}}
}

// NewScalar returns a string, int64, float64 or bool at a place.
func NewScalar(value any, at Place) *Node { return &Node{Place: at, Key: at, scalar: value} }

// SetText replaces the text n. The place stays.
func (n *Node) SetText(text string) { n.scalar = text }

// IsTable reports whether n is a table.
func (n *Node) IsTable() bool { return n.kind == tableNode }

// IsAbsent reports whether n stands for a key that is left out.
func (n *Node) IsAbsent() bool { return n.kind == absentNode }

// IsList reports whether n is a list (of values or of tables).
func (n *Node) IsList() bool { return n.kind == listNode }

// Keys returns the keys of a table in the order of the file; nil for others.
func (n *Node) Keys() []string { return n.keys }

// Items returns the elements of a list; nil for others.
func (n *Node) Items() []*Node { return n.items }

// Child returns the value at key of a table, or nil.
func (n *Node) Child(key string) *Node { return n.table[key] }

// Value returns the plain value: map[string]any for a table, []any for a list,
// or the scalar itself.
func (n *Node) Value() any {
	switch n.kind {
	case tableNode:
		values := make(map[string]any, len(n.keys))
		for _, key := range n.keys {
			values[key] = n.table[key].Value()
		}
		return values
	case listNode:
		values := make([]any, len(n.items))
		for i, item := range n.items {
			values[i] = item.Value()
		}
		return values
	default:
		return n.scalar
	}
}

// Clone returns a copy of the tree. Set on the copy does not change n. Both share lists
// and scalars, which never change.
func (n *Node) Clone() *Node {
	if n.kind != tableNode {
		return n
	}
	clone := *n
	clone.keys = slices.Clone(n.keys)
	clone.table = make(map[string]*Node, len(n.table))
	for key, child := range n.table {
		clone.table[key] = child.Clone()
	}
	return &clone
}

// Set puts a value at a path below the table n, in place of any other. It creates
// missing tables on the path at the place of the value. A table replaces a value of
// another type: some keys take either. An absent value removes the key.
func (n *Node) Set(path Path, value *Node) error {
	if len(path) == 0 {
		return fmt.Errorf("empty key")
	}
	table := n
	for _, key := range path[:len(path)-1] {
		next := table.table[key]
		if next == nil || next.kind != tableNode {
			next = NewTable(value.Place)
			next.Key = value.Key
			table.add(key, next)
		}
		table = next
	}
	if key := path[len(path)-1]; value.kind == absentNode {
		table.Delete(key)
	} else {
		table.add(key, value)
	}
	return nil
}

// Delete removes the key from the table n.
func (n *Node) Delete(key string) {
	if _, ok := n.table[key]; ok {
		delete(n.table, key)
		n.keys = slices.DeleteFunc(n.keys, func(k string) bool { return k == key })
	}
}

// add puts child at key of a table.
func (n *Node) add(key string, child *Node) {
	if _, ok := n.table[key]; !ok {
		n.keys = append(n.keys, key)
	}
	n.table[key] = child
}

// Assignment is a value with its path.
type Assignment struct {
	Path  Path
	Value *Node
}

// Assignments returns the values of a table and of the tables in it, in the order of
// the file. A key may be a dotted path in quotes: {"run.rounds" = 5} and
// {run = {rounds = 5}} give the same. A key that is not a path is a problem.
func (n *Node) Assignments() ([]Assignment, Errors) {
	var found []Assignment
	var problems Errors
	var flatten func(table *Node, under Path)
	flatten = func(table *Node, under Path) {
		for _, key := range table.keys {
			child := table.table[key]
			tail, err := ParsePath(key)
			if err != nil {
				problems.Add(child.Key, fmt.Sprintf("key %q: %v", key, err))
				continue
			}
			path := slices.Concat(under, tail)
			if child.kind == tableNode {
				flatten(child, path)
				continue
			}
			found = append(found, Assignment{Path: path, Value: child})
		}
	}
	flatten(n, nil)
	return found, problems
}

// PlaceOf returns the place of the value of a dotted key, which may have indices in
// brackets. For a default it returns the place of the innermost table around it that
// has one.
func (n *Node) PlaceOf(key string) Place {
	place := n.Place
	path, err := ParsePath(key)
	if err != nil {
		return place
	}
	for node, rest := n, path; len(rest) > 0; rest = rest[1:] {
		name, index := cutIndex(rest[0])
		node = node.table[name]
		if node == nil {
			break
		}
		if index >= 0 && index < len(node.items) {
			node = node.items[index]
		}
		if node.Place.known() {
			place = node.Place
		}
	}
	return place
}

// NewList returns a list at a place.
func NewList(items []*Node, at Place) *Node {
	return &Node{Place: at, Key: at, kind: listNode, items: items}
}
