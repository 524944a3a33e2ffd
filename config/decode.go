package config

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"fedsim/internal/quote"
)

var nodeType = reflect.TypeFor[*Node]()

// Decode puts the value n, found at a dotted key ("" for the root), into the
// struct that into points to; keys that are absent keep the values the struct
// has, which are their defaults. It collects everything that is wrong: unknown
// keys (names are compared with case), values of the wrong type, integers out
// of range, numbers that are not finite.
//
// Integers are taken for floats, and floats that are whole, such as 1e3, for
// integers. Lists replace defaults as a
// whole. A field of type map[string]any, any or *Node takes what there is: it
// is left to the caller. A [Custom] field decodes itself.
func Decode(n *Node, key string, into any) Errors {
	var d decoder
	d.decode(n, key, reflect.ValueOf(into).Elem())
	return d.problems
}

// Custom is a pointer to a value with a form of its own in TOML, such as one of two
// types.
type Custom interface {
	// TypeTOML names the type as Field.Type does; alternatives stand beside "or".
	TypeTOML() string
	// DecodeTOML takes the value n, found at a dotted key, and returns what is wrong.
	DecodeTOML(n *Node, key string) Errors
	// MarshalTOML writes the value on one line.
	MarshalTOML() ([]byte, error)
}

var customType = reflect.TypeFor[Custom]()

// isCustom reports whether values of a type are Custom.
func isCustom(t reflect.Type) bool { return reflect.PointerTo(t).Implements(customType) }

type decoder struct{ problems Errors }

func (d *decoder) decode(n *Node, key string, v reflect.Value) {
	switch {
	case v.Type() == nodeType:
		v.Set(reflect.ValueOf(n))
		return
	case isCustom(v.Type()):
		d.problems.Merge(v.Addr().Interface().(Custom).DecodeTOML(n, key))
		return
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.decode(n, key, v.Elem())
		return
	case v.Kind() == reflect.Interface && v.NumMethod() == 0:
		v.Set(reflect.ValueOf(n.Value()))
		return
	}
	if ok := d.decodeKind(n, key, v); !ok {
		d.mismatch(n, key, "must be "+article(typeName(v.Type()))+asList(n, v.Type()))
	}
}

// decodeKind decodes by the kind of the field; it reports false when the value
// is of another type.
func (d *decoder) decodeKind(n *Node, key string, v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Struct:
		if n.kind != tableNode {
			return false
		}
		d.table(n, key, v)
	case reflect.Map:
		if n.kind != tableNode {
			return false
		}
		d.mapping(n, key, v)
	case reflect.Slice:
		if n.kind != listNode {
			return false
		}
		v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
		for i, item := range n.items {
			d.decode(item, fmt.Sprintf("%s[%d]", key, i), v.Index(i))
		}
	case reflect.String:
		s, ok := n.scalar.(string)
		if !ok {
			return false
		}
		v.SetString(s)
	case reflect.Bool:
		b, ok := n.scalar.(bool)
		if !ok {
			return false
		}
		v.SetBool(b)
	case reflect.Float32, reflect.Float64:
		return d.float(n, key, v)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		i, ok := n.integer()
		if !ok {
			return false
		}
		if v.OverflowInt(i) {
			d.mismatch(n, key, fmt.Sprintf("must be a whole number of %d bits", v.Type().Bits()))
			return true
		}
		v.SetInt(i)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		i, ok := n.integer()
		if !ok {
			return false
		}
		if i < 0 || v.OverflowUint(uint64(i)) {
			d.mismatch(n, key, fmt.Sprintf("must be a whole number of %d bits, not negative", v.Type().Bits()))
			return true
		}
		v.SetUint(uint64(i))
	default:
		panic(fmt.Sprintf("config: %s: fields of type %s cannot be decoded", key, v.Type()))
	}
	return true
}

// integer returns a number that is whole. A float has the value of the integer that was
// meant up to 2^53.
func (n *Node) integer() (i int64, ok bool) {
	switch x := n.scalar.(type) {
	case int64:
		return x, true
	case float64:
		return int64(x), math.Abs(x) <= 1<<53 && x == math.Trunc(x)
	default:
		return 0, false
	}
}

