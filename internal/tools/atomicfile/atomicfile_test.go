package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// fullDisk is a file on a disk that fails at one place.
type fullDisk struct {
	under     *os.File // not embedded: its WriteString would bypass Write
	room      int      // bytes that still fit; negative: no limit
	failSync  bool
	failClose bool
	closed    *int
}

func (f *fullDisk) Write(p []byte) (int, error) {
	if len(p) > f.room {
		n, _ := f.under.Write(p[:f.room])
		f.room -= n
		return n, &os.PathError{Op: "write", Path: f.under.Name(), Err: syscall.ENOSPC}
	}
	n, err := f.under.Write(p)
	f.room -= n
	return n, err
}

func (f *fullDisk) Sync() error {
	if f.failSync {
		return &os.PathError{Op: "sync", Path: f.under.Name(), Err: syscall.ENOSPC}
	}
	return f.under.Sync()
}

func (f *fullDisk) Close() error {
	*f.closed++
	err := f.under.Close()
	if f.failClose {
		return &os.PathError{Op: "close", Path: f.under.Name(), Err: syscall.ENOSPC}
	}
	return err
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// names lists a directory.
func names(t *testing.T, dir string) string {
	t.Helper()
	es := expect.Value(os.ReadDir(dir))(t)
	var out []string
	for _, e := range es {
		out = append(out, e.Name())
	}
	return strings.Join(out, " ")
}

func TestWriteReplaces(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	for _, want := range []string{"first", "second, longer", ""} {
		expect.NoError(t, Write(path, text(want)))
		got, err := os.ReadFile(path)
		expect.Must(t, err == nil && string(got) == want, "got %q, %v; want %q", got, err, want)
	}
	if got := names(t, dir); got != "a.csv" {
		t.Errorf("directory holds %q", got)
	}
}

func TestWriteBesideAStaleTemporaryFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	root, err := os.OpenRoot(dir)
	expect.NoError(t, err)
	defer root.Close()
	_, stale, err := createTemp(root, "a.csv")
	expect.NoError(t, err)
	expect.NoError(t, Write(path, text("x")))
	if _, err := root.Stat(stale); err != nil {
		t.Errorf("the other writer's file was touched: %v", err)
	}
}

// TestFailuresLeaveNothing goes through every place at which a full disk can
// show: the old file must survive, no temporary file may, and the descriptor
// must be closed.
func TestFailuresLeaveNothing(t *testing.T) {
	boom := errors.New("boom")
	long := strings.Repeat("0123456789", 20000) // more than the buffer holds
	cases := []struct {
		name string
		disk fullDisk
		fill func(io.Writer) error
		want error
	}{
		{"write while filling", fullDisk{room: 100000}, text(long), syscall.ENOSPC},
		{"write at the flush", fullDisk{room: 3}, text("short"), syscall.ENOSPC},
		{"sync", fullDisk{room: 1 << 20, failSync: true}, text("short"), syscall.ENOSPC},
		{"close", fullDisk{room: 1 << 20, failClose: true}, text("short"), syscall.ENOSPC},
		{"fill", fullDisk{room: 1 << 20}, func(w io.Writer) error { text("half")(w); return boom }, boom},
	}
	defer func(old func(*os.Root, string) (file, error)) { create = old }(create)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.csv")
			filetest.Write(t, path, "old")
			var closed int
			create = func(dir *os.Root, name string) (file, error) {
				f, err := dir.Create(name)
				d := c.disk
				d.under, d.closed = f, &closed
				return &d, err
			}
			err := Write(path, c.fill)
			expect.That(t, errors.Is(err, c.want), "error %v, want %v", err, c.want)
			if err != nil &&
				(!strings.Contains(err.Error(), path) || strings.Contains(err.Error(), ".tmp") ||
					strings.Contains(err.Error(), "\n")) {
				t.Errorf("error %q should be one line that names %s and no temporary file", err, path)
			}
			if got := names(t, dir); got != "a.csv" {
				t.Errorf("directory holds %q", got)
			}
			if got, _ := os.ReadFile(path); string(got) != "old" {
				t.Errorf("old file became %.20q", got)
			}
			expect.That(t, closed == 1, "closed %d times", closed)
			if err := WriteSoon(path, c.fill); c.disk.failSync != (err == nil) ||
				!c.disk.failSync && !errors.Is(err, c.want) || names(t, dir) != "a.csv" || closed != 2 {
				t.Errorf("without waiting: %v, %s, closed %d times", err, names(t, dir), closed)
			}
		})
	}
}

func TestRenameFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	expect.NoError(t, os.MkdirAll(filepath.Join(path, "in the way"), 0o777))
	if err := Write(path, text("x")); err == nil {
		t.Fatal("a directory was replaced by a file")
	}
	got := names(t, dir)
	expect.That(t, got == "a.csv", "directory holds %q", got)
}

func TestMissingDirectory(t *testing.T) {
	err := Write(filepath.Join(t.TempDir(), "no", "a.csv"), text("x"))
	expect.That(t, errors.Is(err, os.ErrNotExist), "error %v", err)
}

// A path that is a directory is an error that says so.
func TestWriteToDirectory(t *testing.T) {
	dir := t.TempDir()
	err := Write(dir, func(io.Writer) error { return nil })
	expect.That(t, errors.Is(err, syscall.EISDIR) && err.Error() == "write "+dir+": is a directory", "got %v", err)
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 1 {
		t.Errorf("%v, %v is left", left, err)
	}
}

// TestWriteInStaysInside covers names of any origin.
func TestWriteInStaysInside(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "inner")
	expect.NoError(t, os.Mkdir(dir, 0o777))
	for _, name := range []string{"../x", "..", ".", "", "/x", "a/x", filepath.Join(outer, "x")} {
		err := WriteIn(dir, name, text("x"))
		expect.That(t, err != nil, "%q was written", name)
	}
	// A link at the name itself is replaced; its target stays.
	if err := os.Symlink(filepath.Join("..", "x"), filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	if err := WriteIn(dir, "link", text("x")); err != nil {
		t.Error(err)
	}
	got := names(t, outer)
	expect.That(t, got == "inner", "outside there is %q", got)
	got = names(t, dir)
	expect.That(t, got == "link", "inside there is %q", got)
}
