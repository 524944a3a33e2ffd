package data

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"fedsim/internal/input"
)

// openFile opens a regular file. Where it begins like one of gzip, its content is unpacked.
func openFile(path string) (io.ReadCloser, error) {
	file, err := input.Open(path, maxFile)
	if err != nil {
		return nil, err
	}
	buffered := bufio.NewReader(file)
	if magic, _ := buffered.Peek(2); string(magic) != "\x1f\x8b" {
		return struct {
			io.Reader
			io.Closer
		}{buffered, file}, nil
	}
	content, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, errors.Join(&ParseError{File: path, Problem: "cannot be unpacked", Err: err}, file.Close())
	}
	return &gzipped{content: content, file: file, left: maxFile}, nil
}

// gzipped is the unpacked content of a packed file.
type gzipped struct {
	content *gzip.Reader
	file    io.Closer
	left    int64 // bytes that it may still have
}

func (u *gzipped) Read(b []byte) (int, error) {
	if u.left <= 0 {
		return 0, fmt.Errorf("has more than %d GiB unpacked", maxFile>>30)
	}
	n, err := u.content.Read(b[:min(int64(len(b)), u.left)])
	u.left -= int64(n)
	return n, err
}

func (u *gzipped) Close() error { return errors.Join(u.content.Close(), u.file.Close()) }
