package racetest

import "testing"

func TestSkip(t *testing.T) {
	var skipped bool
	t.Run("inside", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		Skip(t, "as a test")
	})
	if skipped != enabled {
		t.Errorf("a test is skipped: %v; under the race detector: %v", skipped, enabled)
	}
}
