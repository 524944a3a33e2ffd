// Package plainjson encodes records as JSON for scripts and pages: a number that is NaN or
// infinite is null, a nil list is [], and maps are in the order of their keys.
//
// It must not know the meaning of records.
package plainjson

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// nullIfUndefined writes null in place of a number that JSON does not have.
var nullIfUndefined = json.MarshalToFunc(func(to *jsontext.Encoder, x float64) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return to.WriteToken(jsontext.Null)
	}
	return errors.ErrUnsupported // to the encoder of numbers
})

var options = json.JoinOptions(
	json.WithMarshalers(nullIfUndefined), json.Deterministic(true), jsontext.AllowInvalidUTF8(true),
)

// Print writes a value with a line for each field, and a line break at the end.
func Print(w io.Writer, v any) error { return write(w, v, jsontext.WithIndent("  ")) }

// Line writes a value on one line.
func Line(w io.Writer, v any) error { return write(w, v, jsontext.Multiline(false)) }

// Embed writes a value on one line that may stand in a script element of HTML.
func Embed(w io.Writer, v any) error { return write(w, v, jsontext.EscapeForHTML(true)) }

func write(w io.Writer, v any, form json.Options) error {
	text, err := json.Marshal(v, options, form)
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
