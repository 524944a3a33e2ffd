// Package rapidseed lets the environment choose the seed and the number of the cases of
// random tests. Test packages that draw their cases with rapid import it for this effect
// alone.
package rapidseed

import (
	"flag"
	"os"

	_ "pgregory.net/rapid" // defines the flags
)

// The environment variables. Unset or empty, rapid draws a new seed in every run, and 100
// cases a test. Its flags go before them.
const (
	Seed  = "FEDSIM_TEST_SEED"
	Cases = "FEDSIM_TEST_CASES"
)

func init() {
	for name, variable := range map[string]string{"rapid.seed": Seed, "rapid.checks": Cases} {
		if value := os.Getenv(variable); value != "" {
			if err := flag.Set(name, value); err != nil {
				panic(variable + ": " + err.Error())
			}
		}
	}
}
