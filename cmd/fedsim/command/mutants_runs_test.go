//go:build unix

package command

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// several is a scenario whose run directory has every kind of file.
const several = `
[data.synthetic]
clients = 3
features = 4
rows_min = 8
rows_max = 12
[run]
devices = true
theta_every = 2
rounds = 6
[methods.mocha]
[methods.cocoa]
[[experiment]]
name = "a"
sweep = { "network.profile" = ["wifi", "3g"] }
[experiment.figure]
x = "round"
y = "primal"
[experiment.table]
title = "errors"
`

// runDirectories returns a finished run directory, an unfinished one of a killed run that
// can be resumed, and the complete directory of the same run.
func runDirectories(t *testing.T) (finished, unfinished, whole string) {
	t.Helper()
	root := t.TempDir()
	finished = filepath.Join(root, "finished")
	scenario := filepath.Join(root, "x.toml")
	filetest.Write(t, scenario, several)
	var out, errs bytes.Buffer
	if status := execute(t.Context(), []string{"run", scenario, "--out", finished, "--progress=none"}, &out,
		&errs); status != 0 {
		t.Fatal(errs.String())
	}
	h := halt(t, "fedsim")
	expect.NoError(t, h.cmd.Process.Kill())
	_ = h.cmd.Wait() // it was killed
	return finished, filepath.Join(h.root, "run"), filepath.Join(h.root, "whole")
}

// corrupt changes, removes, replaces or swaps files of a directory, or replaces a file by
// a folder. It returns the path of a file.
func (m *mutated) corrupt(dir string) string {
	m.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	expect.NoError(m, err)
	path := files[m.random.IntN(len(files))]
	other := files[m.random.IntN(len(files))]
	switch m.random.IntN(12) {
	case 0:
		err = os.Remove(path)
	case 1:
		if err = os.Remove(path); err == nil {
			err = os.Mkdir(path, 0o777)
		}
	case 2:
		err = os.Rename(other, path)
	case 3:
		err = os.Rename(other, other+"-away")
		if err == nil && path != other {
			err = os.Rename(path, other)
		}
		if err == nil && path != other {
			err = os.Rename(other+"-away", path)
		}
	default:
		var content []byte
		if content, err = os.ReadFile(path); err == nil {
			err = os.WriteFile(path, mutate(m.random, content), 0o666)
		}
	}
	expect.NoError(m, err)
	return strings.TrimPrefix(path, dir)
}

// Commands that read a corrupt run directory succeed or print an error, and change
// nothing. Only run --resume draws a figure that is missing.
func TestMutantResults(t *testing.T) {
	finished, _, whole := runDirectories(t)
	scenario := filepath.Join(filepath.Dir(whole), "x.toml")
	forMutants(t, 3, *mutants/10, func(m *mutated) {
		dir := filepath.Join(m.dir, "run")
		expect.NoError(m, os.CopyFS(dir, os.DirFS(finished)))
		m.corrupt(dir)
		before := listing(m.T, dir)
		changed := func(args []string) {
			after := listing(m.T, dir)
			maps.DeleteFunc(after, func(name, _ string) bool {
				_, had := before[name]
				return !had && args[0] == "run" && strings.HasPrefix(name, "/figures/")
			})
			if d := cmp.Diff(before, after); d != "" {
				m.report("%v changed the directory: %s", args, d)
			}
		}
		for _, args := range [][]string{
			{"show", dir},
			{"export", dir, "times"},
			{"export", dir, "runs"},
			{"export", dir, "devices"},
			{"explain", dir, "--without", "1", "--deadline", "0.5"},
			{"compare", finished, dir},
			{"run", "--resume", dir},
		} {
			if status, stderr := m.fedsim(args...); status != exitDone && !strings.Contains(stderr, dir) {
				m.report("%v: %s", args, stderr)
			}
			changed(args)
		}
		if m.number%4 == 0 { // drawing takes longer than the rest
			m.fedsim("plot", dir, "--out", filepath.Join(m.dir, "drawn"))
			m.fedsim("report", dir, "-o", filepath.Join(m.dir, "report.html"))
		}
		args := []string{"run", scenario, "--out", dir, "--workers=1", "--progress=none"}
		status, stderr := m.fedsim(args...)
		if status == exitDone || status == exitInterrupted {
			m.requireWhole(dir, status, stderr)
			return
		}
		if !strings.Contains(stderr, dir) {
			m.report("%v: %s", args, stderr)
		}
		changed(args)
	})
}

// listing returns the files of a directory.
func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	expect.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(content)
		return err
	}))
	return files
}

// A corrupt checkpoint is rejected and not changed, or it is resumed with the results of
// an uninterrupted run.
func TestMutantCheckpoints(t *testing.T) {
	_, unfinished, whole := runDirectories(t)
	scenario := filepath.Join(filepath.Dir(whole), "x.toml")
	want := lasting(t, whole)
	forMutants(t, 4, *mutants/10, func(m *mutated) {
		dir := filepath.Join(m.dir, "run")
		expect.NoError(m, os.CopyFS(dir, os.DirFS(unfinished)))
		corrupted := m.corrupt(dir)
		before := m.checkpoints(dir)
		if status, stderr := m.fedsim("show", dir); status != exitDone && !strings.Contains(stderr, dir) {
			m.report("%s: show: %s", corrupted, stderr)
		}
		args := []string{"run", "--resume", dir}
		if m.number%4 == 0 {
			args = []string{"run", scenario, "--out", dir}
		}
		status, stderr := m.fedsim(append(args, "--workers=1", "--progress=none")...)
		switch {
		case status == exitDone:
			if d := cmp.Diff(want, lasting(m.T, dir)); d != "" {
				m.report("%s: %v has other results: %s", corrupted, args, d)
			}
		case status == exitInterrupted:
			m.requireWhole(dir, status, stderr)
		default:
			if !strings.Contains(stderr, dir) {
				m.report("%s: %v: %s", corrupted, args, stderr)
			}
			after := m.checkpoints(dir)
			for name, old := range before { // there may be more, from a run that completed before the error
				if new, ok := after[name]; !ok || new != old && filepath.Base(name) != "run.log" {
					m.report("%s: %v changed %s", corrupted, args, name)
				}
			}
		}
	})
}

// checkpoints returns the files that --resume needs.
func (m *mutated) checkpoints(dir string) map[string]string {
	m.Helper()
	files := listing(m.T, dir)
	for name := range files {
		if stage := "/.unfinished/"; strings.HasPrefix(name, stage) && !strings.HasPrefix(name, stage+"checkpoint/") &&
			name != stage+"run.log" {
			delete(files, name)
		}
	}
	return files
}
