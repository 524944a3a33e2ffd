package main

import (
	"fmt"
	"os/exec"
)

// simpyModules are the names of the modules of SimPy: releases 3 and 4, and release 2.
// Debian has packages of both.
var simpyModules = []string{"simpy", "SimPy"}

type simpy struct{ *child }

func newSimpy(h *hold, module string) (simpy, error) {
	python, err := pythonWith(module)
	if err != nil {
		return simpy{}, err
	}
	text, err := sources.ReadFile("programs/hold.py")
	if err != nil {
		return simpy{}, err
	}
	head := fmt.Sprintf("%d %d", h.pending, len(h.spans))
	c, err := startChild(exec.Command(python, "-c", string(text), module), head, h.spans)
	return simpy{c}, err
}

// pythonWith returns a Python with a module: that of the system, for which Debian has
// packages, or that of the path.
func pythonWith(module string) (string, error) {
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(python, "-c", "import "+module).Run() == nil {
			return python, nil
		}
	}
	if module == "simpy" {
		return "", notInstalled{"SimPy 3", "apt-get install python3-simpy3"}
	}
	return "", notInstalled{"SimPy 2", "apt-get install python3-simpy"}
}

func (s simpy) name() string { return s.child.name }

func (s simpy) fire(events int) (float64, error) { return s.askNumber("fire %d", events) }

func (s simpy) times(events int) ([]int64, error) {
	return askAll(s.child, fmt.Sprint("times ", events), parseInt)
}
