package input

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// in16 returns a text in UTF-16.
func in16(text string, bigEndian bool) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		pair := []byte{byte(unit), byte(unit >> 8)}
		if bigEndian {
			pair[0], pair[1] = pair[1], pair[0]
		}
		b = append(b, pair...)
	}
	return string(b)
}

// Every way to read a text skips the mark of UTF-8, and refuses other encodings and lines of old
// Macintoshes by their first bytes.
func TestText(t *testing.T) {
	long := "a,b\n" + strings.Repeat("1,2\r\n", textHead)
	for text, want := range map[string]string{
		"": "", "a": "a", "\ufeff": "", "\ufeffa,b\n1,2\n": "a,b\n1,2\n", "\ufeff\ufeffa": "\ufeffa", long: long,
		"a\r\nb\r\n": "a\r\nb\r\n", "a\r": "a\r", "a\nb\rc\n": "a\nb\rc\n", "\x00\x00\x00": "\x00\x00\x00",
		"ä\n": "ä\n",
	} {
		path := filepath.Join(t.TempDir(), "x")
		filetest.Write(t, path, text)
		if got, err := ReadText(path, 1<<30); err != nil || string(got) != want {
			t.Errorf("ReadText of %.20q: %.20q, %v", text, got, err)
		}
		file := expect.Value(OpenText(path, 1<<30))(t)
		if got, err := io.ReadAll(file); err != nil || string(got) != want || file.Close() != nil {
			t.Errorf("OpenText of %.20q: %.20q, %v", text, got, err)
		}
	}
	for text, want := range map[string]error{
		in16("\ufeffa,b\n", false): errUTF16, in16("\ufeffa,b\n", true): errUTF16, in16("a,b\n", false): errUTF16,
		in16("a,b\n", true): errUTF16, in16("\ufeff", false): errUTF16, "\x00\x00\xfe\xff\x00\x00\x00a": errUTF16,
		"a\x00\x00\x00": errUTF16, "a,b\r1,2\r": errLoneCR, "\ufeffa\rb": errLoneCR, "\r\ra": errLoneCR,
	} {
		path := filepath.Join(t.TempDir(), "x")
		filetest.Write(t, path, text)
		_, errWhole := ReadText(path, 1<<30)
		_, errOpened := OpenText(path, 1<<30)
		for _, err := range []error{errWhole, errOpened} {
			at, ok := errors.AsType[*fs.PathError](err)
			expect.That(t, ok && at.Path == path && errors.Is(err, want), "%q: %v, want %v", text, err, want)
		}
	}
	failed := errors.New("failed")
	if in, err := NewText(io.MultiReader(strings.NewReader("\ufeffab"), errReader{failed})); err != nil {
		t.Error(err)
	} else if got, err := io.ReadAll(in); string(got) != "ab" || err != failed {
		t.Errorf("%q, %v", got, err)
	}
}

type errReader struct{ err error }

func (e errReader) Read([]byte) (int, error) { return 0, e.err }
