// Package rapidseed lets the environment choose the seed of random tests. Test packages
// that draw their cases with rapid import it for this effect alone.
package rapidseed

import (
	"flag"
	"os"

	_ "pgregory.net/rapid" // defines the flag
)

// Variable is the environment variable that holds the seed. Unset or empty, rapid draws a
// new seed in every run. The flag -rapid.seed goes before it.
const Variable = "FEDSIM_TEST_SEED"

func init() {
	if seed := os.Getenv(Variable); seed != "" {
		if err := flag.Set("rapid.seed", seed); err != nil {
			panic(Variable + ": " + err.Error())
		}
	}
}
