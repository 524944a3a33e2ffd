package config

import (
	_ "embed"
	"reflect"
	"strings"
	"sync"
)

// keyDocs has the documentation of this module's keys, from the comments of their fields: a line
// for each, which the test of this file writes.
//
//go:embed keydocs.txt
var keyDocs string

// docs maps fields, as "package.Type.Field", to their lines in keyDocs.
var docs = sync.OnceValue(func() map[string]string {
	texts := map[string]string{}
	for line := range strings.Lines(keyDocs) {
		field, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		texts[field] = text
	}
	return texts
})

// docOf returns the documentation of the key of a struct's field: the tag doc, otherwise its
// comment.
func docOf(t reflect.Type, f reflect.StructField) string {
	if doc := f.Tag.Get("doc"); doc != "" {
		return doc
	}
	return docs()[t.PkgPath()+"."+t.Name()+"."+f.Name]
}
