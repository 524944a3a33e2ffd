//go:build unix

package child

import (
	"syscall"
	"time"
)

// readNow reads what there is, and looks again until there is something or its patience has ended. It is
// for syscall.RawConn.Read.
func (o *output) readNow(fd uintptr) bool {
	for began := time.Now(); ; {
		n, err := syscall.Read(int(fd), o.into)
		if o.n = max(0, n); err != syscall.EAGAIN && err != syscall.EINTR || time.Since(began) >= o.patience {
			return true
		}
	}
}
