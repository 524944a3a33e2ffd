package command

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/filetest"
)

// starting are the commands that start the programs of a scenario, if the user allows it.
var starting = []string{"run", "tune", "theory"}

// harmless has a call of every other command, with the scenario x.toml, its run directory
// runs/x or its plan plans/x where it takes one. Those of plans are not allowed to start
// programs. A call that fails starts with "!".
var harmless = map[string]string{
	"algorithms": "", "calibrate": "!x.toml --out cal", "replay": "!x.toml --with cal", "completion": "bash",
	"compare": "runs/x runs/y --target test_error=0.8", "data describe": "!x.toml", "data generate": "!x.toml -o data", "data export": "!x.toml --out rows", "engine": "!x.toml", "explain": "runs/x",
	"fleet describe": "!x.toml", "fleet list": "", "fleet show": "phones-2017", "help": "run", "init": "new.toml", "learner check": "!./x.toml", "man": "pages", "merge": "!plans/x", "plan": "x.toml -o plans/y",
	"plot": "runs/x", "report": "runs/x", "results show": "runs/x", "results export": "runs/x", "scenarios list": "",
	"scenarios schema": "", "scenarios show": "quickstart", "scenarios validate": "x.toml", "serve": "runs/x", "status": "plans/x", "submit": "!plans/x --engine local",
	"trace stats": "!x.toml", "trace synthesize": "--devices 2 --days 1 -o t.csv", "version": "", "work": "!plans/x",
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
command = ["learner", "log=started"]
`
	filetest.Write(t, filepath.Join(dir, "x.toml"), scenario)
	call := func(args ...string) (output string, err error) {
		cmd := exec.Command("fedsim", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, to := range []string{"runs/x", "runs/y"} {
		if out, err := call("run", "x.toml", "--allow-external", "--no-figures", "--out", to); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	started := filepath.Join(dir, "started")
	if err := os.Remove(started); err != nil {
		t.Fatalf("the run has not started the program: %v", err)
	}
	if out, err := call("plan", "x.toml", "-o", "plans/x"); err != nil {
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
		if name == "serve" {
			serveOnce(t, dir, args)
		} else if out, err := call(strings.Fields(name + " " + args)...); (err != nil) != fails {
			t.Errorf("fedsim %s %s: %v: %s", name, args, err, out)
		}
		if os.Remove(started) == nil {
			t.Errorf("fedsim %s %s has started the program", name, args)
		}
	}
	if out, err := call("__complete", "run", "x.toml", "--set", "methods."); err != nil || os.Remove(started) == nil {
		t.Errorf("completion: %v: %s", err, out)
	}
}

// serveOnce serves a run directory, and ends when the server listens.
func serveOnce(t *testing.T, dir, run string) {
	cmd := exec.Command("fedsim", "serve", run)
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Error(err)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	_ = cmd.Wait()
}
