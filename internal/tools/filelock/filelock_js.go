// Package filelock locks files within the program: a web page has no other processes.
//
// It must not know why.
package filelock

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// held counts the locks on each file: -1 is that of a writer.
var held = struct {
	sync.Mutex
	of map[string]int
}{of: map[string]int{}}

// Lock is a lock on a file.
type Lock struct {
	path    string
	flag    int
	mode    fs.FileMode
	file    *os.File // nil: not locked
	readers bool
}

// Option changes a lock.
type Option func(*Lock)

// SetFlag sets how the file is opened.
func SetFlag(flag int) Option { return func(l *Lock) { l.flag = flag } }

// SetPermissions sets the permissions of a file that is created.
func SetPermissions(mode fs.FileMode) Option { return func(l *Lock) { l.mode = mode } }

// New returns a lock on the file at a path, which is not locked yet.
func New(path string, options ...Option) *Lock {
	l := &Lock{path: filepath.Clean(path), flag: os.O_CREATE | os.O_RDONLY, mode: 0o600}
	for _, o := range options {
		o(l)
	}
	return l
}

// Lock locks the file. It fails if the file is locked: nothing else could unlock it meanwhile.
func (l *Lock) Lock() error {
	if ok, err := l.TryLock(); !ok || err != nil {
		return cmp.Or(err, fmt.Errorf("%s: is locked", l.path))
	}
	return nil
}

// TryLock locks the file, unless it is locked.
func (l *Lock) TryLock() (bool, error) { return l.try(false) }

// TryRLock locks the file, unless TryLock has.
func (l *Lock) TryRLock() (bool, error) { return l.try(true) }

func (l *Lock) try(readers bool) (bool, error) {
	held.Lock()
	defer held.Unlock()
	if n := held.of[l.path]; l.file != nil || n < 0 || n > 0 && !readers {
		return l.file != nil, nil
	}
	file, err := os.OpenFile(l.path, l.flag, l.mode)
	if err != nil {
		return false, err
	}
	l.file, l.readers = file, readers
	if readers {
		held.of[l.path]++
	} else {
		held.of[l.path] = -1
	}
	return true, nil
}

// Unlock unlocks the file. It does nothing if the file is not locked.
func (l *Lock) Unlock() error {
	held.Lock()
	defer held.Unlock()
	if l.file == nil {
		return nil
	}
	if l.readers {
		held.of[l.path]--
	} else {
		held.of[l.path] = 0
	}
	if held.of[l.path] == 0 {
		delete(held.of, l.path)
	}
	err := l.file.Close()
	l.file = nil
	return err
}

// Path returns the path of the file.
func (l *Lock) Path() string { return l.path }

// Stat describes the file, which is locked.
func (l *Lock) Stat() (fs.FileInfo, error) {
	if l.file == nil {
		return nil, fs.ErrClosed
	}
	return l.file.Stat()
}
