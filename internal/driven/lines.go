package driven

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// MaxLine is the most bytes of a line of a driver, without its end.
const MaxLine = 256 << 20

// line is a line of the driver, or why there is none.
type line struct {
	text []byte
	long bool  // it had more than the most bytes, and was skipped
	half bool  // the input ended before its end
	err  error // io.EOF: the input has ended
}

// lines reads lines ahead of their use, so that the end of a context can end a read that
// waits. At most one line is read ahead.
type lines struct {
	next chan line
	free chan []byte
}

// readLines starts to read the lines of a reader. The goroutine ends with the input, or
// with ctx once a line has come.
func readLines(ctx context.Context, from io.Reader, most int) *lines {
	l := &lines{next: make(chan line), free: make(chan []byte, 2)}
	l.free <- nil
	l.free <- nil
	go func() {
		in := bufio.NewReaderSize(from, 1<<16)
		for {
			x := readLine(in, <-l.free, most)
			select {
			case l.next <- x:
			case <-ctx.Done():
				return
			}
			if x.err != nil {
				return
			}
		}
	}()
	return l
}

// read returns the next line. Its text is valid until release.
func (l *lines) read(ctx context.Context) (line, error) {
	select {
	case x := <-l.next:
		return x, nil
	case <-ctx.Done():
		return line{}, context.Cause(ctx)
	}
}

// release returns the memory of a line.
func (l *lines) release(x line) { l.free <- x.text }

// readLine reads a line into a buffer. Of a line that is too long it reads the rest
// without storing it.
func readLine(in *bufio.Reader, buffer []byte, most int) line {
	x := line{text: buffer[:0]}
	for {
		part, err := in.ReadSlice('\n')
		if x.long = x.long || len(x.text)+len(part) > most+len("\r\n"); !x.long {
			x.text = append(x.text, part...)
		}
		switch {
		case err == nil:
			x.text = trimEnd(x.text)
			x.long = x.long || len(x.text) > most
			return x
		case !errors.Is(err, bufio.ErrBufferFull):
			x.half, x.err = len(x.text) > 0 || x.long, err
			return x
		}
	}
}

// trimEnd removes the end of a line.
func trimEnd(text []byte) []byte {
	if n := len(text); n > 0 && text[n-1] == '\n' {
		text = text[:n-1]
	}
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	return text
}
