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

// Folder is a folder with the files of a data set, on disk or in an archive.
type Folder struct {
	Files fs.FS
	Name  string // of the folder, for messages
}

// OpenFolder opens the folder, or the zip of one, at a path. what names the data, and incomplete
// is the problem of a file that is not a complete zip.
func OpenFolder(path, what, incomplete string) (folder *Folder, closer io.Closer, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s data: %w", what, err)
	}
	if info.IsDir() {
		return &Folder{os.DirFS(path), path}, io.NopCloser(nil), nil
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
	return &Folder{archive, path}, file, nil
}

// Path returns a file's name for messages.
func (f *Folder) Path(file string) string { return filepath.ToSlash(f.Name) + "/" + file }

// Open opens a file of the data set for reading.
func (f *Folder) Open(file string) (fs.File, error) {
	opened, err := f.Files.Open(file)
	return opened, f.failed(file, err)
}

// failed returns the error of opening a file; nil where there was none.
func (f *Folder) failed(file string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return &ParseError{File: f.Path(file), Problem: "the file is missing", Err: fs.ErrNotExist}
	default:
		return &ParseError{File: f.Path(file), Problem: "cannot be opened", Err: err}
	}
}

// SizeBound returns an upper bound of the file's bytes, whatever an archive's directory
// claims.
func (f *Folder) SizeBound(file string) (int64, error) {
	info, err := fs.Stat(f.Files, file)
	if err != nil {
		return 0, f.failed(file, err)
	}
	if !info.Mode().IsRegular() {
		return 0, inFile(f.Path(file), "must be a regular file")
	}
	bound := info.Size()
	if header, ok := info.Sys().(*zip.FileHeader); ok {
		packed := min(header.CompressedSize64, 1<<40) // the claim may be absurd; the product must not overflow
		bound = min(bound, int64(packed)*input.MaxDeflate)
	}
	return bound, nil
}

// ReadWhole returns the content of a file of at most limit bytes.
func (f *Folder) ReadWhole(file string, limit int64) (content []byte, err error) {
	opened, err := f.Files.Open(file)
	if err != nil {
		return nil, &ParseError{File: f.Path(file), Problem: "cannot be opened", Err: err}
	}
	defer input.CloseAfter(opened, &err)
	content, err = io.ReadAll(io.LimitReader(opened, limit+1))
	if err != nil {
		return nil, &ParseError{File: f.Path(file), Problem: "cannot be read", Err: err}
	}
	if int64(len(content)) > limit {
		return nil, inFile(f.Path(file), "has more than %d bytes", limit)
	}
	return content, nil
}
