package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is gone fails, whatever is new; what is new must be listed. Both say what to do.
func TestCompare(t *testing.T) {
	for name, test := range map[string]struct {
		now                  []string
		update, incompatible bool
		want, left           string // of the error, and of the file
	}{
		"same":     {now: []string{"a", "b"}, left: "a b"},
		"gone":     {now: []string{"a", "b2", "c"}, want: "is gone or has changed:\n\tb\nnew is:\n\tb2\n\tc\nbring back", left: "a b"},
		"new":      {now: []string{"a", "b", "c"}, want: "lacks what is new:\n\tc\nadd it with: make api", left: "a b"},
		"added":    {now: []string{"a", "b", "c"}, update: true, left: "a b c"},
		"dropped":  {now: []string{"a", "c"}, update: true, want: "\tb\n", left: "a b"},
		"accepted": {now: []string{"a", "c"}, update: true, incompatible: true, left: "a c"},
	} {
		file := filepath.Join(t.TempDir(), "list.txt")
		if err := os.WriteFile(file, []byte("a\nb\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		err := compare(file, test.now, test.update, test.incompatible)
		if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
		if text, err := os.ReadFile(file); err != nil || strings.Join(strings.Fields(string(text)), " ") != test.left {
			t.Errorf("%s: the file has %q (%v)", name, text, err)
		}
	}
}
