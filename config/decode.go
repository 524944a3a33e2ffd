package config

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"fedsim/internal/tools/quote"
)

var nodeType = reflect.TypeFor[*Node]()

// Decode decodes the value n of a dotted key ("" for the root) into the struct that
// into points to. Fields without a key in n are unchanged: they hold their defaults. It
// returns all problems: unknown keys (case matters), values of the wrong type, integers
// out of range and numbers that are not finite.
//
// A float field takes an integer, and an integer field a whole float such as 1e3. A
// list replaces a default list as a whole. A field of type map[string]any, any or *Node
// takes any value, for the caller to check. A [Custom] field decodes itself.
func Decode(n *Node, key string, into any) Errors {
	var d decoder
	d.decode(n, key, reflect.ValueOf(into).Elem())
	return d.problems
}

// Custom is a pointer to a value that decodes itself, such as a value of one of two
// types.
type Custom interface {
	// TypeTOML returns the type as Field.Type has it; "or" separates alternatives.
	TypeTOML() string
	// DecodeTOML decodes the value n of a dotted key and returns all problems.
	DecodeTOML(n *Node, key string) Errors
	// MarshalTOML returns the value on one line.
	MarshalTOML() ([]byte, error)
}

// A Hinter is a pointer to a struct that knows where some keys belong that it does not have.
type Hinter interface {
	// HintTOML returns the key in place of an unknown name in the table n of a dotted key, or ""
	// if it is none that the struct knows of.
	HintTOML(n *Node, key, name string) string
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

// decodeKind decodes by the kind of the field. It reports false if the value has
// another type.
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

// integer returns a whole number. A float is exact up to 2^53.
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

// asList returns a hint for a scalar where the type is a list, empty for other types:
// the scalar 3 may stand for [3] or for [1, 2, 3].
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
	fields := fieldsOf(v)
	for _, name := range n.keys {
		child := n.table[name]
		at := join(key, name)
		known := false
		for _, f := range fields {
			switch {
			case f.key == name:
				d.field(child, at, f)
				known = true
			}
		}
		if !known && len(d.problems) <= mostProblems {
			names := make([]string, len(fields))
			for i, f := range fields {
				names[i] = f.key
			}
			text := UnknownName("key", at, name, names)
			if h, ok := v.Addr().Interface().(Hinter); ok {
				if hint := h.HintTOML(n, key, name); hint != "" {
					text = UnknownName("key", at, hint, []string{hint})
				}
			}
			d.problems.add(Located{Place: child.Key, Text: text, key: at})
		}
	}
}

// field decodes into a field of a struct.
func (d *decoder) field(n *Node, key string, f field) {
	if _, isText := n.scalar.(string); f.word != "" && n.scalar == f.word {
		root, _ := Parse("", []byte("value = "+f.number))
		d.decode(root.Child("value"), key, f.value)
		return
	} else if f.word != "" && isText && f.value.Kind() != reflect.String {
		d.mismatch(n, key, fmt.Sprintf("must be %s or %q", article(typeName(f.value.Type())), f.word))
		return
	}
	before := len(d.problems)
	if d.decode(n, key, f.value); len(d.problems) > before {
		return
	}
	switch {
	case f.meansAbsent(f.value):
		d.problems.AddProblem(n.Place,
			Problem{Key: key, Value: n.Value(), Want: "leave the key out: it is then " + f.meaning})
	case f.means(f.value):
		d.problems.AddProblem(n.Place, Problem{Key: key, Value: n.Value(), Want: fmt.Sprintf("write %q", f.word)})
	}
}

// mapping decodes into a map from names. Entries of the map are defaults.
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

// mismatch reports a value of the wrong type or range.
func (d *decoder) mismatch(n *Node, key, want string) {
	value := n.Value()
	switch n.kind {
	case tableNode:
		value, want = nil, "is a table: "+want
	case listNode:
		value, want = nil, "is a list: "+want
	}
	var problem Errors
	problem.AddProblem(n.Place, Problem{Key: key, Value: value, Want: want})
	problem[0].key = key
	d.problems.Merge(problem)
}

// UnknownName returns the text for an unknown name, with a suggestion: `unknown key
// faults.drop_probabilty: did you mean drop_probability?`. The kind is "key" or the
// like; at is the name with its context.
func UnknownName(kind, at, name string, known []string) string {
	text := fmt.Sprintf("unknown %s %s", kind, quote.Cut(at))
	if near := Nearest(name, known); near != "" {
		return text + ": did you mean " + near + "?"
	}
	if len(known) == 0 {
		return text + ": there are none"
	}
	return text + ": known are " + strings.Join(known, ", ")
}

// article returns the name of a type with its article.
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

func join(key, name string) string {
	name = Path{name}.String()
	if key == "" {
		return name
	}
	return key + "." + name
}
