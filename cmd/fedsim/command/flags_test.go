package command

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"fedsim/internal/tools/filetest"
)

// flagCases lists each command with a small call of it, and for each of its flags arguments
// that must change what the call prints, writes or returns. "A | B" compares the call with A and
// the call with B. "in FILE" names the script or test that uses the flag, for commands that wait
// for a program, a browser or a scheduler.
var flagCases = map[string]map[string]string{
	"": {"": "", "version": "--version"},
	"calibrate": {
		"": "calibrate log.csv --out c", "force": "--out one | --out one --force", "hold-out": "--hold-out rounds", "out": "--out d",
		"check": "--check", "figure": "in replay.txtar", "json": "--json", "seed": "--seed=x", "with": "--check | --check --with one",
	},
	"compare": {
		"": "compare one two", "json": "--json", "out": "--out c", "target": "--target 0.5",
	},
	"data describe": {
		"": "data describe x.toml", "figure": "--figure f.png", "set": "--set data.bias=true",
	},
	"data export": {"": "data export x.toml", "out": "--out e", "set": "--out e | --out e --set data.path=1"},
	"data generate": {
		"": "data generate x.toml", "out": "--out g.csv", "set": "--set data.synthetic.features=3",
	},
	"engine": {
		"": "engine x.toml", "set": "--set run.nothing=1", "force": "--out one | --out one --force",
		"no-figures": "in engine_test.go", "out": "--out o", "resume": "--resume one",
		"checkpoint": "--checkpoint=-1", "timeline": "--timeline t.json --timeline-run no | --timeline t.json",
		"timeline-devices": "--timeline t.json --timeline-devices=-1 | --timeline t.json",
		"timeline-rounds":  "--timeline t.json --timeline-rounds=x | --timeline t.json",
		"timeline-run":     "--timeline t.json --timeline-run no | --timeline t.json",
	},
	"explain": {
		"": "explain one", "deadline": "--deadline 0.001", "json": "--json", "run": "--run x/mocha/seed=2", "without": "--without 1",
	},
	"fleet describe": {
		"": "fleet describe phones-2017", "devices": "--devices 10", "figure": "--figure f.png", "seed": "--seed 2",
	},
	"learner check": {
		"": "learner check none", "clients": "in learner_check.txtar", "model": "in external_model.txtar", "option": "in learner_check.txtar", "real": "in learner_check.txtar",
		"rounds": "in learner_check.txtar", "rows": "--rows=-1", "timeout": "in learner_check.txtar",
	},
	"merge": {
		"": "merge done", "force": "--out one | --out one --force", "json": "--json", "no-figures": "--no-figures",
		"out": "--out m", "partial": "in merge.txtar", "quiet": "--quiet", "allow-other-program": "in external_model.txtar",
	},
	"plan": {
		"": "plan x.toml --out q", "group-time": "--group-time 0s", "out": "--out q2", "set": "--set run.seeds=[1]",
	},
	"plot": {"": "plot one", "out": "--out f", "x": "--x round", "y": "--y test_error"},
	"report": {
		"": "report one", "open": "in report.txtar", "out": "--out r.html",
	},
	"results export": {
		"": "results export one", "format": "--format json", "model": "--model", "out": "--out e.csv",
		"run": "--model --run x/mocha/seed=2 | --model --run x/mocha/seed=1", "table": "--table runs",
	},
	"replay": {
		"": "replay log.csv --with cal", "out": "--out r.csv", "with": "--with one",
	},
	"run": {
		"": "run x.toml --out o --progress none", "all": "--all", "allow-external": "in external_allow.txtar", "allow-other-program": "--allow-other-program",
		"checkpoint": "--checkpoint=-1", "force": "--out one | --out one --force",
		"json": "--json", "no-figures": "--no-figures",
		"out": "--out o2", "progress": "--progress=no", "quiet": "--quiet",
		"resume": "--out | --resume one", "seed": "--seed 7", "set": "--set run.rounds=3", "timeline": "--timeline t.json",
		"timeline-devices": "--timeline t.json --timeline-devices=-1 | --timeline t.json",
		"timeline-rounds":  "--timeline t.json --timeline-rounds 9-3 | --timeline t.json",
		"timeline-run":     "--timeline t.json --timeline-run no | --timeline t.json",
		"workers":          "--workers=-1",
	},
	"scenarios list": {"": "scenarios list", "json": "--json"},
	"serve":          {"": "serve none", "addr": "in serve.txtar", "json": "in serve.txtar"},
	"status":         {"": "status done", "json": "--json", "watch": "in status.txtar"},
	"submit": {
		"": "submit p --engine slurm --print", "allow-external": "in external_allow.txtar", "cores": "--cores 3", "engine": "--engine no",
		"print": "--engine no --print | --engine slurm", "tasks": "--tasks 3",
		"template": "--template none",
	},
	"theory": {
		"": "theory x.toml --progress none", "allow-external": "in external_allow.txtar",
		"force": "--out one | --out one --force", "out": "--out o", "progress": "--progress=no",
		"quiet": "--quiet", "seeds": "--seeds=-1", "set": "--set run.nothing=1",
		"target": "--target=-1", "workers": "--workers=-1",
	},
	"trace synthesize": {
		"": "trace synthesize --devices 3", "charge-h": "--charge-h 3", "charge-spread-h": "--charge-h 3 | --charge-h 3 --charge-spread-h 2",
		"daily": "--daily 0.1", "days": "--days 2", "devices": "--devices 4", "down-mbps": "--down-mbps 3",
		"mean-down-s": "--mean-down-s 60", "mean-up-s": "--mean-up-s 60", "out": "--out s.csv", "peak-hour": "--peak-hour 12",
		"plug-hour": "--charge-h 3 | --charge-h 3 --plug-hour 12", "rate-cv": "--down-mbps 3 | --down-mbps 3 --rate-cv 0.9",
		"rate-s": "--down-mbps 3 | --down-mbps 3 --rate-s 90", "seed": "--seed 3", "up-mbps": "--up-mbps 3", "zones-h": "--zones-h=5",
	},
	"tune": {
		"": "tune tuned.toml --progress none", "allow-external": "in external_allow.txtar",
		"json": "--json", "progress": "--progress=no",
		"set": "--set run.nothing=1", "workers": "--workers=-1",
	},
	"version": {"": "version", "licenses": "--licenses"},
	"work": {
		"": "work done", "allow-external": "in external_allow.txtar", "checkpoint": "--checkpoint=-1",
		"no-wait": "in work.txtar", "quiet": "--quiet", "retry": "in status.txtar", "workers": "--workers=-1",
		"allow-other-program": "in external_model.txtar",
	},
}

