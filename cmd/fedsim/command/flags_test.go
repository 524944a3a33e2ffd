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

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// flagCases lists each command with a small call of it, and for each of its flags arguments
// that must change what the call prints, writes or returns. "A | B" compares the call with A and
// the call with B. "in FILE" names the script or test that uses the flag, for commands that wait
// for a program, a browser or a scheduler.
var flagCases = map[string]map[string]string{
	"": {"": "", "version": "--version", "licenses": "--licenses"},
	"calibrate": {
		"": "calibrate log.csv --out c", "force": "--out one | --out one --force", "hold-out": "--hold-out rounds",
		"out": "--out d", "check": "--check", "figure": "in replay.txtar", "json": "--json", "seed": "--seed=x",
		"with": "--check | --check --with one", "attempts": "in replay.txtar",
	},
	"check": {
		"": "check x.toml", "learner": "--learner", "clients": "in learner_check.txtar", "model": "--model x.toml",
		"option": "in learner_check.txtar", "real": "in learner_check.txtar", "rounds": "in learner_check.txtar",
		"rows": "--rows=9", "timeout": "in learner_check.txtar",
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
		"checkpoint": "--checkpoint=-1",
	},
	"explain": {
		"": "explain one", "deadline": "--deadline 0.001", "json": "--json", "run": "--run x/mocha/seed=2",
		"without": "--without 1", "timeline": "--timeline t.json", "rounds": "--rounds 1:2",
		"devices": "--timeline t.json --devices=-1 | --timeline t.json", "allow-external": "in external_allow.txtar",
		"unshared": "in cells.txtar", "before": "in explain.txtar",
	},
	"export": {
		"": "export one rounds", "out": "--out e.csv", "run": "--run x/mocha/seed=1",
	},
	"fleet describe": {
		"": "fleet describe phones-2017", "devices": "--devices 10", "figure": "--figure f.png", "seed": "--seed 2",
	},
	"init": {"": "init new.toml", "all": "in init.txtar"},
	"plan make": {
		"": "plan make x.toml --out q", "group-time": "--group-time 0s", "out": "--out q2",
		"set": "--set run.seeds=[1]",
	},
	"plan merge": {
		"": "plan merge done", "force": "--out one | --out one --force", "json": "--json", "no-figures": "--no-figures",
		"out": "--out m", "partial": "in merge.txtar", "quiet": "--quiet",
		"allow-other-program": "in external_model.txtar",
	},
	"plan submit": {
		"": "plan submit p --engine slurm --print", "allow-external": "in external_allow.txtar", "cores": "--cores 3",
		"engine": "--engine no", "print": "--engine no --print | --engine slurm", "tasks": "--tasks 3",
		"template": "--template none",
	},
	"plan work": {
		"": "plan work done", "allow-external": "in external_allow.txtar", "checkpoint": "--checkpoint=-1",
		"no-wait": "in work.txtar", "quiet": "--quiet", "retry": "in status.txtar", "workers": "--workers=-1",
		"allow-other-program": "in external_model.txtar",
	},
	"plot": {"": "plot one", "out": "--out f", "x": "--x round", "y": "--y test_error"},
	"report": {
		"": "report one", "open": "in report.txtar", "out": "--out r.html", "live": "in report_live.txtar",
		"addr": "in report_live.txtar", "json": "in report_live.txtar",
	},
	"run": {
		"": "run x.toml --out o --progress none", "allow-external": "in external_allow.txtar",
		"allow-other-program": "--allow-other-program", "checkpoint": "--checkpoint=-1",
		"force": "--out one | --out one --force", "json": "--json", "no-figures": "--no-figures",
		"out": "--out o2", "progress": "--progress=no", "quiet": "--quiet",
		"resume": "--out | --resume one", "seed": "--seed 7", "set": "--set run.rounds=3",
		"tune-only": "--tune-only", "workers": "--workers=-1",
	},
	"scenarios list": {"": "scenarios list", "json": "--json"},
	"settle": {
		"": "settle x.toml", "a": "in settle.txtar", "b": "in settle.txtar", "by": "--by steps",
		"target": "--target=-1", "margin": "in settle.txtar", "confidence": "in settle.txtar",
		"max-seeds": "in settle.txtar", "order": "in settle.txtar", "set": "--set run.nothing=1",
		"out": "in settle.txtar", "force": "in settle.txtar", "workers": "--workers=-1",
		"allow-external": "in external_allow.txtar", "progress": "--progress=no", "quiet": "in settle.txtar",
		"no-figures": "in settle.txtar", "json": "in settle.txtar", "resume": "in settle.txtar",
		"checkpoint": "--checkpoint=-1", "allow-other-program": "--allow-other-program",
		"plan": "in settle_plan.txtar",
	},
	"show": {"": "show done", "json": "--json", "all": "--all", "watch": "in status.txtar"},
	"theory": {
		"": "theory x.toml --progress none", "allow-external": "in external_allow.txtar",
		"force": "--out one | --out one --force", "out": "--out o", "progress": "--progress=no",
		"quiet": "--quiet", "seeds": "--seeds=-1", "set": "--set run.nothing=1",
		"target": "--target=-1", "workers": "--workers=-1", "twin": "in theory_twin.txtar",
		"rounds": "in theory_twin.txtar", "optimize": "in theory_twin.txtar", "for": "in theory_twin.txtar",
	},
	"trace synthesize": {
		"": "trace synthesize --devices 3", "charge-h": "--charge-h 3",
		"charge-spread-h": "--charge-h 3 | --charge-h 3 --charge-spread-h 2", "daily": "--daily 0.1",
		"days": "--days 2", "devices": "--devices 4", "down-mbps": "--down-mbps 3", "mean-down-s": "--mean-down-s 60",
		"mean-up-s": "--mean-up-s 60", "out": "--out s.csv", "peak-hour": "--peak-hour 12",
		"plug-hour": "--charge-h 3 | --charge-h 3 --plug-hour 12",
		"rate-cv":   "--down-mbps 3 | --down-mbps 3 --rate-cv 0.9",
		"rate-s":    "--down-mbps 3 | --down-mbps 3 --rate-s 90", "seed": "--seed 3", "up-mbps": "--up-mbps 3",
		"zones-h": "--zones-h=5",
	},
	"whatif": {
		"": "whatif log.csv --set run.rounds=3", "set": "in whatif.txtar", "seeds": "in whatif.txtar",
		"figure": "in whatif.txtar", "json": "in whatif.txtar",
	},
	"verify": {
		"": "verify one --progress none", "allow-external": "in external_allow.txtar", "progress": "--progress=no",
		"quiet": "--quiet", "sample": "--sample=-1", "workers": "--workers=-1",
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
save_model = true
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
	sources := expect.Value(filepath.Abs("."))(t)
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"x.toml": flagScenario, "log.csv": flagLog, "lines.jsonl": flagLines} {
		filetest.Write(t, name, text)
	}
	for _, call := range []string{
		"run x.toml --out one --quiet", "run x.toml --out two --quiet --set run.rounds=3 --no-figures",
		"plan make x.toml --out p", "plan make x.toml --out done", "plan work done --quiet",
		"trace synthesize --devices 3 --out t.csv", "calibrate log.csv --out cal",
	} {
		var errors bytes.Buffer
		status := Main(strings.Fields(call), &bytes.Buffer{}, &errors)
		expect.Must(t, status == 0, "fedsim %s: %s", call, &errors)
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
		expect.That(t, used == max(len(cases)-1, 0),
			"%s has %d of the %d flags in flagCases", cmd.CommandPath(), used, len(cases)-1)
	}
	expect.That(t, missing == nil, "flagCases has no arguments that show the effects of %q", missing)
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
	expect.That(t, err == nil && strings.Contains(string(text), "--"+flag),
		"%s does not use --%s (%v)", file, flag, err)
}

