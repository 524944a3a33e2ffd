package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A removed line fails, even if others are new; a new line must be listed. Both errors have the remedy.
func TestCompare(t *testing.T) {
	for name, test := range map[string]struct {
		now                  []string
		update, incompatible bool
		want, left           string // of the error, and of the file
	}{
		"same": {now: []string{"a", "b"}, left: "a b"},
		"gone": {now: []string{"a", "b2", "c"},
			want: "removed or changed, though programs may use it:\n\tb\nadded:\n\tb2\n\tc\nrestore", left: "a b"},
		"new":      {now: []string{"a", "b", "c"}, want: "lacks new lines:\n\tc\nadd them with: make api", left: "a b"},
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
