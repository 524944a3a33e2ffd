//go:build !unix

package command

// peakMemory returns 0: the system does not tell.
func peakMemory() int64 { return 0 }
