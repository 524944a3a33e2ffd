package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func init() { programs["on-terminal"] = onTerminal }

// onTerminal runs a command on a terminal, types an answer when it asks, and exits with
// its status: on-terminal ANSWER COMMAND... The answer is a Go string without quotation
// marks. The output of the terminal goes to standard error.
func onTerminal() {
	answer, err := strconv.Unquote(`"` + os.Args[1] + `"`)
	if err != nil {
		fail(err)
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		fail(err)
	}
	number, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	if err != nil {
		fail(err)
	}
	if err := unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		fail(err)
	}
	other, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		fail(err)
	}
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = other, os.Stdout, other
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		fail(err)
	}
	if err := other.Close(); err != nil {
		fail(err)
	}
	asked := &waitFor{text: []byte("[y/N] "), then: func() error {
		_, err := io.WriteString(terminal, answer)
		return err
	}}
	// the end
	if _, err := io.Copy(io.MultiWriter(os.Stderr, asked), terminal); err != nil && !errors.Is(err, syscall.EIO) {
		fail(err)
	}
	exitAs(cmd.Wait())
}

// waitFor calls then once, when it has been written a text.
type waitFor struct {
	text []byte
	then func() error
	seen []byte
}

func (w *waitFor) Write(b []byte) (int, error) {
	w.seen = append(w.seen, b...)
	if w.then == nil || !bytes.Contains(w.seen, w.text) {
		return len(b), nil
	}
	then := w.then
	w.then = nil
	return len(b), then()
}
