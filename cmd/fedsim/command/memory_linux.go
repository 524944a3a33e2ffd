package command

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machineMemory returns the memory of the machine in bytes, including swap, or the limit
// of the control group of a container if that is lower; 0 if unknown.
func machineMemory() float64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	all := (float64(info.Totalram) + float64(info.Totalswap)) * float64(info.Unit)
	text, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return all
	}
	if most, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err == nil { // else "max"
		all = min(all, most)
	}
	return all
}
