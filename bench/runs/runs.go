// Package runs builds fedsim and runs scenarios, for commands that measure whole runs. It
// must not know their measurements.
package runs

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"fedsim/results/rundir"
)

// Program is the path of a fedsim binary.
type Program string

// Build builds fedsim into dir, in its own module with the dependencies of the command line.
func Build(dir string) (Program, error) {
	module, err := exec.Command("go", "list", "-f", "{{.Module.Dir}}", "fedsim/results/rundir").Output()
	if err != nil {
		return "", fmt.Errorf("finding module fedsim (run this in the directory bench): %w", err)
	}
	path := filepath.Join(dir, "fedsim")
	build := exec.Command("go", "build", "-o", path, "./cmd/fedsim")
	build.Dir = strings.TrimSpace(string(module))
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building fedsim: %w\n%s", err, text)
	}
	return Program(path), nil
}

// Run runs a scenario with more arguments and returns its results, which replace those in
// dir.
func (p Program) Run(dir, scenario string, args ...string) (*rundir.Results, error) {
	return p.run(nil, dir, scenario, args...)
}

// RunAlone is Run on one core, also for the garbage collector, by so many processes at once: each replaces the results
// in its own of dirs. It returns those of the last to end.
func (p Program) RunAlone(dirs []string, scenario string, args ...string) (*rundir.Results, error) {
	type ended struct {
		results *rundir.Results
		err     error
	}
	args = append([]string{"--workers=1"}, args...)
	all := make(chan ended)
	for _, dir := range dirs {
		go func() {
			r, err := p.run(append(os.Environ(), "GOMAXPROCS=1"), dir, scenario, args...)
			all <- ended{r, err}
		}()
	}
	var last ended
	var wrong error
	for range dirs {
		last = <-all
		wrong = cmp.Or(wrong, last.err)
	}
	return last.results, wrong
}

func (p Program) run(env []string, dir, scenario string, args ...string) (*rundir.Results, error) {
	args = append([]string{"run", scenario, "--out", dir, "--force", "--progress", "none"}, args...)
	cmd := exec.Command(string(p), args...)
	cmd.Env = env
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("fedsim %s: %w\n%s", strings.Join(args, " "), err, text)
	}
	return rundir.Read(dir)
}
