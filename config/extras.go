package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Extras are keys that a struct has beside its fields: it has a field of the type with the tag toml:"-".
type Extras []Extra

// Extra is a table, or keys, as if they were fields of the struct.
type Extra struct {
	After string // the key that they follow; none of the struct: they are the last
	Key   string // of a table; empty: the fields of Value are keys of the struct itself
	Doc   string // of the table
	Value any    // a pointer to a struct that has the defaults
}

var extrasType = reflect.TypeFor[Extras]()

// Part returns the value of a type among extras.
func Part[T any](extras Extras) *T {
	for i := range extras {
		if part, is := extras[i].Value.(*T); is {
			return part
		}
	}
	panic(fmt.Sprintf("config: no extras of type %T", *new(T)))
}

// field is a configurable field of a value.
type field struct {
	*structField
	value reflect.Value
	after string // key that it follows as one of extras
}

// fieldsOf lists the configurable fields of a struct, its extras included.
func fieldsOf(v reflect.Value) (fields []field) {
	var extras Extras
	known := structFields(v.Type())
	fields = make([]field, 0, len(known))
	for _, f := range known {
		if value := v.FieldByIndex(f.index); value.Type() == extrasType {
			extras = append(extras, value.Interface().(Extras)...)
		} else {
			fields = append(fields, field{structField: f, value: value})
		}
	}
	for _, x := range extras {
		value := reflect.ValueOf(x.Value).Elem()
		more := []field{{structField: &structField{key: x.Key, doc: x.Doc}, value: value}}
		if x.Key == "" {
			more = fieldsOf(value)
		}
		next := len(fields)
		for i, f := range fields {
			if f.key == x.After || f.after == x.After && i == next {
				next = i + 1
			}
		}
		for i := range more {
			more[i].after = x.After
		}
		fields = slices.Insert(fields, next, more...)
	}
	return fields
}

// extended reports whether structs of a type, or those in their fields, or that these point to or list, may have
// extras, absent keys or words for numbers.
func extended(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t != extrasType {
		return t != nodeType && extended(t.Elem())
	}
	if t.Kind() != reflect.Struct || isCustom(t) {
		return t == extrasType
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("absent") != "" || f.Tag.Get("word") != "" || extended(f.Type) {
			return true
		}
	}
	return false
}

// flat returns a struct with a field for each configurable field of a struct, its extras included.
func flat(v reflect.Value) reflect.Value {
	var values []reflect.Value
	var types []reflect.StructField
	for i, f := range fieldsOf(v) {
		if f.meansAbsent(f.value) || f.option == "omitzero" && f.value.IsZero() {
			continue
		}
		value := withLists(f.value)
		if f.means(f.value) {
			value = reflect.ValueOf(f.word)
		}
		tag := strings.TrimSuffix(f.key+","+f.option, ",")
		values = append(values, value)
		types = append(types,
			reflect.StructField{Name: fmt.Sprint("F", i), Type: value.Type(),
				Tag: reflect.StructTag(fmt.Sprintf("toml:%q", tag))})
	}
	out := reflect.New(reflect.StructOf(types)).Elem()
	for i, value := range values {
		out.Field(i).Set(value)
	}
	return out
}
