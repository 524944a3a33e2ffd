package scenario

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"fedsim/config"
	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"

	"fedsim/scenarios"
)

// resolveAgain checks that the resolved scenario, read back, has the same
// experiments and is resolved already.
func resolveAgain(t interface{ Fatalf(string, ...any) }, s *Scenario) {
	text, err := s.Resolved()
	if err != nil {
		t.Fatalf("%v", err)
	}
	again, err := Parse("resolved.toml", text, nil)
	if err != nil {
		t.Fatalf("the resolved scenario is wrong: %v\n%s", err, text)
	}
	if again.Name != s.Name || again.Description != s.Description {
		t.Fatalf("resolved scenario %q (%s), want %q (%s)", again.Name, again.Description, s.Name, s.Description)
	}
	// A list without a value is nil; in the resolved scenario it is empty.
	if !sameText(s.Experiments, again.Experiments) {
		diff := cmp.Diff(s.Experiments, again.Experiments, cmpopts.EquateEmpty(),
			cmpopts.IgnoreUnexported(Job{}, Tunable{}), sameValue)
		if diff != "" {
			t.Fatalf("resolved experiments differ (-first +resolved):\n%s\n%s", diff, text)
		}
	}
	twice, err := again.Resolved()
	if err != nil {
		t.Fatalf("%v", err)
	}
	if diff := cmp.Diff(string(text), string(twice)); diff != "" {
		t.Fatalf("resolving twice differs (-once +twice):\n%s", diff)
	}
}

// places are those of nodes, such as the settings of a method. Their values are in the settings of its runs.
var places = regexp.MustCompile(`"(Place|Key)":\{[^{}]*\},?`)

// sameText reports whether experiments have the same JSON, which is much faster to compare
// than the experiments. It may report false for equal ones.
func sameText(a, b []Experiment) bool {
	text := func(e []Experiment) string {
		b, err := json.Marshal(e)
		if err != nil {
			return err.Error()
		}
		return places.ReplaceAllString(strings.ReplaceAll(string(b), "null", "[]"), "")
	}
	x, y := text(a), text(b)
	return x == y && strings.HasPrefix(x, "[")
}

// sameValue compares nodes by their values, not their places.
var sameValue = cmp.Comparer(func(a, b config.Node) bool { return cmp.Equal(a.Value(), b.Value()) })

func TestResolved(t *testing.T) {
	resolveAgain(t, parse(t, grid))
	resolveAgain(t,
		parse(t, grid, "network.profile=wifi", "methods.mocha.options.epochs=3", "experiment.a.axis.drops=1/2",
			"network.loss_probability=0.5"))
	for _, info := range scenarios.Shipped() {
		s := loaded(t, info.Name)
		resolveAgain(t, s)
	}
}

func TestResolvedWritesEveryDefault(t *testing.T) {
	text := expect.Value(parse(t, grid).Resolved())(t)
	for _, want := range []string{
		"\nnever = []\n", "\nlambda = 0.01\n", "\nmax_epochs = 100.0\n",
		"\nset = { \"problem.lambda\" = 3 }\n",
		"\nsweep = { \"network.profile\" = [\"lte\", \"3g\"], \"data.skew\" = [3], \"problem.lambda\" = [0.01, " +
			"1] }\n", "\nmocha = { \"options.epochs\" = [2, 1] }\n", "\ntarget = {suboptimality = 0.001}\n",
		"\nmethods = [\"cocoa\", \"mocha\"]\n",
	} {
		expect.That(t, strings.Contains(string(text), want), "the resolved scenario lacks %q:\n%s", want, text)
	}
}

// key is a settings key with values, in TOML, that any scenario may have.
type key struct {
	name   string
	values []string
}

var someKeys = []key{
	{"run.rounds", []string{"1", "20", "300"}},
	{"run.seeds", []string{"[1]", "[5, 3]", "[9_000_000_000]"}},
	{"problem.lambda", []string{"1", "0.1", "1e-5", "3e2"}},
	{"network.profile", []string{`"wifi"`, `'3g'`, `"""lte"""`}},
	{"faults.never", []string{"[]", "[0]", "[1, 2]"}},
	{"faults.drop_probability", []string{"0", "0.5", "1e-1"}},
	{"data.test_fraction", []string{"0.25", "0.5"}},
	{"data.bias", []string{"true", "false"}},
	{"data.synthetic.noise", []string{"0.25", "0.125"}},
	{"methods.mocha.options.epochs", []string{"1", "2.5", "10"}},
	{"methods.other.label", []string{`"a \"b\""`, `"Ωmega / 2"`}},
	{"methods.mocha.protocol", []string{`"wait-for-all"`, `"charged"`}},
}

