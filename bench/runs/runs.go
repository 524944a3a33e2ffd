// Package runs builds fedsim and runs scenarios with it, as a user does, for the
// commands that measure whole runs.
//
// It must not know what they measure.
package runs

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"fedsim/results/rundir"
)

// Program is the path of a fedsim that was built.
type Program string

// Build builds fedsim into dir. It is built in its own module, which knows what the
// command line needs.
func Build(dir string) (Program, error) {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "fedsim").Output()
	if err != nil {
		return "", fmt.Errorf("looking for fedsim, which is right in the folder bench alone: %w", err)
	}
	path := filepath.Join(dir, "fedsim")
	build := exec.Command("go", "build", "-o", path, "./cmd/fedsim")
	build.Dir = strings.TrimSpace(string(module))
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building fedsim: %w\n%s", err, text)
	}
	return Program(path), nil
}

// Run runs a scenario with further arguments, leaving its results in dir, which may
// hold others, and reads them.
func (p Program) Run(dir, scenario string, args ...string) (*rundir.Results, error) {
	args = append([]string{"run", scenario, "--out", dir, "--force", "--progress", "none"}, args...)
	if text, err := exec.Command(string(p), args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("fedsim %s: %w\n%s", strings.Join(args, " "), err, text)
	}
	return rundir.Read(dir)
}