// flagLines are the lines that a driver sends to fedsim engine.
const flagLines = `{"op":"hello","v":[1],"driver":"flags","method":"none","seed":1}
{"op":"finish","state":"done"}
`

// flagLog is a log of a real federation.
const flagLog = `round,client,bytes_down,bytes_up,flops,sent_s,seen_s,receive_s,compute_s
0,a,800,800,1e9,0,3,0.5,2
0,b,800,800,1e9,0,3,0.5,2.1
1,a,800,800,1e9,4,7,0.5,2.2
1,b,800,800,1e9,4,7,0.5,2
`

const flagScenario = `[data.synthetic]
clients = 2
features = 2
rows_min = 6
rows_max = 6
[run]
rounds = 2
model = true
devices = true
clients_every = 1
client_metrics = ["error"]
seeds = [1, 2]
[methods.mocha]
[[experiment]]
name = "x"
figure = {}
`

// Every flag of every command changes output, files or status of the command. The flags are
// those of the tree of commands: a new flag needs an entry.
func TestEveryFlagHasAnEffect(t *testing.T) {
	sources, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	tuned := flagScenario + "[experiment.tune.mocha]\n\"options.epochs\" = [1, 2]\n[experiment.tuning]\ntarget = 1e-2\n"
	for name, text := range map[string]string{"x.toml": flagScenario, "tuned.toml": tuned, "log.csv": flagLog, "lines.jsonl": flagLines} {
		filetest.Write(t, name, text)
	}
	for _, call := range []string{
		"run x.toml --out one --quiet", "run x.toml --out two --quiet --set run.rounds=3 --no-figures", "plan x.toml --out p", "plan x.toml --out done",
		"work done --quiet", "trace synthesize --devices 3 --out t.csv", "calibrate log.csv --out cal",
	} {
		var errors bytes.Buffer
		if status := Main(strings.Fields(call), &bytes.Buffer{}, &errors); status != 0 {
			t.Fatalf("fedsim %s: %s", call, &errors)
		}
	}
	seen := map[string]sight{}
	var missing []string
	for _, cmd := range all(newRoot(nil)) {
		name := strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), "fedsim"))
		cases, used := flagCases[name], 0
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			args, ok := cases[f.Name]
			if !ok {
				missing = append(missing, name+" --"+f.Name)
				return
			}
			used++
			if file, ok := strings.CutPrefix(args, "in "); ok {
				checkUse(t, sources, file, f.Name)
			} else {
				checkFlag(t, f.Name, cases[""], args, seen)
			}
		})
		if used != max(len(cases)-1, 0) {
			t.Errorf("%s has %d of the %d flags in flagCases", cmd.CommandPath(), used, len(cases)-1)
		}
	}
	if missing != nil {
		t.Errorf("flagCases has no arguments that show the effects of %q", missing)
	}
}

