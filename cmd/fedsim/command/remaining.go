package command

import "time"

// remaining estimates the time that is left from how the share that is done has
// grown. What comes before the first of it, such as a reference optimum, is not
// taken for the pace; nor is what came before the share began anew, or before an
// interruption.
type remaining struct {
	begun      time.Time // when the share began to grow
	first, own float64   // the share that this process made, then and now
	share      float64   // of all
}

// leastGrown is how much of a share must be done, and leastSeen how long it must
// have been seen growing, for an estimate.
const (
	leastGrown = 0.01
	leastSeen  = 3 * time.Second
)

// note takes down the share that is done, and the part of it that was before an
// interruption.
func (r *remaining) note(share, before float64, now time.Time) {
	own := share - before
	if r.begun.IsZero() || share < r.share || r.own == 0 {
		r.begun, r.first = now, own
	}
	r.share, r.own = share, own
}

// text says how much time is left, nothing when it cannot be told.
func (r *remaining) text(now time.Time) string {
	grown, seen := r.own-r.first, now.Sub(r.begun)
	if grown < leastGrown || seen < leastSeen || r.share >= 1 {
		return ""
	}
	left := time.Duration((1 - r.share) / grown * float64(seen))
	return ", about " + left.Round(roundedTo(left)).String() + " left"
}

// roundedTo is how exactly a span is told.
func roundedTo(d time.Duration) time.Duration {
	switch {
	case d < time.Minute:
		return time.Second
	case d < 10*time.Minute:
		return 10 * time.Second
	default:
		return time.Minute
	}
}
