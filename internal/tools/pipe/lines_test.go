package pipe

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// A line that is too long is skipped, and the next one is read. The input may end within a line.
func TestLines(t *testing.T) {
	text := strings.Repeat("x", 11) + "\n" + strings.Repeat("y", 10) + "\r\n" + strings.Repeat("z", 5000) + "\n\n" +
		strings.Repeat("w", 16) + "\r\nend"
	in := bufio.NewReaderSize(strings.NewReader(text), 16)
	for i, want := range []Line{
		{Err: ErrTooLong}, {Text: []byte("yyyyyyyyyy")}, {Err: ErrTooLong}, {}, {Err: ErrTooLong},
		{Text: []byte("end"), Err: io.ErrUnexpectedEOF},
		{Err: io.EOF},
	} {
		got := nextLine(in, nil, 10)
		if got.Err != want.Err || got.Err != ErrTooLong && string(got.Text) != string(want.Text) ||
			cap(got.Text) > 1000 {
			t.Errorf("line %d: %q, %v, capacity %d", i, got.Text, got.Err, cap(got.Text))
		}
	}
	if got := nextLine(bufio.NewReaderSize(strings.NewReader(text[:11]), 16), nil, 10); got.Err != io.ErrUnexpectedEOF {
		t.Errorf("the end of the input within a long line: %v", got.Err)
	}
}

// After a line that is too long, a reader may give up: the line may have no end.
func TestEndlessLine(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(strings.Repeat("z", 100)), neverEnding{})
	line, err := ReadLine(bufio.NewReaderSize(endless, 16), nil, 10)
	expect.That(t, err == ErrTooLong && strings.HasPrefix(string(line), "zzzzzzzzzzz"), "%q, %v", line, err)
}

type neverEnding struct{}

func (neverEnding) Read(b []byte) (int, error) { b[0] = 'z'; return 1, nil }

// The end of a context ends a wait for a line.
func TestContextEndsAWait(t *testing.T) {
	from, to := io.Pipe()
	defer func() { _ = to.Close() }()
	ctx, cancel := context.WithCancelCause(t.Context())
	l := ReadLines(ctx, from, 10)
	go func() { _, _ = io.WriteString(to, "one\n") }()
	x, err := l.Next(ctx)
	expect.Must(t, string(x.Text) == "one" && x.Err == nil && err == nil, "%q, %v, %v", x.Text, x.Err, err)
	l.Release(x)
	cause := errors.New("enough")
	cancel(cause)
	if _, err := l.Next(ctx); err != cause {
		t.Error(err)
	}
}
