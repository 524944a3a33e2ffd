package child

import (
	"os/exec"
	"syscall"
)

// setGroup makes a program that will be started the leader of a process group, and the
// kernel kill it when the thread that starts it ends.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
