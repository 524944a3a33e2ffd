package methods_test

import (
	"fmt"

	"fedsim/algorithms"
	_ "fedsim/algorithms/methods"
)

// A program that imports the package finds its methods by name.
func Example() {
	for _, name := range []string{"fedprox", "scaffold", "no-such"} {
		f, ok := algorithms.Lookup(name)
		fmt.Println(name, ok, f.Summary)
	}
	// Output:
	// fedprox true averaging with a proximal term; it holds local models near the one they were sent
	// scaffold true averaging, corrected by control variates; which double the messages
	// no-such false
}
