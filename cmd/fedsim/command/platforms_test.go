package command

import (
	"encoding/csv"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/expect"
	"fedsim/results/rundir"
	"fedsim/scenarios"
)

var (
	platforms = flag.String("platforms", "",
		"platforms of TestPlatforms, separated by commas: noparquet, page, baseline, v3, 386, arm64, riscv64, s390x, "+
			"ppc64le, loong64")
	platformScenarios = flag.String("platform-scenarios", "",
		"scenarios of TestPlatforms; empty: all shipped scenarios")
)

// platform is a build of the program, and the settings to run it on this machine.
type platform struct {
	build, run []string // settings of the environment
	flag       string   // of go build; empty: none
	emulator   string   // a program of Debian's package qemu-user-static; empty: none
}

var knownPlatforms = map[string]platform{
	"noparquet": {flag: "-tags=noparquet"},
	"page":      {emulator: "node"}, // the program of cmd/fedsim-web, js/wasm
	"baseline":  {build: []string{"GOAMD64=v1"}, run: []string{"GODEBUG=cpu.fma=off,cpu.avx2=off,cpu.avx=off"}},
	"v3":        {build: []string{"GOAMD64=v3"}},
	"386":       {build: []string{"GOARCH=386"}},
	// make check has compiled the packages so
	"arm64":   {build: []string{"GOARCH=arm64"}, flag: listingFlag, emulator: "qemu-aarch64-static"},
	"riscv64": {build: []string{"GOARCH=riscv64"}, emulator: "qemu-riscv64-static"},
	"s390x":   {build: []string{"GOARCH=s390x"}, emulator: "qemu-s390x-static"},
	"ppc64le": {build: []string{"GOARCH=ppc64le"}, emulator: "qemu-ppc64le-static"},
	"loong64": {build: []string{"GOARCH=loong64"}, emulator: "qemu-loongarch64-static"},
}

