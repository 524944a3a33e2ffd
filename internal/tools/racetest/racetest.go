// Package racetest keeps tests out of the race detector, under which they take long without
// meeting anything that their packages' other tests do not run at the same time.
package racetest

import "testing"

// Enabled reports whether the race detector is on.
func Enabled() bool { return enabled }

// Skip skips a test under the race detector. The reason names the comparison of the test, and where
// its parallel code runs under the detector.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if enabled {
		t.Skip("not under the race detector: " + reason)
	}
}
