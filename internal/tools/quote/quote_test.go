package quote

import (
	"strings"
	"testing"
	"unicode"

	"fedsim/internal/tools/expect"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ s, want string }{
		{"", `""`},
		{"a \"b\"\n\x1b[31m\u202e", `"a \"b\"\n\x1b[31m\u202e"`},
		{strings.Repeat("é", 80), `"` + strings.Repeat("é", 80) + `"`},
		{strings.Repeat("é", 81), `"` + strings.Repeat("é", 80) + `..."`},
	} {
		got := Text(c.s)
		expect.That(t, got == c.want, "%q: %s, want %s", c.s, got, c.want)
	}
}

func TestLine(t *testing.T) {
	for _, c := range []struct{ s, want string }{
		{"x.toml:1:2: a = \"é\": must be in [0, 1]", "x.toml:1:2: a = \"é\": must be in [0, 1]"},
		{"a\nb", "a; b"},
		{"\x1b]0;title\x07\r\t\xff\u202e\ufffd", `\x1b]0;title\a\r\t\xff\u202e` + "\ufffd"},
		{strings.Repeat("a", 3000), strings.Repeat("a", 2000) + "..."},
	} {
		got := Line(c.s)
		expect.That(t, got == c.want, "%q: %s, want %s", c.s, got, c.want)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("a\x1b\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		got := Line(s)
		expect.That(t, !strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }), "%q: %q", s, got)
	})
}

func TestWordsForAShell(t *testing.T) {
	if got := Shell("fedsim", "my plan's", "", "run.seeds=[1]", "größe/x%1"); got != `fedsim 'my plan'\''s' '' `+
		`'run.seeds=[1]' größe/x%1` {
		t.Error(got)
	}
}