// sight is the visible effect of a call: its status, its output, and the files it makes.
type sight struct {
	Status        int
	Out, Messages string
	Files         []string
}

// checkUse checks that a script or a test of this package uses a flag.
func checkUse(t *testing.T, folder, file, flag string) {
	t.Helper()
	if strings.HasSuffix(file, ".txtar") {
		file = filepath.Join("testdata", "script", file)
	}
	text, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil || !strings.Contains(string(text), "--"+flag) {
		t.Errorf("%s does not use --%s (%v)", file, flag, err)
	}
}

// checkFlag compares the call without and with the arguments of a flag. seen holds the outcomes
// of calls.
func checkFlag(t *testing.T, flag, call, args string, seen map[string]sight) {
	t.Helper()
	without, with, ok := strings.Cut(args, " | ")
	if !ok {
		without, with = "", args
	}
	if !strings.Contains(without+with, "--"+flag) {
		t.Errorf("the arguments %q of %s do not use --%s", args, call, flag)
	}
	if cmp.Equal(look(t, call+" "+without, seen), look(t, call+" "+with, seen)) {
		t.Errorf("fedsim %s %s: --%s changes nothing", call, with, flag)
	}
}

// look makes a call in a new folder with copies of the files and folders of the working directory
// that the call names. Numbers of seconds and bytes of memory are left out.
func look(t *testing.T, call string, seen map[string]sight) sight {
	t.Helper()
	if o, ok := seen[call]; ok {
		return o
	}
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	entries, err := os.ReadDir(home)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if name := entry.Name(); name == "lines.jsonl" || slices.Contains(strings.Fields(call), name) {
			copyAll(t, filepath.Join(home, name), filepath.Join(dir, name))
		}
	}
	t.Chdir(dir)
	defer func() {
		if err := os.Chdir(home); err != nil {
			t.Fatal(err)
		}
	}()
	stdin := os.Stdin
	defer func() { os.Stdin = stdin }()
	if os.Stdin, err = os.Open("lines.jsonl"); err != nil {
		t.Fatal(err)
	}
	defer os.Stdin.Close()
	var out, errors bytes.Buffer
	o := sight{Status: Main(strings.Fields(call), &out, &errors)}
	times := regexp.MustCompile(`[0-9.]+ ?(s|ms|MB|kB|GB|min)\b|"wall_s": [0-9.e-]+`)
	o.Out, o.Messages = times.ReplaceAllString(out.String(), "-"), times.ReplaceAllString(errors.String(), "-")
	if err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		o.Files = append(o.Files, path)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	seen[call] = o
	return o
}

// copyAll copies a file, or a folder with its files.
func copyAll(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else {
		var text []byte
		if text, err = os.ReadFile(from); err == nil {
			err = os.WriteFile(to, text, 0o666)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
