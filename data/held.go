package data

import (
	"slices"

	"fedsim/config"
)

// The choices of test rows.
const (
	TestRowsOwn    = "own"
	TestRowsRandom = "random"
)

// held reports whether the source has test rows.
func (s *Set) held() bool {
	return slices.ContainsFunc(s.Clients, func(t Client) bool { return t.Held > 0 })
}

// splitHeld divides the set into its own training and test rows.
func splitHeld(set *Set) (*Split, error) {
	return divide(set, func(t int) (train, test []int32) {
		rows := numbersTo(set.Clients[t].X.Rows)
		n := len(rows) - set.Clients[t].Held
		return rows[:n], rows[n:]
	})
}

// requireOneTest returns an error if a share of test rows is configured for a set whose source
// has test rows.
func (s *Set) requireOneTest(c *Config) error {
	if c.TestRows != TestRowsOwn || c.TestFraction == Defaults().TestFraction || !s.held() {
		return nil
	}
	return config.Problem{Key: "data.test_fraction", Value: c.TestFraction,
		Want: "has no effect: " + s.Name +
			` has test rows of its own; remove the key, or set data.test_rows = "random" to hold out others`}
}
