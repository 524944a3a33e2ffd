package command

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// starting are the commands that start the programs of a scenario, if the user allows it.
var starting = []string{"run", "theory"}

// harmless has a call of every other command, with the scenario x.toml, its run directory
// runs/x or its plan plans/x where it takes one. Those of plans are not allowed to start
// programs. A call that fails starts with "!".
var harmless = map[string]string{
	"verify":    "!runs/x",
	"calibrate": "!x.toml --out cal", "check": "x.toml", "completion": "bash",
	"compare": "runs/x runs/y --target test_error=0.8", "data describe": "!x.toml", "data generate": "!x.toml -o data",
	"data export": "!x.toml --out rows", "engine": "!x.toml", "explain": "runs/x", "export": "runs/x rounds",
	"fleet describe": "!x.toml", "fleet list": "", "fleet show": "phones-2017", "help": "run", "init": "new.toml",
	"man": "pages", "methods": "", "plan make": "x.toml -o plans/y", "plan merge": "!plans/x",
	"plan submit": "!plans/x --engine local", "plan work": "!plans/x", "plot": "runs/x", "report": "runs/x",
	"scenarios list": "", "scenarios schema": "", "scenarios show": "quickstart", "settle": "!x.toml --out settled",
	"show":        "runs/x",
	"trace stats": "!x.toml", "trace synthesize": "--devices 2 --days 1 -o t.csv", "version": "",
	"whatif": "!x.toml --set run.rounds=3",
}

// No command but those of starting starts the program of a scenario: neither that of a
// file, nor that of a run directory.
func TestOnlyRunsStartPrograms(t *testing.T) {
	dir := t.TempDir()
	const scenario = `
[data]
source = "external"
[data.external]
clients = 4
rows = 10
[run]
rounds = 3
devices = true
[methods.x]
algorithm = "external"
program.command = ["learner", "log=started"]
`
	filetest.Write(t, filepath.Join(dir, "x.toml"), scenario)
	call := func(args ...string) (output string, err error) {
		cmd := exec.Command("fedsim", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, to := range []string{"runs/x", "runs/y"} {
		out, err := call("run", "x.toml", "--allow-external", "--no-figures", "--out", to)
		expect.Must(t, err == nil, "%v: %s", err, out)
	}
	started := filepath.Join(dir, "started")
	if err := os.Remove(started); err != nil {
		t.Fatalf("the run has not started the program: %v", err)
	}
	if out, err := call("plan", "make", "x.toml", "-o", "plans/x"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, cmd := range all(newRoot(nil)) {
		name := strings.TrimPrefix(cmd.CommandPath(), "fedsim ")
		if cmd.HasSubCommands() || strings.Contains(" "+strings.Join(starting, " ")+" ", " "+name+" ") {
			continue
		}
		args, ok := harmless[name]
		if !ok {
			t.Errorf("fedsim %s: say here how to call it", name)
			continue
		}
		args, fails := strings.CutPrefix(args, "!")
		if out, err := call(strings.Fields(name + " " + args)...); (err != nil) != fails {
			t.Errorf("fedsim %s %s: %v: %s", name, args, err, out)
		}
		expect.That(t, os.Remove(started) != nil, "fedsim %s %s has started the program", name, args)
	}
	serveOnce(t, dir, "runs/x")
	if out, err := call("show", "plans/x"); err != nil || os.Remove(started) == nil {
		t.Errorf("the live page or the plan: %v: %s", err, out)
	}
	if out, err := call("__complete", "run", "x.toml", "--set", "methods."); err != nil || os.Remove(started) == nil {
		t.Errorf("completion: %v: %s", err, out)
	}
}

// serveOnce serves a run directory, and ends when the server listens.
func serveOnce(t *testing.T, dir, run string) {
	cmd := exec.Command("fedsim", "report", run, "--live")
	cmd.Dir = dir
	out := expect.Value(cmd.StdoutPipe())(t)
	expect.NoError(t, cmd.Start())
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Error(err)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
}
