package command

import (
	"fmt"
	"strings"
	"testing"

	"fedsim/internal/rooms/traces"
)

// TestTracesPage runs the commands of docs/traces.md, and reads its example.
func TestTracesPage(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the page's commands one by one")
	}
	t.Parallel()
	page := read(t, "docs/traces.md")
	ran := runLines(t, t.TempDir(), blocks(page, "sh"))
	examples := blocks(page, "csv")
	if ran < 2 || len(examples) != 1 {
		t.Fatalf("the page has %d commands and %d files: must have 2 and 1", ran, len(examples))
	}
	set, err := traces.Collect(traces.CSV(strings.NewReader(examples[0]), "docs/traces.md"))
	if err != nil {
		t.Fatal(err)
	}
	var again strings.Builder
	if err := traces.WriteCSV(&again, set.Traces()); err != nil {
		t.Fatal(err)
	}
	if again.String() != examples[0] {
		t.Errorf("the example is written as\n%s", again.String())
	}
	for _, k := range traces.AllKinds() {
		if !strings.Contains(page, fmt.Sprintf("| `%v` |", k)) {
			t.Errorf("the page does not explain the kind %v", k)
		}
	}
}