// scenarioText draws a valid scenario: every key belongs to one part of every
// experiment, drawn from a permutation of the keys.
func scenarioText(t *rapid.T) (text string, set []string) {
	var b strings.Builder
	value := func(k key) string { return rapid.SampledFrom(k.values).Draw(t, k.name) }
	list := func(k key) string {
		return "[" +
			strings.Join(rapid.SliceOfNDistinct(rapid.SampledFrom(k.values), 1, 3, rapid.ID[string]).Draw(t, k.name),
				", ") + "]"
	}
	pick := func(keys *[]key, label string, most int) []key {
		n := min(rapid.IntRange(0, most).Draw(t, label), len(*keys))
		taken := (*keys)[:n]
		*keys = (*keys)[n:]
		return taken
	}
	assign := func(keys []key, value func(key) string) string {
		var parts []string
		for _, k := range keys {
			parts = append(parts, fmt.Sprintf("%q = %s", k.name, value(k)))
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}

	if rapid.Bool().Draw(t, "named") {
		b.WriteString("name = \"some_name-0.1\"\ndescription = \"a \\\\ \\\"b\\\"\"\n")
	}
	base := rapid.Permutation(someKeys).Draw(t, "base")
	for _, k := range pick(&base, "in file", 4) {
		fmt.Fprintf(&b, "%s = %s\n", k.name, value(k))
	}
	fmt.Fprintf(&b, "sweep = %s\n", assign(pick(&base, "in sweep", 1), list))
	b.WriteString("methods.mocha.algorithm = \"mocha\"\nmethods.other.algorithm = \"cocoa\"\n" +
		"methods.other.options.theta = 0.25\n")
	for i := range rapid.IntRange(0, 3).Draw(t, "experiments") {
		keys := rapid.Permutation(someKeys).Draw(t, "keys")
		methods := rapid.Permutation([]string{"mocha", "other"}).Draw(t, "methods")
		fmt.Fprintf(&b, "[[experiment]]\nname = \"e%d\"\nmethods = [%q, %q]\n", i, methods[0], methods[1])
		fmt.Fprintf(&b, "set = %s\n", assign(pick(&keys, "set", 3), value))
		fmt.Fprintf(&b, "sweep = %s\n", assign(pick(&keys, "swept", 2), list))
		if rapid.Bool().Draw(t, "axis") {
			moved := pick(&keys, "moved", 2)
			fmt.Fprintf(&b, "[[experiment.axis]]\nname = \"axis_%d\"\npoints = [\n  { label = \"a/b\", set = %s },\n"+
				"  { label = \"c\" },\n]\n", i, assign(moved, value))
			fmt.Fprintf(&b, "[experiment.figure]\nseries = \"axis_%d\"\npanel = \"method\"\nemphasis = \"c\"\n", i)
		}
		if rapid.Bool().Draw(t, "tuned") {
			b.WriteString("[experiment.tune.other]\n\"options.theta\" = [0.5, 0.25]\n\"options.check_every\" = [2, " +
				"1.5]\n[experiment.tuning]\ntarget = { suboptimality = 0.01 }\n")
		}
	}
	for _, k := range pick(&base, "overridden", 2) {
		set = append(set, k.name+"="+value(k))
	}
	return b.String(), set
}

func TestResolvedOfAnything(t *testing.T) {
	read := 0
	rapid.Check(t, func(t *rapid.T) {
		text, set := scenarioText(t)
		s, err := Parse("x.toml", []byte(text), set)
		if err != nil {
			// An override may meet an axis that sets its key among others.
			if strings.Contains(err.Error(), "along with other keys") {
				t.Skip(err)
			}
			t.Fatalf("%v\n%s\n%q", err, text, set)
		}
		read++
		seen := map[string]bool{}
		for _, id := range ids(s) {
			expect.Must(t, !seen[id], "two runs are named %s", id)
			seen[id] = true
		}
		resolveAgain(t, s)
	})
	expect.That(t, read != 0, "no scenario was read")
}

// Parsing never panics and never hangs. An accepted scenario can be resolved and
// read again.
func FuzzParse(f *testing.F) {
	f.Add(grid, "run.rounds=3")
	f.Add(drops, "experiment.a.axis.drops=never")
	f.Add("[methods.mocha]\noptions = {}\n[experiment]\n", "sweep.run.rounds=[1]")
	f.Add("experiment = [{}]\nmethods = 3\nsweep = []", "methods=4")
	f.Add(strings.Repeat("a.", 10_000)+"a = 1", "run.rounds="+strings.Repeat("[", 10_000))
	f.Add("[methods.mocha]\n[[experiment]]\nname = \"a\"\nfigure.file = \"../../x\"",
		"experiment.a.set."+strings.Repeat("a.", 10_000)+"a=1")
	f.Fuzz(func(t *testing.T, source, set string) {
		s, err := Parse("x.toml", []byte(source), []string{set})
		if err != nil {
			expect.That(t, err.Error() != "", "an error without a text")
			return
		}
		resolveAgain(t, s)
	})
}

// A recorded scenario stays as it is where this version has more keys, and not where a key has
// another meaning.
func TestRecordedScenariosStay(t *testing.T) {
	resolved :=
		expect.Value(
			parse(t, "[methods.mocha]\n[methods.fedavg]\n[[experiment]]\nname = \"a\"\n"+
				"sweep = { \"run.rounds\" = [2, 3] }\n").Resolved())(t)
	text := string(resolved)
	without := regexp.MustCompile(`(?m)^(eval_every|report_last|momentum|vary) = .*\n`).ReplaceAllString(text,
		"")
	expect.Must(t, len(text)-len(without) >= 40, "there are no such keys in\n%s", text)
	for name, test := range map[string]struct {
		recorded string
		stays    bool
	}{
		"this version": {text, true},
		"fewer keys":   {without, true},
		"a moved key": {strings.Replace(text, `sweep = { "run.rounds" = [2, 3] }`, "", 1) +
			"[sweep]\nrun.rounds = [2, 3]\n", false},
	} {
		expect.Must(t, test.recorded != text || name == "this version", "%s: it is the same text:\n%s", name, text)
		s, err := ParseRecorded("dir", []byte(test.recorded))
		expect.Must(t, err == nil, "%s: %v", name, err)
		if again, err := s.Resolved(); err != nil || (string(again) == test.recorded) != test.stays {
			t.Errorf("%s: stays = %v (%v)\n%s", name, !test.stays, err, again)
		}
	}
}
