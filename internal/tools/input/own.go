package input

import (
	"cmp"
	"io"
	"os"
)

// OpenOwn opens a file of a directory that fedsim makes, in which other people may write, too.
// It is Open that follows no link and never waits: the file must be a regular one.
func OpenOwn(path string, most int64) (*os.File, error) {
	const tries = 100 // one fails only when the file has just been replaced
	for range tries {
		info, err := os.Lstat(path)
		if err == nil {
			err = require(path, info, most)
		}
		if err != nil {
			return nil, err
		}
		file, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
		if err != nil {
			return nil, err
		}
		opened, err := file.Stat()
		if err == nil && os.SameFile(info, opened) {
			return file, nil
		}
		_ = file.Close() // it was only opened
		if err != nil {
			return nil, err
		}
	}
	return nil, refuse(path, "is replaced again and again")
}

// ReadOwn reads a file of a directory that fedsim makes, see OpenOwn.
func ReadOwn(path string, most int64) ([]byte, error) { return readAll(OpenOwn, path, most) }

// RequireFolder reports a path that is neither a folder nor absent: writes would follow a link.
func RequireFolder(path string) error {
	info, err := os.Lstat(path)
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return err
	case info.Mode()&os.ModeSymlink != 0:
		return refuse(path, "is a link, and fedsim makes none: remove it")
	case !info.IsDir():
		return refuse(path, "must be a directory")
	}
	return nil
}

// readAll reads the whole of a file of at most so many bytes.
func readAll(open func(string, int64) (*os.File, error), path string, most int64) ([]byte, error) {
	file, err := open(path, most)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err = cmp.Or(err, file.Close()); err == nil && int64(len(content)) > most { // it grows, or its size is not known
		err = refuse(file.Name(), "has more than %s", sizeText(most))
	}
	if err != nil {
		return nil, err
	}
	return content, nil
}
