package command

import (
	"archive/zip"
	"bytes"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// smallDisk is fedsim with no file larger than the first argument says, in
// bytes: the kernel cuts a write short as it does when the disk is full.
func smallDisk() {
	limit, err := strconv.ParseUint(os.Args[1], 10, 64)
	if err != nil {
		fail(err)
	}
	signal.Ignore(syscall.SIGXFSZ) // else the signal kills before the write fails
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		fail(err)
	}
	os.Exit(Main(os.Args[2:], os.Stdout, os.Stderr))
}

// truncatedZip writes the first half of an archive.
func truncatedZip() {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, err := z.Create("UCI HAR Dataset/features.txt")
	if err != nil {
		fail(err)
	}
	if _, err := f.Write([]byte(strings.Repeat("1 tBodyAcc-mean()-X\n", 100))); err != nil {
		fail(err)
	}
	if err := z.Close(); err != nil {
		fail(err)
	}
	if err := os.WriteFile(os.Args[1], b.Bytes()[:b.Len()/2], 0o666); err != nil {
		fail(err)
	}
}

// unprivileged is fedsim run by someone who is refused what permissions forbid, as
// root is not.
func unprivileged() {
	const nobody = 65534
	if os.Getuid() == 0 {
		if err := syscall.Setuid(nobody); err != nil {
			fail(err)
		}
	}
	os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
}
