package data

import (
	"archive/zip"
	"errors"
	"io/fs"
	"path/filepath"
)

// dataFolder is a folder with the files of a data set, on disk or in an archive.
type dataFolder struct {
	files fs.FS
	name  string // of the folder, for messages
}

// path returns a file's name for messages.
func (f *dataFolder) path(file string) string { return filepath.ToSlash(f.name) + "/" + file }

// open opens a file of the data set for reading.
func (f *dataFolder) open(file string) (fs.File, error) {
	opened, err := f.files.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &ParseError{File: f.path(file), Problem: "the file is missing", Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, &ParseError{File: f.path(file), Problem: "cannot be opened", Err: err}
	}
	return opened, nil
}

// maxDeflate is the largest compression ratio of deflate.
const maxDeflate = 1032

// sizeBound returns an upper bound of the file's bytes, whatever an archive's directory
// claims.
func (f *dataFolder) sizeBound(file string) (int64, error) {
	info, err := fs.Stat(f.files, file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, &ParseError{File: f.path(file), Problem: "the file is missing", Err: fs.ErrNotExist}
	}
	if err != nil {
		return 0, &ParseError{File: f.path(file), Problem: "cannot be opened", Err: err}
	}
	if !info.Mode().IsRegular() {
		return 0, &ParseError{File: f.path(file), Problem: "must be a regular file"}
	}
	bound := info.Size()
	if header, ok := info.Sys().(*zip.FileHeader); ok {
		packed := min(header.CompressedSize64, 1<<40) // the claim may be absurd; the product must not overflow
		bound = min(bound, int64(packed)*maxDeflate)
	}
	return bound, nil
}
