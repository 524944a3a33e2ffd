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

// smallDisk runs fedsim with a limit in bytes on the size of a file, the first argument.
// The kernel cuts a write short as on a full disk.
func smallDisk() {
	limit, err := strconv.ParseUint(os.Args[1], 10, 64)
	if err != nil {
		fail(err)
	}
	signal.Ignore(syscall.SIGXFSZ) // otherwise the signal kills the process before the write fails
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		fail(err)
	}
	os.Exit(Main(os.Args[2:], os.Stdout, os.Stderr))
}

// truncatedZip writes the first half of an archive.
func truncatedZip() {
	content := packedHAR()
	writeArgument(content[:len(content)/2])
}

// damagedZip writes a zip whose first file is corrupt.
func damagedZip() {
	content := packedHAR()
	content[bytes.Index(content, []byte("features.txt"))+len("features.txt")] = 0xff // an invalid block type
	writeArgument(content)
}

func packedHAR() []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range []string{"features.txt", "train/X_train.txt"} {
		f, err := z.Create("UCI HAR Dataset/" + name)
		if err != nil {
			fail(err)
		}
		if _, err := f.Write([]byte(strings.Repeat("1 tBodyAcc-mean()-X\n", 100))); err != nil {
			fail(err)
		}
	}
	if err := z.Close(); err != nil {
		fail(err)
	}
	return b.Bytes()
}

func writeArgument(content []byte) {
	if err := os.WriteFile(os.Args[1], content, 0o666); err != nil {
		fail(err)
	}
}

// unprivileged runs fedsim as a user whom permissions restrict, unlike root.
func unprivileged() {
	const nobody = 65534
	if os.Getuid() == 0 {
		if err := syscall.Setuid(nobody); err != nil {
			fail(err)
		}
	}
	os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr))
}
