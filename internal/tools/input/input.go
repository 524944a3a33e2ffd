// Package input opens files of any origin: named by a user, or found in a directory that
// another program made. It refuses files that are not regular, since a named pipe may
// block and a device may never end, and files that are larger than the reader allows.
// [CSV] reads rows of a bounded size.
//
// It must not know the meaning of the content.
package input

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Open opens a regular file of at most the given size in bytes. Errors are a
// *fs.PathError.
func Open(path string, most int64) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil {
		err = require(path, info, most) // before it is opened: a pipe waits for a writer
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// ReadFile returns the content of a regular file of at most the given size in bytes.
// Errors are a *fs.PathError.
func ReadFile(path string, most int64) ([]byte, error) { return readAll(Open, path, most) }

// require checks the kind and the size of a file before it is opened.
func require(path string, info fs.FileInfo, most int64) error {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return refuse(path, "is a link, and fedsim makes none: remove it")
	case info.IsDir():
		return refuse(path, "is a directory")
	case !info.Mode().IsRegular():
		return refuse(path, "is %s, must be a regular file", kind(info.Mode()))
	case info.Size() > most:
		return refuse(path, "has %s, must have at most %s", sizeText(info.Size()), sizeText(most))
	}
	return nil
}

func refuse(path, format string, arguments ...any) error {
	return &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf(format, arguments...)}
}

// kind names the kind of a file that is not regular.
func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	default:
		return "a device"
	}
}

func sizeText(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}} {
		if n >= unit.size {
			return fmt.Sprintf("%.4g %s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// MaxDeflate is the largest compression ratio of deflate.
const MaxDeflate = 1032

// CloseAfter closes an input. Its error only counts if there is no other: a corrupt
// archive repeats its error when it is closed.
func CloseAfter(c io.Closer, err *error) {
	if closed := c.Close(); *err == nil {
		*err = closed
	}
}
