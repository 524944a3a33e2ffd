package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Field describes a key for the documentation and for completion.
type Field struct {
	Key string // dotted; <name> is a free name, [] an element of a list
	// Type is "string", "integer", "float", "boolean", "table", "list of integers", "float or table", or a number or a
	// word in quotes, such as `float or "fill"`.
	Type    string
	Default string // as TOML; empty for tables and for keys without a default
	Doc     string
	Unit    string // empty if the key names it or there is none
	Absent  string // what it means that the key is absent: it then has no default; empty for keys with a default
	// Deprecated says what replaces a key that the next major version removes; empty for others. Doc
	// has it, too.
	Deprecated string
	// Choices are the names that Validate accepts for the value, or for each element
	// of a list; nil: any.
	Choices []string
}

// Fields lists the keys of a configuration struct in its order. structPtr points to a
// struct with the defaults. The keys of a nested table follow the key of the table.
// Choices are from the Validate method of each table.
func Fields(structPtr any) []Field {
	var fields []Field
	appendFields(&fields, "", reflect.ValueOf(structPtr).Elem())
	return fields
}

// Deprecated returns a note for each deprecated key of a configuration struct whose value differs
// from that of another struct of the type, which has the defaults.
func Deprecated(structPtr, defaults any) (notes []string) {
	t := reflect.TypeOf(defaults)
	some, known := deprecating.Load(t)
	if known && some == false {
		return nil
	}
	standard := Fields(defaults)
	deprecating.Store(t, slices.ContainsFunc(standard, func(f Field) bool { return f.Deprecated != "" }))
	for i, f := range Fields(structPtr) {
		if f.Deprecated != "" && f.Default != standard[i].Default {
			notes = append(notes, fmt.Sprintf("%s is deprecated: %s", f.Key, f.Deprecated))
		}
	}
	return notes
}

// choices returns the names that the Validate method of a table accepts, by key.
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
	for _, f := range fieldsOf(v) {
		value := f.value
		field := Field{Key: prefix + f.key, Type: typeName(value.Type()), Doc: f.doc, Unit: f.unit,
			Choices: names[f.key], Deprecated: f.deprecated}
		if f.word != "" && field.Type != "string" {
			field.Type += " or " + Literal(f.word)
		}
		field.Choices = f.choices(field.Choices)
		if f.deprecated != "" {
			field.Doc += "; deprecated: " + f.deprecated
		}
		if f.meaning != "" {
			field.Absent = f.meaning
			field.Doc += "; absent: " + f.meaning
		}
		inner, below := value.Type(), field.Key+"."
		switch {
		case inner == nodeType:
		case isCustom(inner):
			if f.meaning == "" {
				field.Default = Literal(value.Interface())
			}
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
			if inner != nodeType && inner.Kind() != reflect.Map && inner.Kind() != reflect.Interface &&
				f.meaning == "" {
				field.Default = Literal(value.Interface())
			}
			if f.means(value) {
				field.Default = Literal(f.word)
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
	key, doc, unit  string
	absent, meaning string // the value, as TOML, that stands for an absent key, which nobody writes, and what it means
	number, word    string // the number, as TOML, that stands for a word, which nobody writes
	deprecated      string // what replaces the key
	index           []int
	option          string // "omitempty", "omitzero" or empty
}

// meansAbsent reports whether the value of the field stands for an absent key.
func (f *structField) meansAbsent(value reflect.Value) bool {
	return f.meaning != "" && is(value, f.absent)
}

// means reports whether a value stands for the word of the field.
func (f *structField) means(value reflect.Value) bool {
	return f.word != "" && is(value, f.number)
}

// is reports whether Literal has a text for a value: zeros, the most frequent ones, are compared without it.
func is(value reflect.Value, text string) bool {
	switch kind := value.Kind(); {
	case isCustom(value.Type()):
	case text == "0.0" && (kind == reflect.Float64 || kind == reflect.Float32), text == "0" && value.CanInt(),
		text == `""` && kind == reflect.String, text == "false" && kind == reflect.Bool:
		return value.IsZero()
	}
	return Literal(value.Interface()) == text
}

// literalOf returns a value of a type as Literal does. It panics if the text is no such value.
func literalOf(t reflect.Type, text string) string {
	value := reflect.New(t)
	root, err := Parse("", []byte("value = "+text))
	if err == nil {
		err = Decode(root.Child("value"), "", value.Interface()).Err()
	}
	if err != nil {
		panic(fmt.Sprintf("config: %s is not a %s: %v", text, t, err))
	}
	return Literal(value.Elem().Interface())
}

// choices returns the names that files have for a value, of those that Validate accepts.
func (f *structField) choices(names []string) []string {
	empty := slices.Index(names, "")
	switch {
	case empty >= 0 && f.word != "":
		names = slices.Clone(names)
		names[empty] = f.word
	case empty >= 0 && f.absent == `""`:
		names = slices.Delete(slices.Clone(names), empty, empty+1)
	}
	return names
}

// structFields lists the fields of a configuration struct, with those of embedded
// structs without a tag. It panics on an exported field without a toml tag: no key
// could set it.
func structFields(t reflect.Type) []*structField {
	if known, ok := knownFields.Load(t); ok {
		return known.([]*structField)
	}
	var fields []*structField
	for i := range t.NumField() {
		f := t.Field(i)
		key, option, _ := strings.Cut(f.Tag.Get("toml"), ",")
		switch {
		case f.Type == extrasType:
			fields = append(fields, &structField{index: []int{i}})
		case key == "-":
		case key == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			for _, inner := range structFields(f.Type) {
				inner := *inner
				inner.index = slices.Concat([]int{i}, inner.index)
				fields = append(fields, &inner)
			}
		case !f.IsExported():
		case key == "":
			panic(fmt.Sprintf("config: field %s of %s has no toml tag", f.Name, t))
		default:
			absent, meaning := standIn(f, "absent")
			number, word := standIn(f, "word")
			fields = append(fields, &structField{
				key: key, doc: docOf(t, f), unit: f.Tag.Get("unit"), absent: absent, meaning: meaning,
				number: number, word: word, deprecated: f.Tag.Get("deprecated"), index: []int{i},
				option: option,
			})
		}
	}
	knownFields.Store(t, fields)
	return fields
}

// standIn returns the value, as TOML, and its meaning, of a tag such as `absent:"-1: the profile's"`.
func standIn(f reflect.StructField, tag string) (value, meaning string) {
	value, meaning, ok := strings.Cut(f.Tag.Get(tag), ": ")
	if ok {
		value = literalOf(f.Type, value)
	}
	return value, meaning
}

// knownFields holds the results of structFields by type, and deprecating whether a type has
// deprecated keys.
var knownFields, deprecating sync.Map

// typeName returns the TOML type of a Go type in the singular.
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

// typeNames returns the type in the plural.
func typeNames(t reflect.Type) string {
	name := typeName(t)
	if rest, ok := strings.CutPrefix(name, "list of "); ok {
		return "lists of " + rest
	}
	return name + "s"
}
