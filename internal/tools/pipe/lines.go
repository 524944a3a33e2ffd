package pipe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
)

// ErrTooLong is the error of a line that has more bytes than the limit.
var ErrTooLong = errors.New("the line is too long")

// Line is a line, or why there is none: ErrTooLong, io.EOF, io.ErrUnexpectedEOF if the
// input ended within a line, or the error of the reader.
type Line struct {
	Text []byte
	Err  error
}

// Lines reads lines ahead of their use, so that the end of a context can end a wait for
// the next one. At most one line is read ahead.
type Lines struct {
	next chan Line
	free chan []byte
}

// ReadLines starts to read the lines of a reader, each with at most limit bytes without its
// end. The rest of a longer line is skipped. The goroutine ends with the input, or with ctx
// once a line has come.
func ReadLines(ctx context.Context, from io.Reader, limit int) *Lines {
	l := &Lines{next: make(chan Line), free: make(chan []byte, 2)}
	l.free <- nil
	l.free <- nil
	go func() {
		in := bufio.NewReaderSize(from, 1<<16)
		for {
			x := nextLine(in, <-l.free, limit)
			select {
			case l.next <- x:
			case <-ctx.Done():
				return
			}
			if x.Err != nil && x.Err != ErrTooLong {
				return
			}
		}
	}()
	return l
}

// Next returns the next line. Its text is valid until Release.
func (l *Lines) Next(ctx context.Context) (Line, error) {
	select {
	case x := <-l.next:
		return x, nil
	case <-ctx.Done():
		return Line{}, context.Cause(ctx)
	}
}

// Release returns the memory of a line.
func (l *Lines) Release(x Line) { l.free <- x.Text }

// nextLine reads a line to its end, which it skips if the line is too long.
func nextLine(in *bufio.Reader, buffer []byte, limit int) Line {
	text, err := ReadLine(in, buffer, limit)
	for long := err == ErrTooLong; long; {
		_, rest := in.ReadSlice('\n')
		if long = rest == bufio.ErrBufferFull; !long && rest != nil {
			err = unended(text, rest)
		}
	}
	return Line{text, err}
}

// ReadLine reads a line into a buffer, and returns it without its end ("\n" or "\r\n"). With
// an error it returns the bytes read so far; after ErrTooLong the rest of the line is unread.
func ReadLine(in *bufio.Reader, buffer []byte, limit int) ([]byte, error) {
	line := buffer[:0]
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			line = bytes.TrimSuffix(line[:len(line)-1], []byte("\r"))
			if len(line) > limit {
				_, err = in.UnreadByte(), ErrTooLong
			}
			return line, err
		}
		if err != bufio.ErrBufferFull {
			return line, unended(line, err)
		}
		if len(line) > limit+len("\r") {
			return line, ErrTooLong
		}
	}
}

// unended returns the error of input that ends after the start of a line.
func unended(start []byte, err error) error {
	if err == io.EOF && len(start) > 0 {
		return io.ErrUnexpectedEOF
	}
	return err
}
