package child

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"fedsim/internal/tools/expect"
)

// Whatever kills fedsim, its program dies too, although it does not read its input.
func TestNoOrphans(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=starter")
	in := expect.Value(cmd.StdinPipe())(t)
	defer func() { _ = in.Close() }()
	out := expect.Value(cmd.StdoutPipe())(t)
	expect.NoError(t, cmd.Start())
	var id int
	expect.Value(fmt.Fscan(bufio.NewReader(out), &id))(t)
	if err := syscall.Kill(id, 0); err != nil {
		t.Fatalf("the program does not run: %v", err)
	}
	expect.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	until(t, "the program ends", func() bool { return ended(id) })
}

// A program that exits takes the processes that it has started with it.
func TestGroupEnds(t *testing.T) {
	p := launch(t, "parent")
	var id int
	expect.Value(fmt.Sscan(ask(t, p, "x"), &id))(t)
	e := failing[*ExitError](t, p, 0)
	expect.That(t, e.Code == 0, "%v", e)
	<-p.ended
	until(t, "the process of the program ends", func() bool { return ended(id) })
}

// ended reports whether a process has ended. Its status may never be asked for: in a
// container there may be no one to ask.
func ended(id int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return true
	}
	var pid int
	var name, state string
	_, err = fmt.Sscan(string(text), &pid, &name, &state)
	return err == nil && state == "Z"
}
