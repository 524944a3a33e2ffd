package scenarios_test

import (
	"bytes"
	"fmt"

	"fedsim/scenarios"
)

// A shipped scenario begins with what it shows.
func Example() {
	source, ok := scenarios.Source("sample")
	if !ok {
		fmt.Println("no such scenario")
		return
	}
	line, _, _ := bytes.Cut(source, []byte("\n"))
	fmt.Printf("%s\n", line)
	// Output:
	// # Main effects of step size, local epochs and drop probability on the time of FedAvg to an error of 15 %, on
}
