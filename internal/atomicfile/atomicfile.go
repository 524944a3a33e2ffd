// Package atomicfile replaces files so that a reader, a crash or a full disk
// never meets half of one: a temporary file in the same directory is written,
// synced and renamed over the old one, and then the directory is synced.
//
// It must not know what the files hold.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// file is what Write needs of an open file. The second implementation is the
// failing disk of the tests.
type file interface {
	io.Writer
	Sync() error
	Close() error
}

// create opens a file that must not exist yet. The mode is cut by the umask.
var create = func(name string) (file, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// Write replaces the file at path by what fill writes. On any error, of fill
// or of the disk, the old file stays as it was and the temporary one is
// removed. Writes of fill are buffered.
func Write(path string, fill func(io.Writer) error) error {
	f, temp, err := createTemp(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	if err := fillAndClose(f, fill); err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(cause(err), os.Remove(temp)))
	}
	if err := os.Rename(temp, path); err != nil {
		if info, e := os.Stat(path); e == nil && info.IsDir() {
			err = syscall.EISDIR // in place of the system's "file exists"
		}
		return fmt.Errorf("write %s: %w", path, errors.Join(cause(err), os.Remove(temp)))
	}
	return SyncDir(filepath.Dir(path))
}

// createTemp opens a file beside path under a name that is free.
func createTemp(path string) (f file, name string, err error) {
	dir, base := filepath.Split(path)
	for i := 0; ; i++ {
		name = fmt.Sprintf("%s.%s.%d-%d.tmp", dir, base, os.Getpid(), i)
		f, err = create(name)
		if !errors.Is(err, fs.ErrExist) {
			return f, name, err
		}
	}
}

// fillAndClose writes, syncs and closes f; f is closed whatever happens.
func fillAndClose(f file, fill func(io.Writer) error) error {
	b := bufio.NewWriterSize(f, 1<<16)
	err := fill(b)
	if err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// cause strips the name of the temporary file from a file error: it means
// nothing to a user, who knows the final name alone.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}

// SyncDir makes renames and removals in a directory durable. File systems that
// cannot sync a directory are taken to do so by themselves.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