// platformCuts shorten the shipped scenarios to two seconds on this machine. Emulation is
// up to sixty times slower.
var platformCuts = map[string][]string{
	"asynchrony": {"run.rounds=2"},
	"at-scale":   {"data.external.clients=3000", "run.rounds=3"},
	"baselines":  {"run.rounds=3", "run.outer=2"},
	"benchmark": {"run.rounds=2", "run.outer=1", "problem.optimum.gap=0.3",
		`experiment.benchmark.axis.data=["Vehicle"]`, "experiment.benchmark-mnist.set.run.seeds=[1]"},
	"battery-day": {"run.rounds=8", "run.outer=2", "data.synthetic.clients=300"},
	"timeouts":    {"run.rounds=6"},
	"hedged":      {"run.rounds=10", "run.seeds=[1]"},
	"heat":        {"run.rounds=6"},
	"ditto": {"run.outer=1", "run.rounds=10", "run.seeds=[1]", "data.path=missing.json",
		`experiment.ditto.axis.data=["Vehicle"]`},
	"fednova": {`experiment.fednova-quadratics.axis.step=["eta = 0.01"]`,
		`experiment.fednova-steps.axis.setting=["30 %, 1 to 5 epochs"]`, "experiment.fednova-steps.set.run.rounds=5",
		"experiment.fednova-steps.set.run.seeds=[1]", "experiment.fednova-steps.tuning.extend=0",
		`experiment.fednova-sets.axis.set=["2"]`, "experiment.fednova-sets.set.run.rounds=5",
		"experiment.fednova-sets.tuning.extend=0"},
	"fedprox": {"run.rounds=1", `experiment.fedprox.axis.setting=["Synthetic (1,1), 50 %"]`},
	"fedbuff": {"run.rounds=2", "data.path=missing", `experiment.fedbuff.axis.concurrency=["13"]`,
		"experiment.fedbuff.tuning.extend=0", "run.seeds=[1]"},
	"flash": {"run.rounds=1", "run.seeds=[1]", "data.path=missing", "data.synthetic.rows_min=3000",
		"data.synthetic.rows_max=3000", "data.partition.clients=60", `experiment.flash.axis.setting=["both"]`,
		"experiment.flash.tuning.extend=0"},
	"ringmaster": {"run.rounds=2", "run.seeds=[1]", `experiment.ringmaster.axis.devices=["200"]`,
		"experiment.ringmaster.tuning.extend=0"},
	"fig1-statistical": {"run.rounds=3", "data.synthetic.clients=10"},
	"fig2-systems":     {"experiment.fig2-systems.set.run.rounds=3", "data.synthetic.clients=10"},
	"fig3-faults":      {"run.max_time_s=1", "data.synthetic.clients=10"},
	"absent":           {"run.rounds=40"},
	"left-behind":      {"run.rounds=2", "run.outer=2"},
	"lte-high-var": {"run.max_time_s=0.02", "data.synthetic.clients=6",
		`experiment.fig3-faults.axis.update=["one W update"]`},
	"million":        {"run.outer=2", "data.synthetic.clients=1000"},
	"million-events": {"run.rounds=3", "data.synthetic.clients=10000"},
	"outage":         {"run.rounds=3"},
	"personal":       personalForm(),
	"privacy": {"run.rounds=2", "run.eval_every=1", "data.synthetic.clients=60", "run.eval_clients=20",
		"federation.clients_per_round=10"},
	"deadline":         {"run.rounds=10", "experiment.deadline.tuning.extend=0"},
	"quickstart":       {"run.max_time_s=5"},
	"quickstart-small": {"run.max_time_s=5"},
	"regression":       {"run.rounds=3"},
	"regularizers":     {"run.rounds=3", "run.outer=2"},
	"rush-hour":        {"run.rounds=2"},
	"sample":           {"run.rounds=3", "experiment.sample.sample.size=6"},
	"sigma":            {"run.rounds=3"},
	"theory":           {"run.rounds=5"},
	"vehicle": {"run.rounds=3", "data.path=missing.json", "data.synthetic.clients=6",
		"problem.regularizer_options.warm_start=1",
		"run.outer=1"},
	"tiers":       {"run.rounds=4"},
	"wearables":   {"run.rounds=3"},
	"cells":       {"run.rounds=3"},
	"table1":      tableCuts("table1"),
	"table4-skew": tableCuts("table4-skew"),

	"leaderboard":       leaderboardForm("leaderboard", `["fedavg", "mifa"]`),
	"leaderboard-small": leaderboardForm("leaderboard-small", `["fedavg", "scaffold", "fedbuff"]`),
}

func tableCuts(name string) (cuts []string) {
	cuts = []string{"experiment." + name + ".tuning.folds=2"}
	for _, method := range []string{"global", "local", "mtl"} {
		cuts = append(cuts, "experiment."+name+".tune."+method+`."problem.lambda"=[0.1, 0.01]`,
			"methods."+method+".options.omega_updates=1", "methods."+method+".options.sweeps=1")
	}
	return cuts
}

// TestPlatforms runs shipped scenarios on other platforms and compares the results with
// those of this platform, except for figures and the clock.
func TestPlatforms(t *testing.T) {
	if *platforms == "" {
		t.Skip("make test-platforms runs this test")
	}
	var names []string
	for _, s := range scenarios.Shipped() {
		names = append(names, s.Name)
	}
	if *platformScenarios != "" {
		names = strings.Split(*platformScenarios, ",")
	}
	for _, name := range names {
		expect.That(t, platformCuts[name] != nil, "scenario %s: add settings to platformCuts that shorten it", name)
	}
	dir := t.TempDir()
	wants := map[string]func() map[string]string{}
	for _, name := range names {
		wants[name] = sync.OnceValue(func() map[string]string {
			return ranOn(t, name, filepath.Join(dir, "here-"+name), nil, []string{"fedsim"})
		})
	}
	for _, on := range strings.Split(*platforms, ",") {
		p, ok := knownPlatforms[on]
		expect.Must(t, ok, "platform %q: must be one of %v", on, slices.Sorted(maps.Keys(knownPlatforms)))
		var program []string
		if on == "page" {
			program = []string{"../../fedsim-web/testdata/node.mjs", madePage(t, dir)}
		} else {
			program = []string{buildFor(t, dir, on, p)}
		}
		if p.emulator != "" {
			emulator, err := exec.LookPath(p.emulator)
			if err != nil && on == "page" {
				t.Logf("%s: skipped: %v", on, err)
				continue
			}
			expect.Must(t, err == nil, "%v: make test-platforms installs it", err)
			program = append([]string{emulator}, program...)
		}
		for _, name := range names {
			t.Run(on+"/"+name, func(t *testing.T) {
				t.Parallel()
				got := ranOn(t, name, filepath.Join(dir, on+"-"+name), p.run, program)
				if d := cmp.Diff(wants[name](), got); d != "" {
					t.Errorf("the results differ from those of %s/%s (-) on %s (+):\n%.4000s", runtime.GOOS,
						runtime.GOARCH, on, d)
				}
			})
		}
	}
}

