//go:build unix

package command

import (
	"runtime"
	"syscall"
)

// peakMemory returns the most memory in bytes that the process has held at a
// time, 0 when the system does not tell.
func peakMemory() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(usage.Maxrss) // bytes there, kilobytes elsewhere
	}
	return int64(usage.Maxrss) << 10
}
