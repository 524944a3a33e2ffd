package config

import (
	"slices"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

type inner struct {
	Depth int `toml:"depth" doc:"levels"`
}

type shared struct {
	Common string `toml:"common" doc:"in the outer table"`
}

type sample struct {
	shared
	Text    string           `toml:"text" doc:"a text"`
	Rate    float64          `toml:"rate" doc:"a rate" unit:"1/s"`
	Small   int8             `toml:"small" doc:"a small number"`
	Seeds   []uint64         `toml:"seeds" doc:"some seeds"`
	On      bool             `toml:"on" doc:"a switch"`
	Inner   inner            `toml:"inner" doc:"a table"`
	Chosen  *inner           `toml:"chosen" doc:"a table that may be absent"`
	List    []inner          `toml:"list" doc:"tables"`
	Named   map[string]inner `toml:"named" doc:"tables by name"`
	Free    map[string]any   `toml:"free" doc:"anything"`
	Raw     *Node            `toml:"raw" doc:"left to the caller"`
	Grid    [][]float64      `toml:"grid" doc:"numbers"`
	Ignored func()           `toml:"-"`
}

func decodeSample(t *testing.T, source string, into *sample) Errors {
	t.Helper()
	root := expect.Value(Parse("x.toml", []byte(source)))(t)
	return Decode(root, "", into)
}

func TestDecode(t *testing.T) {
	got := sample{
		Text: "default", Rate: 2, Seeds: []uint64{1, 2, 3}, Inner: inner{Depth: 4},
		Named: map[string]inner{"old": {Depth: 1}, "kept": {Depth: 2}},
	}
	defaults := got.Named
	problems := decodeSample(t, `
common = "c"
rate = 3
seeds = [9]
list = [{depth = 1}, {}]
grid = [[1, 2.5], []]
chosen = {}
[named]
old = {}
new.depth = 7
[free]
a = [1, {b = "c"}]
[raw]
x = 1
`, &got)
	expect.Must(t, problems == nil, "%v", problems)
	v := got.Raw.Child("x").Value()
	expect.That(t, v == int64(1), "raw.x = %v, want 1", v)
	got.Raw = nil
	want := sample{
		shared: shared{"c"}, Text: "default", Rate: 3, Seeds: []uint64{9}, Inner: inner{Depth: 4},
		Chosen: &inner{}, List: []inner{{1}, {}},
		Named: map[string]inner{"old": {1}, "kept": {2}, "new": {7}},
		Free:  map[string]any{"a": []any{int64(1), map[string]any{"b": "c"}}},
		Grid:  [][]float64{{1, 2.5}, {}},
	}
	diff := cmp.Diff(want, got, cmp.AllowUnexported(sample{}))
	expect.That(t, diff == "", "(-want +got):\n%s", diff)
	expect.That(t, len(defaults) == 2, "the map of the defaults has been changed to %v", defaults)
}

func TestDecodeErrors(t *testing.T) {
	const source = `Text = "a"
txt = "a"
small = 128
seeds = [1, -1]
on = 1
list = [{depth = "a"}, {dept = 1}]
rate = inf
free = 3
grid = [[true]]
[named.a]
depth = 1.5
[inner.depth]
`
	const want = `x.toml:1:1: unknown key Text: did you mean text?
x.toml:2:1: unknown key txt: did you mean text?
x.toml:3:9: small = 128: must be a whole number of 8 bits
x.toml:4:13: seeds[1] = -1: must be a whole number of 64 bits, not negative
x.toml:5:6: on = 1: must be true or false
x.toml:6:18: list[0].depth = "a": must be an integer
x.toml:6:25: unknown key list[1].dept: did you mean depth?
x.toml:7:8: rate = +Inf: must be a finite number
x.toml:8:8: free = 3: must be a table
x.toml:9:10: grid[0][0] = true: must be a number
x.toml:11:9: named.a.depth = 1.5: must be an integer
x.toml:12:1: inner.depth: is a table: must be an integer`
	got := decodeSample(t, source, &sample{}).Error()
	expect.That(t, got == want, "got\n%s\nwant\n%s", got, want)
	root := NewScalar("x", Place{})
	got = Decode(root, "a.b", &inner{}).Error()
	expect.That(t, got == `a.b = "x": must be a table`, "a value for a table: %s", got)
}

func TestFields(t *testing.T) {
	want := []Field{
		{Key: "common", Type: "string", Default: `"c"`, Doc: "in the outer table"},
		{Key: "text", Type: "string", Default: `"a \"b\""`, Doc: "a text"},
		{Key: "rate", Type: "float", Default: "2.0", Doc: "a rate", Unit: "1/s"},
		{Key: "small", Type: "integer", Default: "0", Doc: "a small number"},
		{Key: "seeds", Type: "list of integers", Default: "[1, 2]", Doc: "some seeds"},
		{Key: "on", Type: "boolean", Default: "false", Doc: "a switch"},
		{Key: "inner", Type: "table", Doc: "a table"},
		{Key: "inner.depth", Type: "integer", Default: "4", Doc: "levels"},
		{Key: "chosen", Type: "table", Doc: "a table that may be absent"},
		{Key: "chosen.depth", Type: "integer", Default: "0", Doc: "levels"},
		{Key: "list", Type: "list of tables", Doc: "tables"},
		{Key: "list[].depth", Type: "integer", Default: "0", Doc: "levels"},
		{Key: "named", Type: "table", Doc: "tables by name"},
		{Key: "named.<name>.depth", Type: "integer", Default: "0", Doc: "levels"},
		{Key: "free", Type: "table", Doc: "anything"},
		{Key: "raw", Type: "table", Doc: "left to the caller"},
		{Key: "grid", Type: "list of lists of floats", Default: "[]", Doc: "numbers"},
	}
	got := Fields(&sample{shared: shared{"c"}, Text: `a "b"`, Rate: 2, Seeds: []uint64{1, 2}, Inner: inner{4}})
	diff := cmp.Diff(want, got)
	expect.That(t, diff == "", "(-want +got):\n%s", diff)
}

func TestFieldWithoutTag(t *testing.T) {
	defer func() {
		expect.That(t, recover() != nil, "an exported field without a toml tag passes unnoticed")
	}()
	Fields(&struct{ A int }{})
}

// Deprecated keys work, are documented as such, and are noted where they are set.
func TestDeprecated(t *testing.T) {
	type inner struct {
		Old float64 `toml:"old" doc:"a share" deprecated:"use new"`
		New float64 `toml:"new" doc:"a share"`
	}
	type table struct {
		Inner inner    `toml:"inner" doc:"shares"`
		List  []string `toml:"list" doc:"names" deprecated:"it has no effect"`
	}
	defaults := func() *table { return &table{Inner: inner{Old: 0.5}, List: []string{"a"}} }
	for source, want := range map[string][]string{
		"":                                nil,
		"list = [\"a\"]\ninner.old = 0.5": nil,
		"inner.new = 1":                   nil,
		"inner.old = 1":                   {"inner.old is deprecated: use new"},
		"list = []\ninner = { old = 2, new=3 }": {"inner.old is deprecated: use new",
			"list is deprecated: it has no effect"},
	} {
		root := expect.Value(Parse("x.toml", []byte(source)))(t)
		s := defaults()
		problems := Decode(root, "", s)
		expect.That(t, problems == nil, "%s: %v", source, problems)
		got := Deprecated(s, defaults())
		expect.That(t, slices.Equal(got, want), "%s: %q, want %q", source, got, want)
	}
	f := Fields(defaults())[1]
	expect.That(t, f.Key == "inner.old" && f.Doc == "a share; deprecated: use new", "%+v", f)
}
