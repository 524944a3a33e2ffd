//go:build !unix

package child

import (
	"os"
	"os/exec"
)

func setGroup(*exec.Cmd) {}

func terminateGroup(cmd *exec.Cmd) { killGroup(cmd) }

func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have ended
}

func signalOf(*os.ProcessState) string { return "" }
