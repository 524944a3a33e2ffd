package hugepage

import "golang.org/x/sys/unix"

func prefer(pages []byte) {
	// A kernel without huge pages returns an error, which is harmless.
	_ = unix.Madvise(pages, unix.MADV_HUGEPAGE)
}
