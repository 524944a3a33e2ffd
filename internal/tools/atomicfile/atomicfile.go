// Package atomicfile replaces files so that no reader, crash or full disk ever leaves
// half a file. It writes and syncs a temporary file in the same directory, renames it
// over the old file, and syncs the directory.
//
// It must not know the content of the files.
package atomicfile

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// file is the part of *os.File that Write uses. The tests have a file on a failing disk.
type file interface {
	io.Writer
	Sync() error
	Close() error
}

// create opens a file in a directory that must not exist yet. The mode is cut by the umask.
var create = func(dir *os.Root, name string) (file, error) {
	return dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// Write replaces the file at path by the output of fill, which is buffered. On any error,
// of fill or of the disk, the old file stays and the temporary file is removed.
func Write(path string, fill func(io.Writer) error) error {
	dir, name := filepath.Split(path)
	return WriteIn(cmp.Or(dir, "."), name, fill)
}

// WriteSoon is Write that does not wait for the disk: after a power failure the file may be
// the old one, or empty. It is for files that are written often and cost little to lose.
func WriteSoon(path string, fill func(io.Writer) error) error {
	dir, name := filepath.Split(path)
	if err := writeIn(cmp.Or(dir, "."), name, false, fill); err != nil {
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	return nil
}

// WriteIn is Write for a name of any origin: it never writes outside the directory dir.
func WriteIn(dir, name string, fill func(io.Writer) error) error {
	path := filepath.Join(dir, name)
	if err := writeIn(dir, name, true, fill); err != nil {
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	return SyncDir(dir)
}

// writeIn replaces the file. Its errors name temporary files.
func writeIn(dir, name string, sync bool, fill func(io.Writer) error) (err error) {
	if filepath.Base(name) != name || !filepath.IsLocal(name) || name == "." {
		if info, e := os.Stat(filepath.Join(dir, name)); e == nil && info.IsDir() {
			return syscall.EISDIR
		}
		return fmt.Errorf("%q must be the name of a file without a folder", name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, root.Close()) }()
	f, temp, err := createTemp(root, name)
	if err != nil {
		return err
	}
	if err = fillAndClose(f, sync, fill); err == nil {
		err = root.Rename(temp, name)
		if info, e := root.Stat(name); err != nil && e == nil && info.IsDir() {
			err = syscall.EISDIR // in place of the system's "file exists"
		}
	}
	if err != nil {
		_ = root.Remove(temp) // err is the first error
	}
	return err
}

// createTemp creates a file with an unused name next to the file that it will replace.
func createTemp(dir *os.Root, base string) (f file, name string, err error) {
	for i := 0; ; i++ {
		name = fmt.Sprintf(".%s.%d-%d.tmp", base, os.Getpid(), i)
		f, err = create(dir, name)
		if !errors.Is(err, fs.ErrExist) {
			return f, name, err
		}
	}
}

// fillAndClose writes f, syncs it if asked to, and closes it in any case.
func fillAndClose(f file, sync bool, fill func(io.Writer) error) error {
	b := bufio.NewWriterSize(f, 1<<16)
	err := fill(b)
	if err == nil {
		err = b.Flush()
	}
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// cause strips the name of the temporary file from an error: a user knows the final name
// only.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}

// SyncDir makes renames and removals in a directory durable. It does nothing on file
// systems that cannot sync a directory.
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
