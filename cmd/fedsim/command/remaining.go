package command

import (
	"fmt"
	"math"
	"time"

	"fedsim/internal/tools/columns"
)

// remaining estimates the remaining time from the growth of the share that is done. The
// estimate excludes the time before the first progress, such as that of a reference
// optimum, and restarts when the share decreases. It excludes work that was done before
// the run was resumed.
type remaining struct {
	start      time.Time // when the share started to grow
	first, own float64   // share done by this process, at start and now
	share      float64   // of all work
}

// An estimate requires this growth of the share over this time.
const (
	minGrown = 0.01
	minTime  = 3 * time.Second
)

// note records the share that is done; before is the part that was done before the run
// was resumed.
func (r *remaining) note(share, before float64, now time.Time) {
	own := share - before
	if r.start.IsZero() || share < r.share || r.own == 0 {
		r.start, r.first = now, own
	}
	r.share, r.own = share, own
}

// seconds returns the remaining time; NaN if there is no estimate.
func (r *remaining) seconds(now time.Time) float64 {
	grown, elapsed := r.own-r.first, now.Sub(r.start)
	if grown < minGrown || elapsed < minTime || r.share >= 1 {
		return math.NaN()
	}
	return (1 - r.share) / grown * elapsed.Seconds()
}

// text describes the remaining time; empty if there is no estimate.
func (r *remaining) text(now time.Time) string {
	seconds := r.seconds(now)
	if math.IsNaN(seconds) {
		return ""
	}
	return ", about " + columns.Rounded(seconds).String() + " left"
}

// planTime formats an estimated time.
func planTime(seconds float64) string {
	if seconds < 10 {
		return fmt.Sprintf("%.2g s", seconds)
	}
	return columns.Rounded(seconds).String()
}
