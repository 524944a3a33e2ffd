package config

import (
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

func TestEncodeWritesEveryKey(t *testing.T) {
	options := any(&inner{Depth: 3})
	text := expect.Value(Encode(struct {
		Empty   []int          `toml:"empty"`
		Options any            `toml:"options"`
		Set     InlineTable    `toml:"set"`
		None    InlineTable    `toml:"none,omitempty"`
		Named   map[string]any `toml:"named"`
		Lists   []struct {
			Never []int `toml:"never"`
		} `toml:"lists"`
	}{
		Options: options,
		Set: InlineTable{
			{Path{"z", "y"}, NewScalar(0.5, Place{})},
			{Path{"a b"}, NewList([]*Node{NewScalar("\"\n", Place{}), NewTable(Place{})}, Place{})},
		},
		Named: map[string]any{"b": []string(nil), "a": 1e-9},
		Lists: []struct {
			Never []int `toml:"never"`
		}{{}},
	}))(t)
	const want = `empty = []
set = { "z.y" = 0.5, "\"a b\"" = ["\"\n", {}] }

[options]
depth = 3

[named]
a = 1e-09
b = []

[[lists]]
never = []
`
	diff := cmp.Diff(want, string(text))
	expect.That(t, diff == "", "(-want +got):\n%s", diff)
	if _, err := Encode(struct {
		F func() `toml:"f"`
	}{func() {}}); err == nil {
		t.Error("a function has been encoded")
	}
}

func TestLabel(t *testing.T) {
	for _, test := range []struct {
		value any
		want  string
	}{
		{"3g", "3g"}, {0.5, "0.5"}, {1.0, "1"}, {int64(1), "1"}, {1e-7, "1e-07"}, {true, "true"},
		{[]any{int64(0), "a"}, `[0, "a"]`}, {[]any{}, "[]"},
	} {
		got := Label(test.value)
		expect.That(t, got == test.want, "Label(%v) = %s, want %s", test.value, got, test.want)
	}
}
