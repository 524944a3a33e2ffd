package config

import (
	"strings"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

func TestParseOverride(t *testing.T) {
	for _, test := range []struct {
		argument string
		path     Path
		value    any
	}{
		{"network.profile=3g", Path{"network", "profile"}, "3g"},
		{"data.source=uci-har", Path{"data", "source"}, "uci-har"},
		{"data.path=../shared/data/har.zip", Path{"data", "path"}, "../shared/data/har.zip"},
		{`data.path=C:\data\har.zip`, Path{"data", "path"}, `C:\data\har.zip`},
		{"a=b=c", Path{"a"}, "b=c"},
		{`a . "b.c" = 'x'`, Path{"a", "b.c"}, "x"},
		{"a=0.5", Path{"a"}, 0.5},
		{"a=1e-3", Path{"a"}, 1e-3},
		{"a= 7 ", Path{"a"}, int64(7)},
		{"a=true", Path{"a"}, true},
		{`a="1"`, Path{"a"}, "1"},
		{`a=""`, Path{"a"}, ""},
		{"a.b=", Path{"a", "b"}, nil},
		{"a=[0,0.5]", Path{"a"}, []any{int64(0), 0.5}},
		{"a={b=1,c.d=[2]}", Path{"a"}, map[string]any{"b": int64(1), "c": map[string]any{"d": []any{int64(2)}}}},
	} {
		got, err := ParseOverride(test.argument)
		if err != nil {
			t.Errorf("%s: %v", test.argument, err)
			continue
		}
		if diff := cmp.Diff(test.value, got.Value.Value()); diff != "" || !got.Path.Equal(test.path) {
			t.Errorf("%s: key %s, value (-want +got):\n%s", test.argument, got.Path, diff)
		}
		place := got.Value.Place.String()
		expect.That(t, place == "--set "+test.argument, "%s: its place is %s", test.argument, place)
	}
}

func TestParseOverrideErrors(t *testing.T) {
	for _, test := range []struct{ argument, want string }{
		{"", "--set: must be key=value"},
		{"a", "--set a: must be key=value"},
		{"a b=1", "--set a b=1: must be key=value"},
		{"a.=1", "--set a.=1: a name is missing at column 3 (a name that is not made of letters, digits, " +
			"- and _ needs quotes): must be key=value"},
		{`"a=1`, `--set "a=1: the quoted part at column 1 is not a TOML string: must be key=value`},
		{"a=[18446744073709551615]",
			`--set a=[18446744073709551615]: 18446744073709551615 is out of range: must be an integer of 64 bits`},
		{"a=[b]", `--set a=[b]: [b] is not a TOML value: strings within a list need quotes, ["a", "b"]`},
		{`a="b`, `--set a="b: "b is not a TOML value: unexpected EOF; expected '"'`},
		{"a=1\nb=2", "--set a=1\nb=2: the value must be on one line"},
	} {
		_, err := ParseOverride(test.argument)
		expect.That(t, err != nil && err.Error() == test.want, "%q: got %v, want %s", test.argument, err, test.want)
	}
}

func TestPathRoundTrip(t *testing.T) {
	for _, path := range []Path{{"a"}, {"a", "b-c_1"}, {"a b", "", `"`, "c.d", "é"}, {`a\n`, "never[2]"}} {
		got, err := ParsePath(path.String())
		expect.That(t, err == nil && got.Equal(path),
			"%q is written %s and read %q (%v)", []string(path), path, []string(got), err)
	}
	for _, key := range []string{"", ".", "a.", "a b", "a..b", "a/b", "'a"} {
		path, err := ParsePath(key)
		expect.That(t, err != nil, "ParsePath(%q) = %q, want an error", key, []string(path))
	}
}

func FuzzParseOverride(f *testing.F) {
	f.Add("a.b=[1]")
	f.Add(`"a".'b' = {c = "d"}`)
	f.Add(strings.Repeat("a.", 10_000) + "a=1")
	f.Add("a=" + strings.Repeat("[", 10_000))
	f.Fuzz(func(t *testing.T, argument string) {
		a, err := ParseOverride(argument)
		if err != nil {
			return
		}
		expect.That(t, len(a.Path) != 0 && a.Value != nil, "%q gives %+v", argument, a)
		again, err := ParsePath(a.Path.String())
		expect.That(t, err == nil && again.Equal(a.Path),
			"%q: the key %q is written %s", argument, []string(a.Path), a.Path)
	})
}
