package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

// shortForms are settings with which each shipped scenario runs in seconds: all its runs,
// with less data. Two scenarios have no entry: .ci/run runs lte-high-var with one seed, and the
// commands of the README include quickstart.
var shortForms = map[string][]string{
	"at-scale": {"data.external.clients=3000", "data.external.features=1000", "run.max_time_s=3600",
		"run.rounds=5", "federation.clients_per_round=20"},
	"asynchrony": small("run.rounds=30"),
	"battery-day": {"data.synthetic.clients=300", "problem.lambda=3e-3", "network.shared.cells=3", "run.rounds=12",
		"run.outer=2", "run.eval_clients=100"},
	"baselines": {"run.outer=2", "run.rounds=4", "run.seeds=[1]"},
	"benchmark": {"run.outer=1", "run.rounds=1", "run.seeds=[1]", "problem.optimum.gap=0.3",
		`experiment.benchmark.axis.data=["Vehicle"]`, "experiment.benchmark.tuning.extend=0",
		"experiment.benchmark-mnist.tuning.extend=0", "experiment.benchmark-mnist.set.run.seeds=[1]",
		"experiment.benchmark-mnist.set.data.path=missing", "experiment.benchmark-mnist.set.data.synthetic.features=50",
		"experiment.benchmark-mnist.set.data.synthetic.rows_min=3000",
		"experiment.benchmark-mnist.set.data.synthetic.rows_max=3000",
		`experiment.benchmark.tune.mocha."problem.lambda"=[0.01]`,
		`experiment.benchmark.tune.local."problem.lambda"=[0.01]`,
		`experiment.benchmark.tune.global."problem.lambda"=[0.01]`,
		`experiment.benchmark.tune.fedavg."options.step"=[0.1]`,
		`experiment.benchmark.tune.fedprox."options.step"=[0.1]`,
		`experiment.benchmark-mnist.tune.mocha."problem.lambda"=[0.01]`,
		`experiment.benchmark-mnist.tune.local."problem.lambda"=[0.01]`,
		`experiment.benchmark-mnist.tune.global."problem.lambda"=[0.01]`,
		`experiment.benchmark-mnist.tune.fedavg."options.step"=[0.1]`,
		`experiment.benchmark-mnist.tune.fedprox."options.step"=[0.1]`,
		`experiment.benchmark.tune.solved."problem.lambda"=[0.01]`},
	"heat":             {"run.rounds=6"},
	"timeouts":         {"run.rounds=6"},
	"evening":          {"run.rounds=90"},
	"hedged":           {"run.rounds=20", "run.seeds=[1]"},
	"deadline":         {"run.rounds=40", "experiment.deadline.tuning.extend=0"},
	"quickstart-small": nil,
	"ditto": {"run.outer=2", "run.rounds=4", "run.eval_every=4", "run.clients_every=4", "run.seeds=[1]",
		"experiment.ditto.tuning.extend=0", `experiment.ditto.axis.data=["Vehicle"]`,
		`experiment.ditto.tune.local."problem.lambda"=[0.01]`, `experiment.ditto.tune.fedavg."options.step"=[0.01]`,
		`experiment.ditto.tune.ditto."options.lambda"=[0.1]`, `experiment.ditto.tune.mocha."problem.lambda"=[0.01]`,
		`experiment.ditto.tune.solved."problem.lambda"=[0.01]`},
	"fednova": {`experiment.fednova-quadratics.axis.step=["eta = 0.01"]`,
		`experiment.fednova-steps.axis.setting=["30 %, 1 to 5 epochs", "Vehicle, all sensors, 5 epochs"]`,
		"experiment.fednova-steps.set.run.rounds=2", "experiment.fednova-steps.set.run.seeds=[1]",
		"experiment.fednova-steps.tuning.extend=0", `experiment.fednova-steps.tune.fedavg."options.step"=[0.03]`,
		`experiment.fednova-steps.tune.fedprox."options.step"=[0.03]`,
		`experiment.fednova-steps.tune.fednova."options.step"=[0.03]`, `experiment.fednova-sets.axis.set=["2"]`,
		"experiment.fednova-sets.set.run.rounds=2", "experiment.fednova-sets.tuning.extend=0",
		`experiment.fednova-sets.tune.fedprox."options.step"=[0.03]`,
		`experiment.fednova-sets.tune.fedavg."options.step"=[0.03]`,
		`experiment.fednova-sets.tune.fednova."options.step"=[0.03]`,
		"experiment.fednova-quadratics.set.problem.optimum.gap=1e-3"},
	"fedprox": {"run.rounds=2",
		`experiment.fedprox.axis.setting=["Synthetic-IID, 0 %", "Synthetic (1,1), 50 %"]`,
		"methods.fedavg.options.epochs=2", "methods.fedprox0.options.epochs=2", "methods.fedprox1.options.epochs=2"},
	"fedbuff": {"data.path=missing", "data.synthetic.features=8", "data.synthetic.factors=4",
		"data.synthetic.rows_max=600", "data.synthetic.rows_min=600", "data.partition.clients=60",
		"data.partition.alpha=10", "run.rounds=4", "run.eval_clients=", "run.seeds=[1]",
		`experiment.fedbuff.axis.concurrency=["13", "39"]`, "experiment.fedbuff.tuning.extend=0"},
	"flash": {"run.rounds=2", "run.eval_every=1", "run.seeds=[1]", "data.path=missing",
		"data.synthetic.features=30", "data.synthetic.factors=10", "data.synthetic.rows_min=3000",
		"data.synthetic.rows_max=3000", "data.partition.clients=60", "experiment.flash.tuning.extend=0"},
	"ringmaster": {"run.rounds=4", "run.seeds=[1]", `experiment.ringmaster.axis.devices=["200"]`,
		"experiment.ringmaster.tuning.extend=0"},
	"compression": {"run.rounds=6", "run.seeds=[1]", "data.path=missing.zip", "data.synthetic.features=20",
		"data.synthetic.clients=12", "experiment.compression.tuning.extend=0"},
	"fig1-statistical": small("run.rounds=20"),
	"fig2-systems":     small("experiment.fig2-systems.set.run.rounds=20"),
	"fig3-faults": small(`experiment.fig3-faults.axis.update=["one W update"]`,
		`experiment.fig3-faults.axis.drop_probability=["0", "0.25", "device 0 never answers"]`),
	"absent":         {"run.rounds=40"},
	"left-behind":    {"run.outer=2", "run.rounds=4", "run.seeds=[1]"},
	"million":        {"data.synthetic.clients=2000", "problem.lambda=5e-4"},
	"million-events": {"data.synthetic.clients=2000", "run.rounds=3"},
	"outage":         small("run.rounds=30", "run.max_time_s=6"),
	"privacy": {"data.synthetic.clients=60", "data.synthetic.features=8", "data.synthetic.factors=4",
		"data.synthetic.classes=3", "run.rounds=4", "run.eval_every=1", "run.eval_clients=", "run.seeds=[1]",
		"federation.clients_per_round=10", "experiment.noise.tuning.extend=0",
		"experiment.noise.tune.plain.\"options.step\"=[1]",
		"experiment.noise.tune.plain.\"privacy.mechanism_options.clip\"=[1]"},
	"personal": personalForm(),
	"rush-hour": {"data.synthetic.clients=40", "data.synthetic.features=8", "data.synthetic.factors=5",
		"federation.clients_per_round=20", "network.shared.cells=2", "run.max_time_s=9000"},
	"regression":   {"run.rounds=10", "run.seeds=[1]"},
	"regularizers": {"run.outer=2", "run.rounds=5", "data.synthetic.features=10"},
	"sample":       {"run.rounds=5", "run.seeds=[1]", "experiment.sample.sample.size=6"},
	"selection": {"run.rounds=4", "run.seeds=[1]", "data.partition.clients=100", "data.synthetic.rows_min=3000",
		"data.synthetic.rows_max=3000", "experiment.selection.tuning.extend=0"},
	"sigma":       {"run.rounds=20", "run.stop_at=", "problem.optimum.gap=1e-2", "run.seeds=[1]"},
	"table1":      tableForm("table1", `["Google Glass", "Vehicle Sensor"]`),
	"table4-skew": tableForm("table4-skew", `["GG-Skew", "VS-Skew"]`),
	"vehicle": small("data.path=missing.json", "data.synthetic.rows_max=30", "data.synthetic.rows_deviation=8",
		"run.rounds=10", `experiment.fig3-faults.axis.update=["one W update"]`,
		`experiment.fig3-faults.axis.drop_probability=["0", "device 0 never answers"]`),
	"tiers": {"data.synthetic.features=10", "data.synthetic.clients=12", "run.rounds=4", "run.seeds=[1]",
		"network.hubs.size=4", "experiment.tiers.tuning.extend=0"},
	"wearables": small("run.rounds=10"),
	"cells":     small("run.rounds=10"),
	"theory":    {"run.rounds=10", "run.seeds=[1]"},

	"leaderboard": leaderboardForm("leaderboard", `["fedavg", "clean", "mifa"]`),
	"leaderboard-small": leaderboardForm("leaderboard-small",
		`["fedavg", "oort", "scaffold", "fedadam", "fedbuff", "ditto", "mocha"]`),
}

