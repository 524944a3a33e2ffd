package hugepage

import "golang.org/x/sys/unix"

func prefer(pages []byte) {
	// A kernel without huge pages refuses, and nothing is lost.
	_ = unix.Madvise(pages, unix.MADV_HUGEPAGE)
}
