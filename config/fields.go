package config

import (
	"fmt"
	"reflect"
	"strings"
)

// Field describes one key of a configuration for the documentation and for
// completion.
type Field struct {
	Key     string // dotted; <name> stands for a free name, [] for an element of a list
	Type    string // "string", "integer", "float", "boolean", "table", "list of integers", "float or table", ...
	Default string // as TOML; empty for tables and for keys without a default
	Doc     string
	Unit    string // empty when the key names it or it has none
	// Choices are the names that the value, or each element of a list, must be one
	// of, as the struct's Validate asks for them; nil when any will do.
	Choices []string
}

// Fields lists the keys of a configuration struct, given by a pointer to a
// value that holds the defaults, in the order of the struct, nested tables
// after their own key. The check of every table (its Validate) is asked which names
// it takes.
func Fields(structPtr any) []Field {
	var fields []Field
	appendFields(&fields, "", reflect.ValueOf(structPtr).Elem())
	return fields
}

// choices returns the names that the check of a table asks for, by key.
func choices(v reflect.Value) map[string][]string {
	table, ok := v.Addr().Interface().(interface{ Validate(*Checker) })
	if !ok {
		return nil
	}
	c := NewChecker()
	table.Validate(c)
	return c.Choices()
}

func appendFields(fields *[]Field, prefix string, v reflect.Value) {
	names := choices(v)
	for _, f := range structFields(v.Type()) {
		value := v.FieldByIndex(f.index)
		field := Field{Key: prefix + f.key, Type: typeName(value.Type()), Doc: f.doc, Unit: f.unit, Choices: names[f.key]}
		inner, below := value.Type(), field.Key+"."
		switch {
		case inner == nodeType:
		case isCustom(inner):
			field.Default = Literal(value.Interface())
			*fields = append(*fields, field)
			continue
		case inner.Kind() == reflect.Struct:
			*fields = append(*fields, field)
			appendFields(fields, below, value)
			continue
		case inner.Kind() == reflect.Pointer && inner.Elem().Kind() == reflect.Struct:
			inner = inner.Elem()
		case inner.Kind() == reflect.Map && inner.Elem().Kind() == reflect.Struct:
			inner, below = inner.Elem(), field.Key+".<name>."
		case inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct:
			inner, below = inner.Elem(), field.Key+"[]."
		}
		if inner == nodeType || inner.Kind() != reflect.Struct {
			if inner != nodeType && inner.Kind() != reflect.Map && inner.Kind() != reflect.Interface {
				field.Default = Literal(value.Interface())
			}
			*fields = append(*fields, field)
			continue
		}
		*fields = append(*fields, field)
		appendFields(fields, below, reflect.New(inner).Elem())
	}
}

// structField is one configurable field of a struct.
type structField struct {
	key, doc, unit string
	was            string // former key
	index          []int
}

// structFields lists the fields of a configuration struct; those of an embedded
// struct without a tag of its own count as the outer struct's. It panics on an
// exported field without a toml tag: such a field could not be configured.
func structFields(t reflect.Type) []structField {
	var fields []structField
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		switch {
		case key == "-":
		case key == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			for _, inner := range structFields(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				fields = append(fields, inner)
			}
		case !f.IsExported():
		case key == "":
			panic(fmt.Sprintf("config: field %s of %s has no toml tag", f.Name, t))
		default:
			fields = append(fields, structField{
				key: key, doc: f.Tag.Get("doc"), unit: f.Tag.Get("unit"), was: f.Tag.Get("was"), index: []int{i},
			})
		}
	}
	return fields
}

// typeName names the TOML type of a Go type in the singular.
func typeName(t reflect.Type) string {
	if isCustom(t) {
		return reflect.New(t).Interface().(Custom).TypeTOML()
	}
	switch t.Kind() {
	case reflect.Pointer:
		if t == nodeType {
			return "table"
		}
		return typeName(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "integer"
	case reflect.Float32, reflect.Float64:
		return "float"
	case reflect.Slice, reflect.Array:
		return "list of " + typeNames(t.Elem())
	case reflect.Struct, reflect.Map:
		return "table"
	default:
		return "value"
	}
}

// typeNames names the type in the plural.
func typeNames(t reflect.Type) string {
	name := typeName(t)
	if rest, ok := strings.CutPrefix(name, "list of "); ok {
		return "lists of " + rest
	}
	return name + "s"
}