// leaderboardForm returns the settings for a leaderboard of a few methods and generated data.
func leaderboardForm(name, methods string) []string {
	form := []string{"run.rounds=3", "run.seeds=[1, 2]", "methods.mocha.set.run.outer=1"}
	for _, set := range []string{"har", "mnist", "vehicle"} {
		key := "experiment." + name + "-" + set
		form = append(form, key+`.axis.level=["severe"]`, key+".methods="+methods, key+".tuning.extend=0",
			key+".tuning.seeds=1", key+".set.data.path=missing", key+".set.data.synthetic.features=20")
	}
	return append(form, "experiment."+name+"-mnist.set.data.synthetic.rows_min=3000",
		"experiment."+name+"-mnist.set.data.synthetic.rows_max=3000")
}

// personalForm returns the settings for the comparison of personal methods on small generated data.
func personalForm() []string {
	form := []string{"run.outer=1", "run.rounds=2", "run.eval_every=2", "run.clients_every=2", "run.seeds=[1, 2]",
		"problem.optimum.gap=0.3"}
	for _, set := range []string{"har", "vehicle", "school", "landmine"} {
		key := "experiment.personal-" + set
		if set != "vehicle" { // which has all methods
			form = append(form, key+`.methods=["solved", "mean", "fedem", "fedrep"]`)
		}
		form = append(form, key+".tuning.seeds=1", key+".tuning.extend=0", key+".set.data.path=missing",
			key+".set.data.synthetic.features=6",
			key+".set.data.synthetic.factors=4", key+".set.data.synthetic.clients=10",
			key+".set.data.synthetic.rows_min=12", key+".set.data.synthetic.rows_max=30")
	}
	return form
}

