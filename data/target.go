package data

import "errors"

// What the targets Y of a set are.
const (
	TargetClass = "class" // labels, -1 and +1
	TargetReal  = "real"  // real numbers
)

// ErrOneClass says that all labels of a set are the same, so that there is
// nothing to learn.
var ErrOneClass = errors.New("all labels are of one class")

// ErrOneTarget says the same of real targets.
var ErrOneTarget = errors.New("all targets are the same number")

// requireVariety returns ErrOneClass unless the set has labels of both signs,
// or ErrOneTarget unless its real targets differ.
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
