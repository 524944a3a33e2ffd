package command

import (
	"fmt"
	"strings"
	"testing"

	"fedsim/results"
)

// docs/reference/columns.md has the lists of columns.
func TestColumnsPage(t *testing.T) {
	generatedBlocks(t, "docs/reference/columns.md", "ColumnsPage", map[string]string{
		"columns of rounds": tableOf(results.RoundColumns), "columns of devices": tableOf(results.DeviceColumns),
		"columns of clients": tableOf(results.ClientColumns),
	})
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
