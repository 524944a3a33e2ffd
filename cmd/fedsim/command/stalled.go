package command

import (
	"fmt"
	"strings"

	"fedsim/results"
)

// stalled is the error of a command whose runs are complete, and of which some
// stalled.
type stalled []results.Run

// mostStalled is how many runs that stalled are named.
const mostStalled = 5

// stalls returns the error of those runs that stalled; nil when none did.
func stalls(runs []results.Run) error {
	var all stalled
	for _, r := range runs {
		if r.Status == results.Stalled {
			all = append(all, r)
		}
	}
	if all == nil {
		return nil
	}
	return all
}

// Error says for each run where and why it stalled.
func (s stalled) Error() string {
	var lines []string
	for _, r := range s[:min(len(s), mostStalled)] {
		lines = append(lines, fmt.Sprintf("run %s stalled after round %d: %s", r.ID, len(r.Rounds)-1, r.Reason))
	}
	if more := len(s) - mostStalled; more > 0 {
		lines = append(lines, fmt.Sprintf("%d more runs stalled: runs.csv has their reasons", more))
	}
	return strings.Join(lines, "\n")
}
