package scenario

import (
	"strings"
	"testing"
)

// The use of every retired key is an error that says what became of it: in a file, in --set, in a sweep and in a
// run directory of an earlier version. What replaces it exists.
func TestRetiredKeys(t *testing.T) {
	exists := map[string]bool{}
	for _, f := range referenceFields() {
		exists[f.Key] = f.Type != "table" // a table may have the name of a former key
	}
	for _, k := range RetiredKeys() {
		if is := exists[k.Old]; is {
			t.Errorf("%s is a key", k.Old)
		}
		if _, known := exists[k.New]; k.New != "" && !known {
			t.Errorf("%s is now %s, which is no key", k.Old, k.New)
		}
		if k.New == "" && k.Note == "" {
			t.Errorf("%s is gone: what replaces it?", k.Old)
		}
		if strings.Contains(k.Old, "[]") {
			continue
		}
		mocha := "[methods.mocha]\n"
		if strings.HasPrefix(k.Old, "methods.") {
			mocha = "" // the key defines the table
		}
		old := strings.Replace(k.Old, "<label>", "mocha", 1)
		said := old + ": is gone: " + k.Note
		if k.New != "" {
			said = strings.Replace(old+": is now "+k.New, "<label>", "mocha", 1)
		}
		for how, of := range map[string]struct{ source, set string }{
			"file":  {source: old + " = 1\n" + mocha},
			"--set": {source: mocha, set: old + "=1"},
			"sweep": {source: "[methods.mocha]\n[[experiment]]\nname = \"a\"\nsweep = { \"" + old +
				"\" = [1] }\n"},
			"run directory": {source: old + " = 1\n" + mocha},
		} {
			parse := func() (*Scenario, error) {
				if how == "run directory" {
					return ParseRecorded("runs/x", []byte(of.source))
				}
				var set []string
				if of.set != "" {
					set = []string{of.set}
				}
				return Parse("x.toml", []byte(of.source), set)
			}
			if _, err := parse(); err == nil || !strings.Contains(err.Error(), said) ||
				how == "run directory" && !strings.Contains(err.Error(), "(an earlier version wrote this directory)") {
				t.Errorf("%s in a %s: got %v, want %s", old, how, err, said)
			}
		}
	}
}

func TestRetiredKeysAtOnce(t *testing.T) {
	const source = "[network]\nhub_mbps = 2\n[faults]\nstrike = \"start\"\n[methods.mocha]\n"
	_, err := Parse("x.toml", []byte(source), nil)
	const want = "x.toml:2:1: network.hub_mbps: is gone: network.hubs.profile gives the rates of short links\n" +
		"x.toml:4:1: faults.strike: is now faults.drop_phase"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
