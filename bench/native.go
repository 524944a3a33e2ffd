package main

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed programs
var sources embed.FS

// The peers in C.
const (
	loop      = "C"
	liblinear = "LIBLINEAR"
)

// program is a compiled peer in C.
type program struct{ peer, path string }

// programs are the compiled peers in C, in a temporary directory.
type programs struct {
	folder string
	all    []program
}

func (p programs) remove() { _ = os.RemoveAll(p.folder) }

// compileAll compiles the peers in C and returns the missing ones.
func compileAll() (tools programs, missing []*notInstalled, err error) {
	if tools.folder, err = os.MkdirTemp("", "fedsim-bench-"); err != nil {
		return tools, nil, err
	}
	for _, peer := range []string{liblinear, loop} {
		p, err := compile(tools.folder, peer)
		m, err := leftOut(err)
		switch {
		case err != nil:
			tools.remove()
			return tools, nil, err
		case m != nil:
			missing = append(missing, m)
		default:
			tools.all = append(tools.all, p)
		}
	}
	return tools, missing, nil
}

func compile(folder, peer string) (program, error) {
	p := program{peer, filepath.Join(folder, strings.ToLower(peer))}
	source, library := "loop.c", "-lm"
	if peer == liblinear {
		source, library = "liblinear.c", "-llinear"
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		return p, notInstalled{peer, "apt-get install gcc"}
	}
	if peer == liblinear &&
		!compiles(folder, "#include <linear.h>\nint main(void) { return liblinear_version == 0; }\n", library) {
		return p, notInstalled{peer, "apt-get install liblinear-dev"}
	}
	for _, name := range []string{source, "task.h"} {
		text, err := sources.ReadFile("programs/" + name)
		if err != nil {
			return p, err
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return p, err
		}
	}
	said, err := gcc(filepath.Join(folder, source), p.path, library).CombinedOutput()
	if err != nil {
		return p, fmt.Errorf("gcc %s: %w\n%s", source, err, said)
	}
	return p, nil
}

func gcc(source, to, library string) *exec.Cmd {
	return exec.Command("gcc", "-std=gnu11", "-O3", "-march=native", "-Wall", "-Werror", "-o", to, source, library)
}

func compiles(folder, text, library string) bool {
	source := filepath.Join(folder, "probe.c")
	if os.WriteFile(source, []byte(text), 0o600) != nil {
		return false
	}
	return gcc(source, filepath.Join(folder, "probe"), library).Run() == nil
}

type native struct{ *child }

// start starts a peer with a task.
func (p program) start(t *task) (native, error) {
	head := fmt.Sprintf("%d %d %d %g %d %d", t.loss.solver, t.rows, t.cols, t.loss.c, t.warm, t.timed)
	arrays := []any{t.y}
	for i := range t.rows {
		arrays = append(arrays, t.x.Row(i))
	}
	if p.peer == loop {
		arrays = append(arrays, t.order())
	}
	c, err := startChild(exec.Command(p.path), head, arrays...)
	return native{c}, err
}

func (n native) name() string { return n.child.name }

func (n native) time(repeats int) (float64, error) { return n.askNumber("time %d", repeats) }

// weights returns w: for the loop after all passes, for LIBLINEAR at the optimum.
func (n native) weights() ([]float64, error) { return askAll(n.child, "weights", parseFloat) }
