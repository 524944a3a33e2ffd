package work

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"fedsim/internal/atomicfile"
	"fedsim/internal/input"
)

// maxNote limits the bytes of a note: a claim, a failure or an effort. All are small JSON files.
const maxNote = 1 << 16

// readNote decodes a note and returns when it was written, by the clock of the file server: the
// zero time when there is none. A note that is being created may have no content yet; into
// then stays as it is.
func readNote(path string, into any) (written time.Time, err error) {
	f, err := input.OpenOwn(path, maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		return written, nil
	}
	if err != nil {
		return written, err
	}
	info, err := f.Stat() // of the open file: a network file system has asked its server
	if err == nil {
		written = info.ModTime()
		_ = json.NewDecoder(f).Decode(into)
	}
	return written, errors.Join(err, f.Close())
}

// writeNote replaces a note. A lost one costs little: some work is done twice, or a time is not
// known.
func writeNote(path string, note any) error {
	return atomicfile.WriteSoon(path, func(out io.Writer) error { return encodeNote(out, note) })
}

func encodeNote(out io.Writer, note any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "\t")
	return e.Encode(note)
}

// remove removes a file that may not be there.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// serverTime returns the time of the file server: that of a file which it writes into a folder
// under a name.
func serverTime(dir, name string) (time.Time, error) {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("now\n"), 0o666); err != nil {
		return time.Time{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}
