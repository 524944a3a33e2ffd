package command

import (
	"fmt"
	"strings"
	"testing"

	"fedsim/internal/rooms/traces"
	"fedsim/internal/tools/expect"
)

// TestTracesPage runs the commands of docs/time.md on traces, and reads its example.
func TestTracesPage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the page's commands one by one")
	}
	t.Parallel()
	page := section(t, "docs/time.md", "## Traces")
	ran := runLines(t, t.TempDir(), blocks(page, "sh"))
	examples := blocks(page, "csv")
	expect.Must(t, ran >= 2 && len(examples) == 1,
		"the page has %d commands and %d files: must have 2 and 1", ran, len(examples))
	set := expect.Value(traces.Collect(traces.CSV(strings.NewReader(examples[0]), "docs/time.md")))(t)
	var again strings.Builder
	expect.NoError(t, traces.WriteCSV(&again, set.Traces()))
	expect.That(t, again.String() == examples[0], "the example is written as\n%s", again.String())
	for _, k := range traces.AllKinds() {
		expect.That(t, strings.Contains(page, fmt.Sprintf("| `%v` |", k)), "the page does not explain the kind %v", k)
	}
}
