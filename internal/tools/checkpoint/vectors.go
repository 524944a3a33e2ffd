package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"fedsim/internal/tools/state"
)

// vectors are the vectors of a state outside of it, in one of two files. The file grows with each
// save until more than half of it is garbage. Then the next save writes all vectors to the other
// file. The file that a stored state refers to stays until another state is stored, so that an
// interruption at any time loses nothing.
type vectors struct {
	path   func(file int) string
	file   int   // in use: 1 or 2
	size   int64 // of it; unknownSize: that on the disk
	live   int64 // bytes that the state refers to
	old    int   // the file of the stored state, if it is another; 0: there is none
	opened *os.File
}

const unknownSize = -1

// leastGarbage is how many bytes of garbage are not worth another file.
const leastGarbage = 1 << 20

var _ state.Outside = (*vectors)(nil)

func (v *vectors) begin() {
	if v.old == 0 && v.size > 2*v.live+leastGarbage {
		v.old, v.file, v.size = v.file, 3-v.file, 0
	}
	v.live = 0
}

// Current returns the file in use.
func (v *vectors) Current() int { return v.file }

// Refer notes that the state refers to so many bytes.
func (v *vectors) Refer(bytes int) { v.live += int64(bytes) }

// Append writes bytes at the end of the file.
func (v *vectors) Append(b []byte) (at int64, err error) {
	if v.opened == nil {
		if v.opened, err = os.OpenFile(v.path(v.file), os.O_WRONLY|os.O_CREATE, 0o666); err != nil {
			return 0, err
		}
	}
	if v.size == unknownSize {
		info, err := v.opened.Stat()
		if err != nil {
			return 0, err
		}
		v.size = info.Size()
	}
	if _, err := v.opened.WriteAt(b, v.size); err != nil {
		return 0, err
	}
	v.size += int64(len(b))
	return v.size - int64(len(b)), nil
}

// Read reads bytes of a file, which is that of the stored state.
func (v *vectors) Read(file int, at int64, b []byte) error {
	if file < 1 || file > 2 || at < 0 {
		return fmt.Errorf("file %d of vectors, byte %d: there is no such place", file, at)
	}
	f, err := os.Open(v.path(file))
	if err != nil {
		return err
	}
	v.file = file
	_, err = f.ReadAt(b, at)
	return errors.Join(err, f.Close())
}

// close makes the written vectors durable.
func (v *vectors) close() error {
	f := v.opened
	if v.opened = nil; f == nil {
		return nil
	}
	return errors.Join(f.Sync(), f.Close())
}

// removeOld removes the file of the state before, if the stored one refers to the other.
func (v *vectors) removeOld() error {
	if v.old == 0 {
		return nil
	}
	err := os.Remove(v.path(v.old))
	if v.old = 0; errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
