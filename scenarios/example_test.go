package scenarios_test

import (
	"bytes"
	"fmt"

	"fedsim/scenarios"
)

// The first line of a shipped scenario.
func Example() {
	source, ok := scenarios.Source("quickstart")
	if !ok {
		fmt.Println("no such scenario")
		return
	}
	line, _, _ := bytes.Cut(source, []byte("\n"))
	fmt.Printf("%s\n", line)
	// Output:
	// name = "quickstart"
}
