package data

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"fedsim/internal/tools/input"
)

// OpenText opens a regular file of text, which it returns without a mark of UTF-8. Where it begins like one of gzip,
// its content is unpacked.
func OpenText(path string) (io.ReadCloser, error) {
	file, err := input.Open(path, maxFile)
	if err != nil {
		return nil, err
	}
	type opened struct {
		io.Reader
		io.Closer
	}
	buffered := bufio.NewReaderSize(file, 1<<16)
	content := opened{buffered, file}
	if magic, _ := buffered.Peek(2); string(magic) == "\x1f\x8b" {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, errors.Join(&ParseError{File: path, Problem: "cannot be unpacked", Err: err}, file.Close())
		}
		whole := &gzipped{content: unpacked, file: file, left: maxFile}
		content = opened{whole, whole}
	}
	text, err := input.NewNamedText(content, path)
	if err != nil {
		return nil, errors.Join(err, content.Close())
	}
	return opened{text, content}, nil
}

// gzipped is the unpacked content of a packed file.
type gzipped struct {
	content *gzip.Reader
	file    io.Closer
	left    int64 // bytes that it may still have
}

func (g *gzipped) Read(b []byte) (int, error) {
	if g.left <= 0 {
		return 0, fmt.Errorf("has more than %d GiB unpacked", maxFile>>30)
	}
	n, err := g.content.Read(b[:min(int64(len(b)), g.left)])
	g.left -= int64(n)
	return n, err
}

func (g *gzipped) Close() error { return errors.Join(g.content.Close(), g.file.Close()) }
