//go:build linux || darwin

package external

import (
	"os"
	"syscall"
)

// mapFile maps the first bytes of a file for reading and writing; nil: it cannot be mapped.
func mapFile(f *os.File, size int) []byte {
	b, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil
	}
	return b
}

// unmapFile ends a mapping.
func unmapFile(b []byte) {
	if b != nil {
		_ = syscall.Munmap(b) // the end of the process ends it as well
	}
}
