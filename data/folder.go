package data

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"fedsim/internal/tools/input"
)

// dataFolder is a folder with the files of a data set, on disk or in an archive.
type dataFolder struct {
	files fs.FS
	name  string // of the folder, for messages
}

// openFolder opens the folder, or the zip of one, at a path. what names the data, and incomplete
// is the problem of a file that is not a complete zip.
func openFolder(path, what, incomplete string) (folder *dataFolder, closer io.Closer, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s data: %w", what, err)
	}
	if info.IsDir() {
		return &dataFolder{os.DirFS(path), path}, io.NopCloser(nil), nil
	}
	file, err := input.Open(path, maxFile)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s data: %w", what, err)
	}
	archive, err := zip.NewReader(file, info.Size())
	if err != nil {
		_ = file.Close() // it was only read
		return nil, nil, &ParseError{File: path, Problem: incomplete, Err: err}
	}
	return &dataFolder{archive, path}, file, nil
}

// path returns a file's name for messages.
func (f *dataFolder) path(file string) string { return filepath.ToSlash(f.name) + "/" + file }

// open opens a file of the data set for reading.
func (f *dataFolder) open(file string) (fs.File, error) {
	opened, err := f.files.Open(file)
	return opened, f.failed(file, err)
}

// failed returns the error of opening a file; nil where there was none.
func (f *dataFolder) failed(file string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &ParseError{File: f.path(file), Problem: "the file is missing", Err: fs.ErrNotExist}
	default:
		return &ParseError{File: f.path(file), Problem: "cannot be opened", Err: err}
	}
}

// maxDeflate is the largest compression ratio of deflate.
const maxDeflate = 1032

// sizeBound returns an upper bound of the file's bytes, whatever an archive's directory
// claims.
func (f *dataFolder) sizeBound(file string) (int64, error) {
	info, err := fs.Stat(f.files, file)
	if err != nil {
		return 0, f.failed(file, err)
	}
	if !info.Mode().IsRegular() {
		return 0, inFile(f.path(file), "must be a regular file")
	}
	bound := info.Size()
	if header, ok := info.Sys().(*zip.FileHeader); ok {
		packed := min(header.CompressedSize64, 1<<40) // the claim may be absurd; the product must not overflow
		bound = min(bound, int64(packed)*maxDeflate)
	}
	return bound, nil
}
