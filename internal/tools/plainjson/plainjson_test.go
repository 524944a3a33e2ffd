package plainjson

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

type inner struct {
	Low float64 `json:"low"`
}

// Numbers that JSON does not have are null, nil lists are empty, and everything else is as
// encoding/json writes it.
func TestPrint(t *testing.T) {
	type record struct {
		inner
		High   float64            `json:"high"`
		Points []float64          `json:"points"`
		Names  []string           `json:"names"`
		Ends   map[string]float64 `json:"ends"`
		Text   string             `json:"text"`
	}
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"undefined",
			record{inner{math.NaN()}, math.Inf(1), []float64{1, math.Inf(-1)}, nil,
				map[string]float64{"b": math.NaN(), "a": 1}, "a<b&c"},
			`{"low":null,"high":null,"points":[1,null],"names":[],"ends":{"a":1,"b":null},"text":"a<b&c"}`},
		{"numbers", []float64{0, 1, -1.5, 1e-7, 1e21, 123456789.125, math.MaxFloat64, 0.1}, ""},
		{"bytes", map[string]any{"b": []byte("abc"), "n": uint64(math.MaxUint64), "p": (*int)(nil)}, ""},
	} {
		want := c.want
		if want == "" {
			text := expect.Value(json.Marshal(c.v))(t)
			want = string(text)
		}
		var got bytes.Buffer
		if err := Print(&got, c.v); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		var flat bytes.Buffer
		if err := json.Compact(&flat, got.Bytes()); err != nil || flat.String() != want {
			t.Errorf("%s: %s (%v), must be %s", c.name, flat.String(), err, want)
		}
	}
}

// The text of a page cannot end its script element.
func TestEmbed(t *testing.T) {
	var b strings.Builder
	err := Embed(&b, "</script>\xff")
	expect.That(t, err == nil && b.String() == "\"\\u003c/script\\u003e\ufffd\"\n", "%q, %v", b.String(), err)
}
