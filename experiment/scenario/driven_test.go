package scenario

import (
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// loadDriven writes a scenario to a file and loads it for a driver.
func loadDriven(t *testing.T, text string, seed uint64, overrides ...string) (*Scenario, error) {
	t.Helper()
	file := filetest.New(t, "x.toml", text)
	by := Program{Method: "own"}
	if seed > 0 {
		by.Seed = &seed
	}
	return LoadDriven(file, overrides, by)
}

// A driver replaces the methods, and keeps the settings and the point of the experiment.
// The resolved scenario gives the same run.
func TestDriversReplaceMethods(t *testing.T) {
	const network = "[network]\nprofile = \"3g\"\n"
	for _, c := range []struct {
		name, text, id, profile string
		set                     []string
	}{
		{name: "no methods", text: network, id: "x/own/seed=7", profile: "3g"},
		{name: "methods", text: network + "[methods.mocha]\n[methods.own]\nalgorithm = \"fedavg\"\nlabel = \"other\"\n",
			id: "x/own/seed=7", profile: "3g"},
		{name: "an option of a method", text: network, set: []string{"methods.mocha.options.epochs=2"},
			id: "x/own/seed=7", profile: "3g"},
		{name: "an experiment", profile: "wifi", id: "e/own/seed=7",
			text: network + "[methods.mocha]\n[[experiment]]\nname = \"e\"\nmethods = [\"mocha\"]\n" +
				"set = { \"network.profile\" = \"wifi\", \"methods.mocha.options.epochs\" = 2 }\n" +
				"[experiment.tune.mocha]\n\"options.epochs\" = [1, 2]\n[experiment.tuning]\ntarget = { " +
				"suboptimality = 0.1 }\n" +
				"[experiment.figure]\nemphasis = \"mocha\"\n"},
		{name: "a sweep of one point", text: network + "[sweep]\n\"network.profile\" = [\"lte\", \"wifi\"]\n",
			set: []string{"network.profile=wifi"}, id: "x/own/network.profile=wifi/seed=7", profile: "wifi"},
		{name: "certain dropouts under wait-for-all", text: network + "[faults]\ndrop_probability = 1.0\n",
			id: "x/own/seed=7", profile: "3g"},
		{name: "data of a learner", text: network + "[data]\nsource = \"external\"\n[data.external]\nclients = 5\n",
			id: "x/own/seed=7", profile: "3g"},
		{name: "an asynchronous protocol", text: network + "[federation]\nprotocol = \"asynchronous\"\n",
			id: "x/own/seed=7", profile: "3g"},
	} {
		s, err := loadDriven(t, c.text, 7, c.set...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for range 2 {
			if len(s.Experiments) != 1 || len(s.Experiments[0].Jobs) != 1 ||
				len(s.Experiments[0].Jobs[0].Candidates) != 1 {
				t.Fatalf("%s: %+v", c.name, s.Experiments)
			}
			run := s.Experiments[0].Jobs[0].Candidates[0]
			if run.ID != c.id || run.Algorithm != Driven || run.Settings.Network.Profile != c.profile ||
				run.System != 7 {
				t.Errorf("%s: %s, %s, %s, seed %d", c.name, run.ID, run.Algorithm, run.Settings.Network.Profile,
					run.System)
			}
			resolved := resolvedOf(t, s)
			if s, err = ParseRecorded("dir", resolved); err != nil {
				t.Fatalf("%s: %v\n%s", c.name, err, resolved)
			}
		}
	}
}

// A driven scenario has one point. Errors have a remedy.
func TestDrivenScenariosHaveOnePoint(t *testing.T) {
	const axis = "[[experiment]]\nname = \"e\"\n[[experiment.axis]]\nname = \"link\"\npoints = [{ label = \"a\" }, " +
		"{ label = \"b\" }]\n"
	for _, c := range []struct{ text, want string }{
		{"[sweep]\n\"network.profile\" = [\"lte\", \"wifi\"]\n",
			"has 2 points on axis network.profile (lte, wifi): a driven scenario must have one: choose it, " +
				"as with --set network.profile=lte"},
		{axis, "--set experiment.e.axis.link='[\"a\"]'"},
		{"[run]\nseeds = [3, 4]\n",
			"has 2 seeds: a driven scenario must have one: name it in the op hello or with --set run.seeds=[3]"},
	} {
		_, err := loadDriven(t, c.text, 0)
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want), "%s: %v", c.text, err)
	}
	if _, err := loadDriven(t, "[run]\nseeds = [3, 4]\n", 5); err != nil {
		t.Error(err)
	}
	if _, err := loadDriven(t, axis, 5, "experiment.e.axis.link=a"); err != nil {
		t.Error(err)
	}
	if _, err := loadDriven(t, "", 1<<63); err == nil ||
		!strings.Contains(err.Error(), "seed 9223372036854775808: must be at most 9223372036854775807") {
		t.Error(err)
	}
}

// Compression and privacy are the driver's: their tables are refused in one line with the remedy.
func TestDriversCompressAndProtectUpdatesThemselves(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[compression]\nup = \"top-k\"\n",
			`x.toml:2:6: compression.up = "top-k": must be "none": updates are the driver's: ` +
				`it compresses them and sends their bytes`},
		{"[compression]\ndown = \"float16\"\n",
			`x.toml:2:8: compression.down = "float16": must be "none": updates are the driver's: ` +
				`it compresses them and sends their bytes`},
		{"[privacy]\nsecure_aggregation = \"secagg\"\n",
			`x.toml:2:22: privacy.secure_aggregation = "secagg": must be "none": updates are the driver's: ` +
				`it protects them and sends the bytes and FLOPs of that`},
		{"[privacy]\nmechanism = \"central\"\nmechanism_options = { clip = 1.0, noise_multiplier = 1.0 }\n",
			`x.toml:2:13: privacy.mechanism = "central": must be "none": updates are the driver's: ` +
				`it clips them and adds the noise`},
	} {
		_, err := loadDriven(t, c.text, 0)
		if err == nil {
			t.Errorf("%s: accepted", c.text)
			continue
		}
		got := err.Error()
		expect.That(t, strings.HasSuffix(got, "/"+c.want), "%s: got %s, want %s", c.text, got, c.want)
	}
}
