package selectors_test

import (
	"fmt"
	"slices"

	"fedsim/federation"
	_ "fedsim/federation/selectors"
)

// Importing the package registers its selectors.
func Example() {
	fmt.Println(slices.Contains(federation.SelectorNames(), "oort"))
	// Output: true
}
