//go:build !linux

package command

// machineMemory returns 0: not available on this system.
func machineMemory() float64 { return 0 }
