package config

import (
	"fmt"
	"slices"
)

// Node is one value of a TOML document together with its place: a table whose
// keys keep the order of the file, a list, or a scalar (string, int64, float64,
// bool or time.Time).
//
// Places travel with the values when trees are laid over each other with Set,
// so that a message about the composed tree can name the line or the override
// that a value came from.
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
)

// NewTable returns an empty table at a place.
func NewTable(at Place) *Node {
	return &Node{Place: at, Key: at, kind: tableNode, table: map[string]*Node{}}
}

// NewScalar returns a string, int64, float64 or bool at a place.
func NewScalar(value any, at Place) *Node { return &Node{Place: at, Key: at, scalar: value} }

// SetText replaces the text that n is; it keeps its place.
func (n *Node) SetText(text string) { n.scalar = text }

// IsTable reports whether n is a table.
func (n *Node) IsTable() bool { return n.kind == tableNode }

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

// Clone returns a copy of the tree that can be changed by Set without changing
// n. Lists and scalars are never changed in place and are shared.
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

// Set puts value at the path below the table n, over what was there. Missing
// tables on the way are created at the value's place, and stand in the place of what
// is no table: some keys take a table or another value.
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
	table.add(path[len(path)-1], value)
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

// Assignment is a value with the path at which it belongs.
type Assignment struct {
	Path  Path
	Value *Node
}

// Assignments flattens a table into its values that are not tables themselves,
// in the order of the file. A key may be a whole dotted path in quotes:
// {"run.rounds" = 5} and {run = {rounds = 5}} flatten to the same. A key that
// is no such path is a problem at its place.
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

// PlaceOf returns the place of the value at a dotted key as Checker writes it
// (indices in brackets are understood), or, where the value is a default, that
// of the innermost table around it which was written down.
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
