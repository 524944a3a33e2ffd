//go:build unix

package child

import (
	"os"
	"os/exec"
	"syscall"
)

// terminateGroup asks the process group of a program to end.
func terminateGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGTERM) }

// killGroup kills the process group of a program.
func killGroup(cmd *exec.Cmd) { signalGroup(cmd, syscall.SIGKILL) }

func signalGroup(cmd *exec.Cmd, s syscall.Signal) {
	// The group may have ended.
	_ = syscall.Kill(-cmd.Process.Pid, s)
}

// signalOf names the signal that killed a program, or returns "".
func signalOf(s *os.ProcessState) string {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return w.Signal().String()
	}
	return ""
}
