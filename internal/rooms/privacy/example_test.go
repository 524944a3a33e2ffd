package privacy_test

import (
	"fmt"

	"fedsim/internal/rooms/privacy"
)

// The epsilon of 100 rounds that each sample 1 % of the clients, with noise of 1.1 times the
// bound on an update.
func Example() {
	accountant := privacy.NewAccountant(1e-5, privacy.Poisson)
	for range 100 {
		accountant.Add(0.01, 1.1)
	}
	fmt.Printf("epsilon %.2f at delta 1e-5\n", accountant.Epsilon())
	// Output: epsilon 0.96 at delta 1e-5
}
