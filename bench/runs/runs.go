// Package runs builds fedsim and runs scenarios, for commands that measure whole runs. It
// must not know their measurements.
package runs

import (
	"fmt"
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
	args = append([]string{"run", scenario, "--out", dir, "--force", "--progress", "none"}, args...)
	if text, err := exec.Command(string(p), args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("fedsim %s: %w\n%s", strings.Join(args, " "), err, text)
	}
	return rundir.Read(dir)
}