// checkFlag compares the call without and with the arguments of a flag. seen holds the outcomes
// of calls.
func checkFlag(t *testing.T, flag, call, args string, seen map[string]sight) {
	t.Helper()
	without, with, ok := strings.Cut(args, " | ")
	if !ok {
		without, with = "", args
	}
	expect.That(t, strings.Contains(without+with, "--"+flag),
		"the arguments %q of %s do not use --%s", args, call, flag)
	expect.That(t, !cmp.Equal(look(t, call+" "+without, seen), look(t, call+" "+with, seen)),
		"fedsim %s %s: --%s changes nothing", call, with, flag)
}

// look makes a call in a new folder with copies of the files and folders of the working directory
// that the call names. Numbers of seconds and bytes of memory are left out.
func look(t *testing.T, call string, seen map[string]sight) sight {
	t.Helper()
	if o, ok := seen[call]; ok {
		return o
	}
	home, err := os.Getwd()
	expect.NoError(t, err)
	dir := t.TempDir()
	entries, err := os.ReadDir(home)
	expect.NoError(t, err)
	for _, entry := range entries {
		if name := entry.Name(); name == "lines.jsonl" || slices.Contains(strings.Fields(call), name) {
			copyAll(t, filepath.Join(home, name), filepath.Join(dir, name))
		}
	}
	t.Chdir(dir)
	defer func() {
		expect.NoError(t, os.Chdir(home))
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
	expect.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		o.Files = append(o.Files, path)
		return err
	}))
	seen[call] = o
	return o
}

// copyAll copies a file, or a folder with its files.
func copyAll(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	expect.NoError(t, err)
	if info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else {
		var text []byte
		if text, err = os.ReadFile(from); err == nil {
			err = os.WriteFile(to, text, 0o666)
		}
	}
	expect.NoError(t, err)
}
