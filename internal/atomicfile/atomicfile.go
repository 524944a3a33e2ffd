// Package atomicfile replaces files so that a reader, a crash or a full disk
// never meets half of one: a temporary file in the same directory is written,
// synced and renamed over the old one, and then the directory is synced.
//
// It must not know what the files hold.
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

// file is what Write needs of an open file. The second implementation is the
// failing disk of the tests.
type file interface {
	io.Writer
	Sync() error
	Close() error
}

// File is what [Update] changes.
type File interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
}

// create opens a file in a directory that must not exist yet. The mode is cut by the umask.
var create = func(dir *os.Root, name string) (file, error) {
	return dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// Write replaces the file at path by what fill writes. On any error, of fill
// or of the disk, the old file stays as it was and the temporary one is
// removed. Writes of fill are buffered.
func Write(path string, fill func(io.Writer) error) error {
	dir, name := filepath.Split(path)
	return WriteIn(cmp.Or(dir, "."), name, fill)
}

// WriteIn is Write for a name that somebody else may have chosen: the file is made in
// the directory dir, or not at all.
func WriteIn(dir, name string, fill func(io.Writer) error) error {
	return write(dir, name, fill, false)
}

// WriteEarly is Write for a file that is not there yet and is to be there as soon as
// possible: it is renamed before it is synced, which may take a while. When the machine
// goes down meanwhile the file may be corrupt: readers need a checksum.
func WriteEarly(path string, fill func(io.Writer) error) error {
	dir, name := filepath.Split(path)
	return write(cmp.Or(dir, "."), name, fill, true)
}

func write(dir, name string, fill func(io.Writer) error, early bool) error {
	path := filepath.Join(dir, name)
	if err := writeIn(dir, name, fill, early); err != nil {
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	return SyncDir(dir)
}

// Update lets change edit the file at path in place, and syncs it. Unlike Write it
// protects nothing: when change fails, its edits stay.
func Update(path string, change func(File) error) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err = change(f); err == nil {
		err = f.Sync()
	}
	if err = first(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	return nil
}

// writeIn replaces the file, early before it is synced; its errors speak of temporary
// files.
func writeIn(dir, name string, fill func(io.Writer) error, early bool) (err error) {
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
	defer func() { err = first(err, root.Close()) }()
	f, temp, err := createTemp(root, name)
	if err != nil {
		return err
	}
	rename := func() error {
		err := root.Rename(temp, name)
		if info, e := root.Stat(name); err != nil && e == nil && info.IsDir() {
			err = syscall.EISDIR // in place of the system's "file exists"
		}
		return err
	}
	if early {
		err = fillAndClose(f, fill, rename)
	} else if err = fillAndClose(f, fill, nil); err == nil {
		err = rename()
	}
	if err != nil {
		_ = root.Remove(temp) // err says what went wrong first
	}
	return err
}

// first returns the first of two errors.
func first(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// createTemp opens a file in a directory under a name that is free, beside the name
// of the file that it will become.
func createTemp(dir *os.Root, base string) (f file, name string, err error) {
	for i := 0; ; i++ {
		name = fmt.Sprintf(".%s.%d-%d.tmp", base, os.Getpid(), i)
		f, err = create(dir, name)
		if !errors.Is(err, fs.ErrExist) {
			return f, name, err
		}
	}
}

// fillAndClose writes, syncs and closes f, and calls early, when there is such a
// function, before it syncs; f is closed whatever happens.
func fillAndClose(f file, fill func(io.Writer) error, early func() error) error {
	b := bufio.NewWriterSize(f, 1<<16)
	err := fill(b)
	if err == nil {
		err = b.Flush()
	}
	if err == nil && early != nil {
		err = early()
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
