package racetest

import (
	"testing"

	"fedsim/internal/tools/expect"
)

func TestSkip(t *testing.T) {
	var skipped bool
	t.Run("inside", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		Skip(t, "as a test")
	})
	expect.That(t, skipped == enabled, "a test is skipped: %v; under the race detector: %v", skipped, enabled)
}
