package data

import "errors"

// The kinds of the targets Y of a set.
const (
	TargetClass = "class" // labels, -1 and +1
	TargetReal  = "real"  // real numbers
)

// ErrOneClass is the error for a set whose labels are all equal, so that no model can be
// learned.
var ErrOneClass = errors.New("all labels are of one class")

// ErrOneTarget is the error for a set whose real targets are all equal.
var ErrOneTarget = errors.New("all targets are the same number")

// requireVariety returns ErrOneClass unless the set has labels of both signs, or
// ErrOneTarget unless its real targets differ.
func (s *Set) requireVariety() error {
	low, high := 0.0, 0.0
	first := true
	for t := range s.Tasks {
		for _, y := range s.Tasks[t].Y {
			if first {
				low, high, first = y, y, false
			}
			low, high = min(low, y), max(high, y)
		}
	}
	switch {
	case low < high:
		return nil
	case s.Real:
		return ErrOneTarget
	default:
		return ErrOneClass
	}
}
