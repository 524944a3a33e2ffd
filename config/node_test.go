package config

import (
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
)

func table(t *testing.T, file, source string) *Node {
	t.Helper()
	root := expect.Value(Parse(file, []byte(source)))(t)
	return root
}

// A tree laid over another keeps its places, and the one below keeps its values.
func TestSetKeepsPlaces(t *testing.T) {
	base := table(t, "base.toml", "[run]\nrounds = 1\nouter = 2\n")
	top := table(t, "top.toml", "\n\"run.rounds\" = 3\n[network]\nprofile = \"lte\"\n")
	merged := base.Clone()
	assignments, problems := top.Assignments()
	expect.Must(t, problems == nil, "%v", problems)
	for _, a := range assignments {
		expect.NoError(t, merged.Set(a.Path, a.Value))
	}
	override := expect.Value(ParseOverride("faults.never=[1,2]"))(t)
	expect.NoError(t, merged.Set(override.Path, override.Value))
	want := map[string]any{
		"run":     map[string]any{"rounds": int64(3), "outer": int64(2)},
		"network": map[string]any{"profile": "lte"},
		"faults":  map[string]any{"never": []any{int64(1), int64(2)}},
	}
	if diff := cmp.Diff(want, merged.Value()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for key, want := range map[string]string{
		"run.rounds": "top.toml:2:16", "run.outer": "base.toml:3:9", "run.seeds": "base.toml:1:1",
		"network.profile": "top.toml:4:11", "faults.never[1]": "--set faults.never=[1,2]",
		"faults.drop_phase": "--set faults.never=[1,2]",
	} {
		got := merged.PlaceOf(key).String()
		expect.That(t, got == want, "%s comes from %s, want %s", key, got, want)
	}
	if diff := cmp.Diff(map[string]any{"run": map[string]any{"rounds": int64(1), "outer": int64(2)}},
		base.Value()); diff != "" {
		t.Errorf("the tree below has changed (-want +got):\n%s", diff)
	}
	if err := merged.Set(Path{"run", "rounds", "x"}, NewScalar(int64(7), Place{})); err != nil ||
		!cmp.Equal(merged.Child("run").Child("rounds").Value(), any(map[string]any{"x": int64(7)})) {
		t.Errorf("a way through a value: %v, %v", err, merged.Child("run").Value())
	}
	merged.Delete("run")
	expect.That(t, merged.Child("run") == nil && !cmp.Equal(merged.Keys()[0], "run"), "a deleted key is still there")
}

func TestProblems(t *testing.T) {
	root := table(t, "x.toml", "[faults]\ndrop_probability = 1.4\nnever = [-1]\n")
	override := expect.Value(ParseOverride("network.profile=5g"))(t)
	expect.NoError(t, root.Set(override.Path, override.Value))
	c := NewChecker()
	faults := c.In("faults")
	faults.Require(false, "drop_probability", 1.4, "must be in [0, 1]")
	faults.Require(false, "drop_probability", 1.4, "must be in [0, 1]") // said once
	faults.Require(false, "never", []int{-1}, "must not be negative")
	faults.Require(false, "drop_phase", "", "must be given")
	faults.Require(true, "drop_phase", "", "is right")
	c.In("network").OneOf("profile", "5g", "wifi", "3g")
	c.In("network").Require(false, "rtt_ms", nil, "must be given")
	c.Require(false, "elsewhere", 1, "must not be")
	var problems Errors
	problems.AddFound(root, c)
	const want = `x.toml:2:20: faults.drop_probability = 1.4: must be in [0, 1]
x.toml:3:9: faults.never = [-1]: must not be negative
x.toml:1:1: faults.drop_phase = "": must be given
--set network.profile=5g: must be one of wifi, 3g (did you mean "3g"?)
--set network.profile=5g: network.rtt_ms: must be given
x.toml: elsewhere = 1: must not be`
	got := problems.Err().Error()
	expect.That(t, got == want, "got\n%s\nwant\n%s", got, want)
	if err := (Errors{}).Err(); err != nil {
		t.Errorf("no problems are the error %v", err)
	}
	got = (Located{Text: "nowhere"}).Error()
	expect.That(t, got == "nowhere", "a problem without a place reads %q", got)
}

func TestAbsentValues(t *testing.T) {
	root, err := Parse("x.toml", []byte("[run]\nrounds = 5\nouter = 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	a, err := ParseOverride("run.rounds=")
	if err != nil || !a.Value.IsAbsent() {
		t.Fatalf("%+v: %v", a, err)
	}
	for range 2 { // the second time there is no key to remove
		if err := root.Set(a.Path, a.Value); err != nil {
			t.Fatal(err)
		}
		if keys := root.Child("run").Keys(); len(keys) != 1 || keys[0] != "outer" {
			t.Errorf("[run] has %q", keys)
		}
	}
}
