package command

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/internal/tools/filetest"
	"fedsim/results"
)

// docs/reading.md has the lists of columns.
func TestReadingPageHasTheColumns(t *testing.T) {
	text := read(t, "docs/reading.md")
	page := text
	for name, table := range map[string]string{"rounds": tableOf(results.RoundColumns), "devices": tableOf(results.DeviceColumns), "clients": tableOf(results.ClientColumns)} {
		begin, end := "<!-- columns of "+name+": go test ./cmd/fedsim/command -run ReadingPage -update-tutorial -->\n", "<!-- end -->"
		before, rest, ok := strings.Cut(page, begin)
		_, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("docs/reading.md has no place for the columns of %s", name)
		}
		page = before + begin + table + end + after
	}
	switch {
	case *updateTutorial:
		filetest.Write(t, filepath.Join(root, "docs/reading.md"), page)
	case page != text:
		t.Error("docs/reading.md is out of date: run go test ./cmd/fedsim/command -run ReadingPage -update-tutorial")
	}
}

// tableOf returns the columns as a table in Markdown.
func tableOf[R any](columns []results.Column[R]) string {
	table := "| column | unit | content |\n|---|---|---|\n"
	for i := range columns {
		c := &columns[i]
		table += fmt.Sprintf("| `%s` | %s | %s |\n", c.Name, c.Unit, strings.ReplaceAll(c.Doc, "|", `\|`))
	}
	return table
}
