package command

import (
	"fmt"
	"strings"

	"fedsim/results"
)

// stalled is the error of a command that completed its runs, some of which stalled.
type stalled []results.Run

// maxStalled is the maximum number of stalled runs in an error.
const maxStalled = 5

// stalls returns the error of the runs that stalled, or nil.
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

// Error has a line for each run, with the round and the reason.
func (s stalled) Error() string {
	var lines []string
	for _, r := range s[:min(len(s), maxStalled)] {
		lines = append(lines, fmt.Sprintf("run %s stalled after round %d: %s", r.ID, len(r.Rounds)-1, r.Reason))
	}
	if more := len(s) - maxStalled; more > 0 {
		lines = append(lines, fmt.Sprintf("%d more runs stalled; see runs.csv for the reasons", more))
	}
	return strings.Join(lines, "\n")
}
