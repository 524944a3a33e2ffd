package config

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// bombs are small documents that cost a parser without limits minutes, gigabytes or its
// stack.
var bombs = map[string]string{
	"dotted key":         strings.Repeat("a.", 10_000) + "a = 1\n",
	"dotted header":      "[" + strings.Repeat("a.", 10_000) + "a]\n",
	"lists":              "a = " + strings.Repeat("[", 900_000),
	"tables":             "a = " + strings.Repeat("{a=", 300_000),
	"tables and keys":    "a = " + strings.Repeat("{b.c.d.e=", 100_000),
	"closed lists":       "a = " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
	"behind a string":    "s = '''[''' # \"\na = \"\\\"\" \nb = " + strings.Repeat("[", 10_000),
	"quoted parts":       strings.Repeat("'a'.", 10_000) + "a = 1\n",
	"too large":          strings.Repeat("\n", MaxSource+1),
	"after another key":  "a = 1\n" + strings.Repeat("b.", 10_000) + "b = 1\n",
	"in a list of lists": "a = [1, [2, " + strings.Repeat("[", 1000) + "]]",
}

// A document that is too deep or too large costs little memory.
func TestBombsAreRefused(t *testing.T) {
	for name, source := range bombs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse("x.toml", []byte(source))
		runtime.ReadMemStats(&after)
		found, ok := errors.AsType[Errors](err)
		expect.That(t, ok && len(found) == 1 && strings.Contains(err.Error(), "at most") && len(err.Error()) <= 200,
			"%s: %v", name, err)
		// The source, its lines and places. The library needs hundreds of MB for most.
		made := after.TotalAlloc - before.TotalAlloc
		expect.That(t, made <= 64<<20, "%s: %d bytes were allocated", name, made)
	}
}

func TestBombsInOverrides(t *testing.T) {
	for _, argument := range []string{
		strings.Repeat("a.", 20_000) + "a=1",
		"a=" + strings.Repeat("[", 100_000),
		"a={" + strings.Repeat("a.", 20_000) + "a=1}",
	} {
		if _, err := ParseOverride(argument); err == nil || !strings.Contains(err.Error(), "at most 16 deep") {
			t.Errorf("%.20s...: %.200v", argument, err)
		}
	}
	if _, err := ParsePath(strings.Repeat("a.", 20) + "a"); err == nil {
		t.Error("a key of 21 parts is taken")
	}
}

// The limit of the depth is exact, and the error has the place where it is passed.
func TestDepth(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"a = " + strings.Repeat("[", 16) + strings.Repeat("]", 16), ""},
		{strings.Repeat("a.", 16) + "a = 1.5", ""},
		{"[" + strings.Repeat("a.", 14) + "a]\n" + strings.Repeat("a.", 15) + "a = { }", ""},
		{"a.b.c = { d.e = [ { f = [\"[[[[[[[[[[[[[[[[[[[[[[[[\"] } ] } # [[[[[[[[[[[[[[[[[[[[[[[[[", ""},
		{"a = " + strings.Repeat("[", 17), "x.toml:1:21: " + tooDeep},
		{"b = 1\n" + strings.Repeat("a.", 17) + "a = 1", "x.toml:2:35: " + tooDeep},
		{"a.b.c.d = {a.b.c.d = {a.b.c.d = {a.b.c.d = { a.b = 1", "x.toml:1:48: " + tooDeep},
	} {
		_, err := Parse("x.toml", []byte(c.source))
		expect.That(t, fmt.Sprint(err) == c.want || c.want == "" && err == nil,
			"%q: %v, want %s", c.source, err, c.want)
	}
}

// A file with 20,000 unknown keys is refused at once, with 100 of them.
func TestManyProblems(t *testing.T) {
	var source strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&source, "key%d = 1\n", i)
	}
	root := expect.Value(Parse("x.toml", []byte(source.String())))(t)
	var into struct {
		Key int `toml:"key"`
	}
	problems := Decode(root, "", &into)
	if len(problems) != mostProblems+1 ||
		problems[mostProblems].Error() != "x.toml: more than 100 problems: correct those above first" {
		t.Errorf("%d problems, the last is %v", len(problems), problems[len(problems)-1])
	}
}
