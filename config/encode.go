package config

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Encode returns a configuration struct as TOML with every key, also those of empty
// lists.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := toml.NewEncoder(&b)
	encoder.Indent = ""
	if err := encoder.Encode(withLists(reflect.ValueOf(v)).Interface()); err != nil {
		return nil, fmt.Errorf("encoding the configuration: %w", err)
	}
	return b.Bytes(), nil
}

// Literal returns a scalar, a list or a map as a TOML value on one line. It panics for
// values that TOML does not have.
func Literal(v any) string {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).
		Encode(map[string]any{"v": []any{[]any{withLists(reflect.ValueOf(v)).Interface()}}}); err != nil {
		panic(fmt.Sprintf("config: %v has no form in TOML: %v", v, err))
	}
	text := strings.TrimSpace(b.String())
	return strings.TrimSuffix(strings.TrimPrefix(text, "v = [["), "]]")
}

// Label returns a value as a label: strings without quotes, numbers in the shortest
// form ("3g", "0.5", "[0, 1]").
func Label(v any) string {
	switch v := v.(type) {
	case nil:
		return "absent"
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return Literal(v)
	}
}

// InlineTable is a table that is encoded on one line, in the order of its assignments
// and with dotted keys in quotes: { "run.rounds" = 5, "run.outer" = 2 }.
type InlineTable []Assignment

// MarshalTOML returns the table as TOML.
func (t InlineTable) MarshalTOML() ([]byte, error) {
	var b strings.Builder
	b.WriteString("{")
	for i, a := range t {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %s = %s", Literal(a.Path.String()), Literal(a.Value.Value()))
	}
	b.WriteString(" }")
	return []byte(b.String()), nil
}

// withLists returns a copy of v with empty lists in place of nil, since the library
// omits keys of nil lists. Structs with extras have another type.
func withLists(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Struct && extended(v.Type()) {
		return flat(v)
	}
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(withLists(v.Field(i)))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			elem := withLists(v.Elem())
			out = reflect.New(elem.Type())
			out.Elem().Set(elem)
		}
	case reflect.Interface:
		if !v.IsNil() {
			out.Set(withLists(v.Elem()))
		}
	case reflect.Map:
		if !v.IsNil() {
			if extended(v.Type().Elem()) { // entries may differ in the keys that they have
				out = reflect.New(reflect.MapOf(v.Type().Key(), reflect.TypeFor[any]())).Elem()
			}
			out.Set(reflect.MakeMap(out.Type()))
			for _, key := range v.MapKeys() {
				out.SetMapIndex(key, withLists(v.MapIndex(key)))
			}
		}
	case reflect.Slice:
		if extended(v.Type().Elem()) {
			out = reflect.New(reflect.TypeFor[[]any]()).Elem()
		}
		out.Set(reflect.MakeSlice(out.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(withLists(v.Index(i)))
		}
	}
	return out
}
