package scenario

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/config"
	"fedsim/internal/tools/expect"
)

// resolvedText returns a scenario with every default written out.
func resolvedText(t *testing.T, source []byte) string {
	t.Helper()
	s := expect.Value(Parse("mine.toml", source, nil))(t)
	text := resolvedOf(t, s)
	return string(text)
}

var switchedOff = regexp.MustCompile(`(?m)^#([a-z].*=)`)

// Keys in comments have their defaults: the scenario is the same with every mark
// removed. So no key is misspelt, and no default is another.
func TestStarterIsTheSameWithEveryDefault(t *testing.T) {
	source := Starter("mine")
	want := resolvedText(t, source)
	lines := strings.Split(string(source), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "#sweep") && !strings.HasPrefix(line, "#sample") {
			lines[i] = switchedOff.ReplaceAllString(line, "$1")
		}
	}
	all := strings.Join(lines, "\n")
	diff := cmp.Diff(want, resolvedText(t, []byte(all)))
	expect.That(t, diff == "", "with the marks removed (-before +after):\n%s", diff)
	err := compiled(t).Validate(asJSON(t, []byte(all)))
	expect.That(t, err == nil, "%v", err)
}

// Every key of the settings but of [overhead] is there, and so are those of the methods and of the
// figure.
func TestStarterHasEveryKey(t *testing.T) {
	text := string(Starter("mine"))
	there := func(key string) bool {
		return regexp.MustCompile(`(?m)^(#?|# )` + regexp.QuoteMeta(key) + `( = |: ).`).MatchString(text)
	}
	for _, f := range config.Fields(&document{Settings: defaultSettings()}) {
		table, key, within := strings.Cut(f.Key, ".")
		if within && f.Type != "table" && f.Type != "value" && table != "methods" && table != "overhead" &&
			!strings.HasPrefix(table, "experiment") && !there(key) {
			t.Errorf("%s is not there", f.Key)
		}
	}
	for _, key := range []string{"algorithm", "protocol", "options.epochs", "options.theta", "panel", "y_scale"} {
		expect.That(t, there(key), "%s is not there", key)
	}
}

// The sweep that is shown as an example is one.
func TestStarterSweeps(t *testing.T) {
	source := bytes.Replace(Starter("mine"), []byte("#sweep"), []byte("sweep"), 1)
	s := expect.Value(Parse("mine.toml", source, nil))(t)
	got := len(s.Experiments[0].Jobs)
	expect.That(t, got == 6, "%d jobs, must be 3 links x 2 methods", got)
}

// So is the sample: 16 points, beside the sweep.
func TestStarterSamples(t *testing.T) {
	source := bytes.Replace(Starter("mine"), []byte("#sweep"), []byte("sweep"), 1)
	source = bytes.Replace(source, []byte("#sample"), []byte("sample"), 1)
	s := expect.Value(Parse("mine.toml", source, nil))(t)
	got := len(s.Experiments[0].Jobs)
	expect.That(t, got == 96, "%d jobs, must be 3 links x 16 points x 2 methods", got)
}

// Comments are as wide as an editor's window.
func TestStarterIsNarrow(t *testing.T) {
	for line := range strings.Lines(string(Starter("mine"))) {
		expect.That(t, !strings.HasPrefix(line, textMark) || len(strings.TrimSuffix(line, "\n")) <= starterWidth,
			"%d bytes: %s", len(line), line)
	}
}
