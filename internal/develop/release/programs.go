package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// programs builds the program for each platform, and what is made of it.
func (r *release) programs() error {
	r.host = filepath.Join(r.work, "fedsim")
	if err := r.build(r.host, runtime.GOOS, runtime.GOARCH); err != nil {
		return err
	}
	docs := filepath.Join(r.work, "docs")
	if err := r.documents(docs); err != nil {
		return err
	}
	for _, platform := range r.platforms {
		goos, goarch, _ := strings.Cut(platform, "/")
		name := fmt.Sprintf("fedsim-%s-%s-%s", r.version, goos, goarch)
		program := filepath.Join(r.work, name+".program")
		fmt.Fprintln(r.log, "building", name)
		if err := r.build(program, goos, goarch); err != nil {
			return err
		}
		steps := []func() error{
			func() error { return r.archive(name, goos, program, docs) },
			func() error { return r.materials(name, program) },
		}
		if goos == "linux" {
			steps = append(steps, func() error { return r.deb(goarch, program, docs) })
		}
		for _, step := range steps {
			if err := step(); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// build links a static program with the flags of the wheels (python/hatch_build.py).
func (r *release) build(program, goos, goarch string) error {
	module, err := output(r.source, "go", "list", "-m")
	if err != nil {
		return err
	}
	flags := fmt.Sprintf("-ldflags=-s -w -X '%s/cmd/fedsim/command.stamp=%s'", module, r.stamp())
	return r.run(r.source, []string{"GOOS=" + goos, "GOARCH=" + goarch}, "go", "build", flags, "-o", program,
		"./cmd/fedsim")
}

// documents writes what comes with every program: the manual pages, scripts of completion, the
// shipped scenarios, and texts.
func (r *release) documents(docs string) error {
	if err := errors.Join(os.MkdirAll(filepath.Join(docs, "completions"), 0o777),
		r.run(r.work, nil, r.host, "man", filepath.Join(docs, "man", "man1"))); err != nil {
		return err
	}
	for shell, file := range map[string]string{"bash": "fedsim.bash", "zsh": "_fedsim", "fish": "fedsim.fish",
		"powershell": "fedsim.ps1"} {
		script, err := output(r.work, r.host, "completion", shell)
		if err == nil {
			err = os.WriteFile(filepath.Join(docs, "completions", file), []byte(script+"\n"), 0o666)
		}
		if err != nil {
			return err
		}
	}
	scenarios, err := filepath.Glob(filepath.Join(r.source, "scenarios", "*.toml"))
	if err != nil {
		return err
	}
	from := map[string]string{"LICENSE": "LICENSE", "README.md": "README.md", "CHANGELOG.md": "CHANGELOG.md",
		"CITATION.cff": "CITATION.cff",
		"internal/tools/licenses/THIRD-PARTY.txt": "THIRD-PARTY.txt"}
	for _, s := range scenarios {
		from["scenarios/"+filepath.Base(s)] = "scenarios/" + filepath.Base(s)
	}
	for source, target := range from {
		text, err := os.ReadFile(filepath.Join(r.source, source))
		if err != nil {
			return err
		}
		path := filepath.Join(docs, target)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, text, 0o666)); err != nil {
			return err
		}
	}
	return nil
}

// errTools is the error without a network.
var errTools = errors.New("the tools that build wheels cannot be installed from PyPI")

// wheels builds the wheels of the platforms and the sdist of pyfedsim.
func (r *release) wheels() error {
	fmt.Fprintln(r.log, "building the wheels and the sdist of pyfedsim")
	venv := filepath.Join(r.work, "venv")
	if err := r.run(r.work, nil, "python3", "-m", "venv", venv); err != nil {
		return err
	}
	python := filepath.Join(venv, "bin", "python")
	// Pinned: the version of hatchling is part of wheels.
	if err := r.run(r.work, nil, python, "-m", "pip", "install", "-q", "build==1.3.0",
		"hatchling==1.28.0"); err != nil {
		return fmt.Errorf("%w: %w", errTools, err)
	}
	for _, platform := range r.platforms {
		goos, goarch, _ := strings.Cut(platform, "/")
		variables := []string{"FEDSIM_GOOS=" + goos, "FEDSIM_GOARCH=" + goarch}
		if err := r.run(r.source, variables, python, "-m", "build", "--no-isolation", "--wheel", "--outdir", r.out,
			"python"); err != nil {
			return err
		}
	}
	return r.run(r.source, nil, python, "-m", "build", "--no-isolation", "--sdist", "--outdir", r.out, "python")
}
