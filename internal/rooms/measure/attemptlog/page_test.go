package attemptlog

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

var update = flag.Bool("update", false, "rewrite the table of columns in docs/real.md")

// The page has the table of columns.
func TestPage(t *testing.T) {
	const path, begin, end = "../../../../docs/real.md",
		"<!-- columns: go test ./internal/rooms/measure/attemptlog -run Page -update -->\n", "<!-- end -->"
	source := expect.Value(os.ReadFile(path))(t)
	var b strings.Builder
	b.WriteString("| column | unit | meaning |\n|---|---|---|\n")
	for _, c := range Columns {
		name := "`" + c.Name + "`"
		if c.Required {
			name += " *"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, c.Unit, c.Doc)
	}
	before, rest, ok := strings.Cut(string(source), begin)
	old, after, closed := strings.Cut(rest, end)
	switch {
	case !ok || !closed:
		t.Fatalf("%s has no place for the columns", path)
	case old == b.String():
	case *update:
		expect.NoError(t, os.WriteFile(path, []byte(before+begin+b.String()+end+after), 0o666))
	default:
		t.Errorf("%s is out of date: run go test ./internal/rooms/measure/attemptlog -run Page -update", path)
	}
}
