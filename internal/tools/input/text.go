package input

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
)

// textHead is the number of bytes at the beginning of a text by which its encoding is recognized.
const textHead = 1 << 16

// utf8Mark is the byte-order mark of UTF-8, which spreadsheets write before a text.
const utf8Mark = "\ufeff"

// Errors of text that no reader takes.
var (
	errUTF16  = errors.New("is text in UTF-16 or UTF-32: save it as UTF-8")
	errLoneCR = errors.New(
		"has lines that end in a carriage return alone: save it with line feeds, as Unix and Windows do")
)

// Plain returns a text without a byte-order mark of UTF-8, and why the text cannot be read: it is
// not UTF-8, or its lines end as on old Macintoshes. The first bytes of a text are enough.
func Plain(text []byte) ([]byte, error) {
	text = bytes.TrimPrefix(text, []byte(utf8Mark))
	head := text[:min(len(text), textHead)]
	cr := bytes.IndexByte(head, '\r')
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")),
		bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")),
		len(head) > 1 && (head[0] == 0) != (head[1] == 0): // without a mark, a character of ASCII has one zero there
		return nil, errUTF16
	case cr >= 0 && cr+1 < len(head) && bytes.IndexByte(head, '\n') < 0:
		return nil, errLoneCR
	}
	return text, nil
}

// NewText returns a reader of the text of r after a byte-order mark. The error is that of Plain;
// an error of r comes with the reads.
func NewText(r io.Reader) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, textHead)
	head, _ := in.Peek(textHead)
	text, err := Plain(head)
	if err != nil {
		return nil, err
	}
	_, err = in.Discard(len(head) - len(text))
	return in, err
}

// NewNamedText is NewText of a file with a name for messages. The error of the text is a *ParseError.
func NewNamedText(r io.Reader, name string) (*bufio.Reader, error) {
	in, err := NewText(r)
	if err != nil {
		return nil, &ParseError{File: name, Problem: err.Error()}
	}
	return in, nil
}

// Text is an open file of text. It must be closed.
type Text struct {
	*bufio.Reader
	file *os.File
}

// OpenText is Open of a file of text, see Plain.
func OpenText(path string, most int64) (*Text, error) {
	file, err := Open(path, most)
	if err != nil {
		return nil, err
	}
	in, err := NewText(file)
	if err != nil {
		_ = file.Close() // it was only read
		return nil, refuse(path, "%w", err)
	}
	return &Text{in, file}, nil
}

// Close closes the file.
func (t *Text) Close() error { return t.file.Close() }

// ReadText is ReadFile of a file of text, see Plain.
func ReadText(path string, most int64) ([]byte, error) {
	content, err := ReadFile(path, most)
	if err != nil {
		return nil, err
	}
	text, err := Plain(content)
	if err != nil {
		return nil, refuse(path, "%w", err)
	}
	return text, nil
}
