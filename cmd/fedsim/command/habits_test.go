package command

import (
	"regexp"
	"testing"

	"fedsim/internal/tools/expect"
)

// A test that the race detector leaves out says so itself, with racetest.Skip: neither the
// Makefile nor .ci/run skips tests by their names.
func TestNoTestIsSkippedByName(t *testing.T) {
	for _, file := range []string{"Makefile", ".ci/run"} {
		found := regexp.MustCompile(`.*-(test\.)?skip\b.*`).FindString(read(t, file))
		expect.That(t, found == "", "%s skips tests by name: %s", file, found)
	}
}