func small(more ...string) []string {
	return append([]string{
		"data.preset=", "data.synthetic.clients=8", "data.synthetic.features=10", "data.synthetic.clusters=2",
		"data.synthetic.factors=5", "problem.optimum.gap=1e-2", "run.seeds=[1]",
	}, more...)
}

// tableForm returns the settings for a table of two small sets.
func tableForm(name, sets string) []string {
	key := "experiment." + name + "."
	return []string{
		key + "axis.data=" + sets, "run.seeds=[1]", key + "tuning.folds=2",
		key + `tune.global."problem.lambda"=[0.01, 0.001]`, "methods.mtl.options.omega_updates=2",
		"data.synthetic.features=8", "data.synthetic.factors=4", "data.synthetic.clients=5",
		"data.synthetic.clusters=2",
	}
}

// The leaderboard is planned for clusters: all runs of its experiments, with less data.
func TestLeaderboardIsPlanned(t *testing.T) {
	t.Setenv("FEDSIM_DATA", "")
	for _, name := range []string{"leaderboard-small", "leaderboard"} {
		s := expect.Value(scenario.Load(name, shortForms[name]))(t)
		args := []string{"plan", "make", name, "-o", filepath.Join(t.TempDir(), "plan")}
		for _, set := range shortForms[name] {
			args = append(args, "--set", set)
		}
		status, out, errors := mainOf(args...)
		if want := fmt.Sprintf("(%d runs in ", experiment.Total(s.Experiments)); status != 0 ||
			!strings.Contains(out, want) {
			t.Errorf("%s: exit status %d, want %q in\n%s%s", name, status, want, out, errors)
		}
	}
}

// Every shipped scenario runs, draws figures, and writes a complete run directory.
func TestShippedScenariosRun(t *testing.T) {
	if testing.Short() {
		t.Skip("draws a lot")
	}
	elsewhere := map[string]bool{"lte-high-var": true, "quickstart": true}
	for _, info := range scenarios.Shipped() {
		form, ok := shortForms[info.Name]
		if elsewhere[info.Name] {
			continue
		}
		if !ok {
			t.Errorf("shipped scenario %s is not tested: add it to shortForms", info.Name)
			continue
		}
		t.Run(info.Name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "run")
			args := []string{"run", info.Name, "--out", dir, "--workers", "1", "--progress", "none"}
			for _, set := range form {
				args = append(args, "--set", set)
			}
			var out, errors bytes.Buffer
			if status := Main(args, &out, &errors); status != 0 {
				t.Fatalf("exit status %d\n%s%s", status, out.String(), errors.String())
			}
			r := readRuns(t, dir)
			expect.That(t, r.Manifest.State == rundir.Complete, "state %q", r.Manifest.State)
			if pictures, _ := os.ReadDir(filepath.Join(dir, "figures")); len(r.Manifest.Runs) > 0 &&
				len(pictures) == 0 && info.Name != "million-events" {
				t.Error("no figure was drawn")
			}
		})
	}
}
