package work

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// machine identifies what process numbers count in: containers of a host have numbers of their
// own. It is empty where /proc is not to be read.
func machine() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + space
}

// startOf returns when a process started, in clock ticks since the boot; empty: the process
// hides it. A process that waits for its parent to see its end has ended.
func startOf(pid int) (start string, lives bool) {
	if pid <= 0 || syscall.Kill(pid, 0) == syscall.ESRCH {
		return "", false
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", true
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name of the program may hold spaces
	const state, startTime = 0, 19                // proc(5) counts from 1 and the name is the second
	fields := strings.Fields(rest)
	if len(fields) <= startTime {
		return "", true
	}
	return fields[startTime], fields[state] != "Z" && fields[state] != "X"
}
