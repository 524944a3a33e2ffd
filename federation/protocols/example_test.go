package protocols_test

import (
	"fmt"
	"slices"

	"fedsim/federation"
	"fedsim/federation/protocols"
)

// Importing the package registers its protocols.
func Example() {
	fmt.Println(slices.Contains(federation.ProtocolNames(), protocols.Deadline))
	// Output: true
}
