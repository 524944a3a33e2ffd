package config

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// Encode writes a configuration struct as TOML with every key.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := toml.NewEncoder(&b)
	encoder.Indent = ""
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding the configuration: %w", err)
	}
	return b.Bytes(), nil
}

// Literal writes a scalar, a list or a map as a TOML value on one line. It
// panics for what TOML cannot hold.
func Literal(v any) string {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(map[string]any{"v": []any{[]any{v}}}); err != nil {
		panic(fmt.Sprintf("config: %v has no place in TOML: %v", v, err))
	}
	text := strings.TrimSpace(b.String())
	return strings.TrimSuffix(strings.TrimPrefix(text, "v = [["), "]]")
}

// Label writes a value as people name it: strings without quotes, numbers
// without a needless fraction ("3g", "0.5", "[0, 1]").
func Label(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return Literal(v)
	}
}

// InlineTable is a table that is encoded on one line in the order of its
// assignments, the dotted keys in quotes: { "run.rounds" = 5, "run.outer" = 2 }.
type InlineTable []Assignment

// MarshalTOML writes the table.
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