// asList says how to write a value as the list that a key of the type takes, which may be
// the value alone or, of a number of things, as many: [3] or [1, 2, 3]. It says nothing
// of other types.
func asList(n *Node, t reflect.Type) string {
	if t.Kind() != reflect.Slice || n.kind != scalarNode {
		return ""
	}
	text := ": write [" + quote.Cut(Literal(n.scalar)) + "]"
	if i, ok := n.integer(); ok && i > 1 && i <= 10 {
		all := make([]int64, i)
		for k := range all {
			all[k] = int64(k + 1)
		}
		text += " or " + Literal(all)
	}
	return text
}

// table decodes into a struct.
func (d *decoder) table(n *Node, key string, v reflect.Value) {
	fields := structFields(v.Type())
	for _, name := range n.keys {
		child := n.table[name]
		at := join(key, name)
		known := false
		for _, f := range fields {
			switch {
			case f.key == name:
				d.decode(child, at, v.FieldByIndex(f.index))
				known = true
			case f.was == name && name != "":
				d.problems.add(Located{Place: child.Key, Text: fmt.Sprintf("%s is now called %s", at, join(key, f.key)), Renamed: true})
				known = true
			}
		}
		if !known && len(d.problems) <= mostProblems {
			names := make([]string, len(fields))
			for i, f := range fields {
				names[i] = f.key
			}
			d.problems.Add(child.Key, UnknownName("key", at, name, names))
		}
	}
}

// mapping decodes into a map from names; entries that the map holds already
// serve as defaults.
func (d *decoder) mapping(n *Node, key string, v reflect.Value) {
	entries := reflect.MakeMap(v.Type())
	for _, name := range v.MapKeys() {
		entries.SetMapIndex(name, v.MapIndex(name))
	}
	for _, name := range n.keys {
		k := reflect.ValueOf(name).Convert(v.Type().Key())
		entry := reflect.New(v.Type().Elem()).Elem()
		if old := entries.MapIndex(k); old.IsValid() {
			entry.Set(old)
		}
		d.decode(n.table[name], join(key, name), entry)
		entries.SetMapIndex(k, entry)
	}
	v.Set(entries)
}

func (d *decoder) float(n *Node, key string, v reflect.Value) bool {
	var x float64
	switch value := n.scalar.(type) {
	case float64:
		x = value
	case int64:
		x = float64(value)
	default:
		return false
	}
	if math.IsNaN(x) || math.IsInf(x, 0) || v.OverflowFloat(x) {
		d.mismatch(n, key, "must be a finite number")
		return true
	}
	v.SetFloat(x)
	return true
}

// mismatch reports a value that does not fit its key.
func (d *decoder) mismatch(n *Node, key, want string) {
	value := n.Value()
	switch n.kind {
	case tableNode:
		value, want = nil, "is a table: "+want
	case listNode:
		value, want = nil, "is a list: "+want
	}
	d.problems.AddProblem(n.Place, Problem{Key: key, Value: value, Want: want})
}

// UnknownName says that a name is not known and which one may have been meant:
// `unknown key faults.drop_probabilty: did you mean drop_probability?`. What is
// the sort of name, at the name with its surroundings.
func UnknownName(what, at, name string, known []string) string {
	text := fmt.Sprintf("unknown %s %s", what, quote.Cut(at))
	if near := Nearest(name, known); near != "" {
		return text + ": did you mean " + near + "?"
	}
	if len(known) == 0 {
		return text + ": there are none"
	}
	return text + ": known are " + strings.Join(known, ", ")
}

// article puts the right one before a type's name.
func article(typeName string) string {
	switch typeName {
	case "float":
		return "a number"
	case "boolean":
		return "true or false"
	case "integer":
		return "an integer"
	default:
		return "a " + typeName
	}
}

// join appends a name to a dotted key.
func join(key, name string) string {
	name = Path{name}.String()
	if key == "" {
		return name
	}
	return key + "." + name
}
