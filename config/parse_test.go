package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fedsim/internal/tools/expect"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

const places = "# a comment\n" +
	"name = \"x\" # more\r\n" +
	"\"quoted key\" . b = 1\n" +
	"list = [1,\n  [2, 3], # inner\n  { a = 4, b.c = '''\nraw''''', },\n]\n" +
	"[table.sub]\n" +
	"\tindented = true\n" +
	"[[element]]\n" +
	"key = 1979-05-27 07:32:00\n" +
	"[[element]]\n" +
	"key = \"\"\"a \\\"\"\" ]]\"\"\"\"\n" +
	"[element.below]\n" +
	"key = -0.5e3\n" +
	"[[element.inner]]\n" +
	"[[element.inner]]\n" +
	"key = false\n"

func TestPlaces(t *testing.T) {
	root := expect.Value(Parse("x.toml", []byte(places)))(t)
	for _, test := range []struct{ key, want string }{
		{"name", "x.toml:2:8"},
		{`"quoted key"`, "x.toml:3:1"},
		{`"quoted key".b`, "x.toml:3:20"},
		{"list", "x.toml:4:8"},
		{"list[0]", "x.toml:4:9"},
		{"list[1]", "x.toml:5:3"},
		{"list[2].a", "x.toml:6:9"},
		{"list[2].b.c", "x.toml:6:18"},
		{"list[2].nothing", "x.toml:6:3"},
		{"table", "x.toml:9:1"},
		{"table.sub", "x.toml:9:1"},
		{"table.sub.indented", "x.toml:10:13"},
		{"table.sub.absent", "x.toml:9:1"},
		{"element[0].key", "x.toml:12:7"},
		{"element[1].key", "x.toml:14:7"},
		{"element[1].below.key", "x.toml:16:7"},
		{"element[1].inner[0].key", "x.toml:17:1"},
		{"element[1].inner[1].key", "x.toml:19:7"},
		{"nowhere.at.all", "x.toml"},
	} {
		got := root.PlaceOf(test.key).String()
		expect.That(t, got == test.want, "PlaceOf(%s) = %s, want %s", test.key, got, test.want)
	}
	diff := cmp.Diff([]string{"name", "quoted key", "list", "table", "element"}, root.Keys())
	expect.That(t, diff == "", "keys out of the order of the file (-want +got):\n%s", diff)
}

// The tree has the values that the library reads.
func TestParseAgainstLibrary(t *testing.T) {
	for _, source := range []string{places, "", "\ufeffa = 1", "a.b.c = 1\na.b.d = 2", "a = []\nb = {}",
		"a = [{}, {b = [[]]}]", "[a.b]\n[a]\nc = 1"} {
		sameAsLibrary(t, source)
	}
}

func sameAsLibrary(t *testing.T, source string) {
	t.Helper()
	root, err := Parse("x.toml", []byte(source))
	if err != nil && (strings.Contains(err.Error(), tooDeep) || len(source) > MaxSource) {
		return // the library would take too much time and memory
	}
	want := map[string]any{}
	if _, libraryErr := toml.Decode(strings.TrimPrefix(source, "\ufeff"), &want); libraryErr != nil {
		expect.Must(t, err != nil, "%q: the library refuses what Parse takes: %v", source, libraryErr)
		return
	}
	if strings.HasPrefix(source, "\xff\xfe") || strings.HasPrefix(source, "\xfe\xff") {
		return
	}
	if err != nil && strings.HasSuffix(err.Error(), "is set twice") {
		return // the library overlooks it; see scanner
	}
	expect.Must(t, err == nil, "%q: %v", source, err)
	if got, want := plain(root.Value()), plain(want); got != want {
		t.Fatalf("%q: got %s, want %s", source, got, want)
	}
}

// plain prints a tree so that NaN equals NaN and a list of tables equals a list.
func plain(v any) string {
	switch v := v.(type) {
	case []map[string]any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		return plain(list)
	case []any:
		texts := make([]string, len(v))
		for i := range v {
			texts[i] = plain(v[i])
		}
		return "[" + strings.Join(texts, " ") + "]"
	case map[string]any:
		texts := map[string]string{}
		for key, child := range v {
			texts[key] = plain(child)
		}
		return fmt.Sprintf("%q", texts)
	case time.Time:
		return v.Format(time.RFC3339Nano)
	default:
		return fmt.Sprintf("%T(%v)", v, v)
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ source, want string }{
		{"a = 1\na = 2\n", "x.toml:2:1: key a is set twice"},
		{"[a]\n[a]\n", "x.toml:2:2: key 'a' has already been defined"},
		{"a.b = 1\na = 2\n", "x.toml:2:1: key a is set twice"},
		{"[a]\nb.c = 1\nb.c = 2\n", "x.toml:3:1: key b.c is set twice"},
		{"a = 1\n[a]\n", "x.toml:2:2: key 'a' has already been defined"},
		{"[a\n", "x.toml:1:3: expected '.' or ']' to end table name, but got '\\n' instead"},
		{"a = [1,", "x.toml:1:7: unexpected EOF; expected value"},
		{"a = \n", "x.toml:1:5: expected value but found '\\n' instead"},
		{"a = \"\xff\"", "x.toml:1:5: invalid UTF-8 byte: 0xff"},
		{"\xff\xfea\x00", "x.toml: is text in UTF-16 or UTF-32: save it as UTF-8"},
		{"\a", "x.toml:1:1: TOML files cannot contain control characters: '0x07'"},
		{"a\x00\x00", "x.toml: is text in UTF-16 or UTF-32: save it as UTF-8"},
		{"a = 1\rb = 2\r",
			"x.toml: has lines that end in a carriage return alone: save it with line feeds, as Unix and Windows do"},
		{"a = 9223372036854775808", "x.toml:1:5: 9223372036854775808 is out of range: must be an integer of 64 bits"},
	} {
		_, err := Parse("x.toml", []byte(test.source))
		expect.That(t, err != nil && err.Error() == test.want, "%q: got %v, want %s", test.source, err, test.want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(places)
	f.Add("a = \"\\u00e9\"\n'b'.\"\\t\" = {c = [1, {d = 2}]}")
	f.Add("[[a]]\n[a.b]\n[[a.c]]\n[[a]]\nc = 1_000.5\n")
	for _, bomb := range bombs {
		f.Add(bomb[:min(len(bomb), 1<<16)])
	}
	f.Fuzz(func(t *testing.T, source string) { sameAsLibrary(t, source) })
}
