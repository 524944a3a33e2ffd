package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"fedsim/internal/tools/racetest"
	"fedsim/results/rundir"
)

// TestMain registers the programs of the scripts: fedsim, programs that examine its output,
// and a learner.
func TestMain(m *testing.M) {
	testscript.Main(m, programs)
}

// programs are the programs of the scripts.
var programs = map[string]func(){
	"fedsim":           func() { os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr)) },
	"small-disk":       smallDisk,
	"impatient":        impatient,
	"unprivileged":     unprivileged,
	"interrupt-at":     interruptAt,
	"interrupt-saved":  interruptSaved,
	"interrupt-after":  interruptAfterRun,
	"interrupt-itself": interruptItself,
	"browse":           browse,
	"files":            files,
	"manifest":         printManifest,
	"truncated-zip":    truncatedZip,
	"damaged-zip":      damagedZip,
	"learner":          func() { scalarLearner(os.Args[1:]) },
	"model":            func() { meanModel(os.Args[1:]) },
}

// TestScripts runs testdata/script, one archive per behavior.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
		},
		Condition: func(name string) (bool, error) {
			if name != "race" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return racetest.Enabled(), nil
		},
	})
}

// exits runs a command and checks its exit status: exits 2 fedsim run.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%v: status %d, must be %d", args[1:], got, want)
	}
}

// files prints the files and empty directories in a directory, including hidden ones.
func files() {
	var dirs, all []string
	err := filepath.WalkDir(os.Args[1], func(path string, d fs.DirEntry, err error) error {
		if d.Name() == ".tmp" { // of testscript
			return fs.SkipDir
		}
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		} else if err == nil {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		fail(err)
	}
	for _, dir := range dirs {
		if inside, err := os.ReadDir(dir); err == nil && len(inside) == 0 {
			all = append(all, dir+"/")
		}
	}
	for _, name := range all {
		fmt.Println(name)
	}
}

// printManifest prints the manifest of a run directory without the clock and the command
// line, which differ between two runs of the same scenario. It fails unless the whole
// directory is readable.
func printManifest() {
	r, err := rundir.Read(os.Args[1])
	if err != nil {
		fail(err)
	}
	m := r.Manifest
	m.Clock, m.Command = nil, nil
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		fail(err)
	}
	fmt.Println(string(text))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// exitAs exits with the status of a program that has ended.
func exitAs(err error) {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fail(err)
	}
}