// buildFor builds the program for a platform and returns its path.
func buildFor(t *testing.T, dir, name string, p platform) string {
	t.Helper()
	program := filepath.Join(dir, "fedsim-"+name)
	build := exec.Command("go", "build", "-o", program)
	if p.flag != "" {
		build.Args = append(build.Args, p.flag)
	}
	build.Args = append(build.Args, "./cmd/fedsim")
	build.Dir = root
	build.Env = append(append(os.Environ(), "CGO_ENABLED=0"), p.build...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building for %s: %v\n%s", name, err, out[max(0, len(out)-2000):]) // it may end a listing
	}
	return program
}

// mostPage is the most bytes of the program of a page, packed by gzip. Brotli takes 0.7 of them.
const mostPage = 5_950_000

// madePage makes the page in which scenarios run, and returns its folder. Its program must be small.
func madePage(t *testing.T, dir string) string {
	t.Helper()
	folder := filepath.Join(dir, "page")
	build := exec.Command("go", "run", "./cmd/fedsim-web", folder)
	build.Dir = root
	out, err := build.CombinedOutput()
	expect.Must(t, err == nil, "building the page: %v\n%s", err, out)
	info, err := os.Stat(filepath.Join(folder, "fedsim.wasm.gz"))
	expect.Must(t, err == nil, "%v", err)
	expect.That(t, info.Size() <= mostPage, "the program of the page has %d bytes, want at most %d: see which package "+
		"is new with: go list -deps -tags minimal,noparquet ./cmd/fedsim-web", info.Size(), mostPage)
	t.Logf("the program of the page has %d bytes (gzip)", info.Size())
	return folder
}

// ranOn runs a scenario and returns its results, by file.
func ranOn(t *testing.T, name, dir string, environment, program []string) map[string]string {
	arguments, set := append(slices.Clone(program[1:]), "run", name, "--quiet", "--out", dir), "--set="
	if filepath.Base(program[0]) == "node" {
		arguments = append(slices.Clone(program[1:]), filepath.Join(root, "scenarios", name+scenarios.Extension), dir)
		set = ""
	}
	for _, cut := range append(slices.Clone(platformCuts[name]), "run.seeds=[1]") {
		arguments = append(arguments, set+cut)
	}
	run := exec.Command(program[0], arguments...)
	if set != "" {
		run.Dir = t.TempDir()
	}
	run.Env = append(append(os.Environ(), "FEDSIM_DATA="), environment...)
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", run.Args, err, out)
		return nil
	}
	found, err := leftIn(dir)
	expect.That(t, err == nil, "%v", err)
	return found
}

// leftIn returns the files of a run directory that must not depend on the platform: the
// hashes, and the csv files without the columns of wall time.
func leftIn(dir string) (map[string]string, error) {
	r, err := rundir.Read(dir)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for i := range r.Manifest.Runs {
		e := &r.Manifest.Runs[i]
		found["hashes of "+e.ID] = fmt.Sprintf("events %s, model %s", e.EventHash, e.ModelHash)
	}
	for _, pattern := range []string{"*.csv", "tables/*.csv"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			records, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
			if err != nil {
				return nil, err
			}
			var rows []string
			for _, record := range records {
				kept := slices.Clone(record)
				for c := range kept {
					if strings.Contains(records[0][c], "wall") {
						kept[c] = ""
					}
				}
				rows = append(rows, strings.Join(kept, ","))
			}
			found[filepath.Base(file)] = strings.Join(rows, "\n")
		}
	}
	return found, nil
}
