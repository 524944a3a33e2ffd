//go:build unix && !linux

package child

import (
	"os/exec"
	"syscall"
)

// setGroup makes a program that will be started the leader of a process group.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}
