package input

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// TestOpenRefuses: files without an end are refused before they are opened. A test that
// waits for a pipe has failed.
func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	pipe, sparse, small := filepath.Join(dir, "pipe"), filepath.Join(dir, "sparse"), filepath.Join(dir, "small")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Skip(err)
	}
	for path, size := range map[string]int64{sparse: 1 << 40, small: 5} {
		filetest.Write(t, path, "")
		if err := os.Truncate(path, size); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct{ path, want string }{
		{pipe, "is a named pipe, must be a regular file"},
		{"/dev/zero", "is a device, must be a regular file"},
		{dir, "is a directory"},
		{sparse, "has 1024 GiB, must have at most 4 bytes"},
		{small, "has 5 bytes, must have at most 4 bytes"},
		{filepath.Join(dir, "none"), "no such file or directory"},
	} {
		for name, open := range map[string]func() error{
			"Open":     func() error { _, err := Open(c.path, 4); return err },
			"ReadFile": func() error { _, err := ReadFile(c.path, 4); return err },
		} {
			err := open()
			if path, ok := errors.AsType[*fs.PathError](err); !ok || path.Path != c.path || path.Err.Error() != c.want {
				t.Errorf("%s(%s): %v, want %s", name, c.path, err, c.want)
			}
		}
	}
	link := filepath.Join(dir, "link")
	expect.NoError(t, os.Symlink(small, link))
	if _, err := ReadOwn(link, 5); err == nil ||
		!strings.HasSuffix(err.Error(), "link: is a link, and fedsim makes none: remove it") {
		t.Error(err)
	}
	if content, err := ReadFile(small, 5); err != nil || len(content) != 5 {
		t.Errorf("%q, %v", content, err)
	}
	// Files in /proc report a size of 0.
	if _, err := ReadFile("/proc/self/status", 4); err == nil ||
		!strings.Contains(err.Error(), "has more than 4 bytes") {
		t.Errorf("a file that grows: %v", err)
	}
}

func TestRecords(t *testing.T) {
	r := NewRecords(strings.NewReader(strings.Repeat("0123456789\n", 3)+strings.Repeat("x", 100)), 40)
	lines := bufio.NewReaderSize(r, 16)
	for range 3 {
		expect.Value(lines.ReadString('\n'))(t)
		r.Next()
	}
	if _, err := lines.ReadString('\n'); err == nil || err.Error() != "a row has more than 40 bytes" {
		t.Errorf("got %v", err)
	}
}

func TestCSV(t *testing.T) {
	c := NewCSV(strings.NewReader("a,\"b\nc\"\n1,2\n"+strings.Repeat("x", 20000)), 5000)
	for _, want := range []string{"a|b\nc", "1|2"} {
		row, err := c.Read()
		expect.That(t, err == nil && strings.Join(row, "|") == want, "%q, %v: want %q", row, err, want)
	}
	if _, err := c.Read(); err == nil || !strings.Contains(err.Error(), "a row has more than 5000 bytes") {
		t.Errorf("%v", err)
	}
}
