package experiment

import (
	"math"
	"strconv"

	"fedsim/internal/tools/elementary"
)

// scale is a value of an option with its neighbors.
type scale struct {
	x, behind float64 // the value, and its neighbor on the other side
	up        bool
	next      float64 // the neighbor on this side; x: none
	beyond    bool    // next is not in the list
}

// newScale returns the scale of a value of an increasing list on a side, 0 for below.
// Beyond the end of the list, the next value continues the last two: by their ratio if
// both are positive, else by their difference, rounded to three digits or to a whole
// number. A list of one value continues by factors of two.
func newScale(list []float64, at, side int, integer bool) scale {
	step := 2*side - 1
	s := scale{x: list[at], up: step > 0}
	get := func(i int) (float64, bool) {
		if i < 0 || i >= len(list) {
			return 0, false
		}
		return list[i], true
	}
	behind, ok := get(at - step)
	if !ok {
		if behind, ok = get(at + step); ok { // as far as the neighbor on this side
			behind = s.x * (s.x / behind)
			if s.x <= 0 {
				behind = s.x - float64(step)
			}
		} else {
			behind = math.Ldexp(s.x, -step)
		}
	}
	s.behind = behind
	if s.next, ok = get(at + step); ok {
		return s
	}
	s.beyond = true
	if s.x > 0 && behind > 0 {
		s.next = s.x * (s.x / behind)
	} else {
		s.next = s.x + (s.x - behind)
	}
	if !integer {
		s.next = rounded(s.x, s.next, 'g', 3)
	} else {
		s.next = math.Round(s.next)
		if s.next == s.x {
			s.next += float64(step)
		}
		if s.x > 0 && s.next <= 0 { // at 0 the method chooses
			s.next = math.Min(1, s.x)
		}
	}
	return s
}

// toward returns the next value toward an excluded bound: the distance shrinks as over
// the last two values, rounded to two digits. Below an upper bound b of positive values
// the distance is that of the odds x/(b - x), so 0.989 and 0.9977 follow 0.8, 0.95 if b
// is 1.
func (s *scale) toward(bound float64) float64 {
	near, far := math.Abs(bound-s.x), math.Abs(bound-s.behind)
	left := near * (near / far)
	if s.up && s.x > 0 && s.behind > 0 {
		odds := s.x / near * (s.x / near) / (s.behind / far)
		left = bound / (1 + odds)
	}
	digits := max(0, 1-int(math.Floor(elementary.Log(left)/math.Ln10))) // behind the point
	if !s.up {
		left = -left
	}
	return rounded(s.x, bound-left, 'f', digits)
}

// rounded returns a number with some digits, in a format of strconv, or with all digits
// if rounding would move it to the other side of x.
func rounded(x, number float64, format byte, digits int) float64 {
	short := toFloat(strconv.FormatFloat(number, format, digits, 64))
	if short != x && (short > x) == (number > x) {
		return short
	}
	return number
}

func toFloat(text string) float64 {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.Inf(1) // too large: refused as any other value
	}
	return x
}

// bound returns the last accepted value from good toward bad, and the first refused one.
func bound(good, bad float64, integer bool, accepted func(float64) bool) (last, first float64) {
	for {
		middle := good + float64((bad-good)/2)
		if integer {
			middle = math.Floor(middle)
		}
		if middle == good || middle == bad || math.IsInf(bad, 0) {
			return good, bad
		}
		if accepted(middle) {
			good = middle
		} else {
			bad = middle
		}
	}
}

// shorter reports whether a number has fewer digits than another. Of two neighboring
// numbers, the bound is the shorter one.
func shorter(a, b float64) bool {
	return len(strconv.FormatFloat(a, 'g', -1, 64)) < len(strconv.FormatFloat(b, 'g', -1, 64))
}
