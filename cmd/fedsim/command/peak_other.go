//go:build !unix

package command

// peakMemory returns 0: not available on this system.
func peakMemory() int64 { return 0 }
