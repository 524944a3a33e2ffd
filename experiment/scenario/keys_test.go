package scenario

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/config"
	"fedsim/internal/tools/expect"
)

// keyed returns the field at a key, which must be there once.
func keyed(t *testing.T, fields []config.Field, key string) config.Field {
	t.Helper()
	var found []config.Field
	for _, f := range fields {
		if f.Key == key {
			found = append(found, f)
		}
	}
	expect.Must(t, len(found) == 1, "%s is listed %d times", key, len(found))
	return found[0]
}

// An override of any key with the value it has by default, or the first it may
// have, is understood.
func TestKeysAreReachedByOverrides(t *testing.T) {
	for _, name := range []string{"fig3-faults"} {
		s := loaded(t, name)
		for _, f := range Keys(s) {
			if f.Absent != "" {
				continue // its default has no value
			}
			value := f.Default
			if value == "" {
				value = f.Choices[0]
			}
			if value == "[]" && f.Choices != nil {
				value = config.Literal(f.Choices)
			}
			_, err := Load(name, []string{f.Key + "=" + value})
			// The combination of values may be refused, their names may not.
			if err != nil && (strings.Contains(err.Error(), "unknown") || strings.Contains(err.Error(), "TOML")) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestKeys(t *testing.T) {
	s := loaded(t, "fig3-faults")
	keys := Keys(s)
	if f := keyed(t, keys, "network.profile"); !slices.Contains(f.Choices, "3g") {
		t.Errorf("network.profile may be %q", f.Choices)
	}
	if f := keyed(t, keys, "experiment.fig3-faults.axis.update"); !slices.Contains(f.Choices, "one W update") {
		t.Errorf("the axis has %q", f.Choices)
	}
	keyed(t, keys, "name")
	keyed(t, keys, "methods.mocha.options.epochs")
	for _, f := range keys {
		expect.That(t, !strings.ContainsAny(f.Key, "<[") && !strings.HasPrefix(f.Key, "methods.cocoa."),
			"%s is no key of the scenario", f.Key)
	}
	any := Keys(nil)
	keyed(t, any, "methods.cocoa.options.theta")
	keyed(t, any, "data.synthetic.clients")
}

func TestEitherKeys(t *testing.T) {
	var want []config.Path
	for _, f := range settingFields() {
		if strings.Contains(f.Type, "table") && f.Type != "table" {
			want = append(want, strings.Split(f.Key, "."))
		}
	}
	diff := cmp.Diff(want, eitherKeys)
	expect.That(t, diff == "", "(-want +got):\n%s", diff)
}
