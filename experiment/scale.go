package experiment

import (
	"math"
	"strconv"

	"fedsim/internal/elementary"
)

// scale is where the values of an option lie around one of them, and what follows
// on one side.
type scale struct {
	x, behind float64 // the value, and the one on its other side
	up        bool
	next      float64 // x itself when nothing follows
	beyond    bool    // next is none of the values
}

// newScale looks from the value at a place of an increasing list to a side, 0 for
// below. Beyond the end of the list, the next value continues the last two: by their
// ratio when both are positive, else by their difference, rounded to three digits or to
// a whole number. A list of one value, which has a 0 beside it, continues by factors of
// two.
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
		if behind, ok = get(at + step); ok { // as far on the other side
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
		if s.x > 0 && s.next <= 0 { // 0 means a choice of the method
			s.next = math.Min(1, s.x)
		}
	}
	return s
}

// toward returns the next value on the way to a bound that is never reached: the
// distance to it shrinks as it did over the last two values, rounded to two digits.
// Below an upper bound b of positive values the distance is that of the odds x/(b - x),
// so that 0.8, 0.95 is followed by 0.989 and 0.9977 where b is 1.
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

// rounded returns a number with so many digits, in a format of strconv, or all of them
// when it would not stay on its side of x.
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

// bound returns the last value from good towards bad that is accepted, and the first
// one that is not.
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

// shorter reports whether a number takes fewer digits to write than another: of two
// that are next to each other, the bound is the one that somebody has written down.
func shorter(a, b float64) bool {
	return len(strconv.FormatFloat(a, 'g', -1, 64)) < len(strconv.FormatFloat(b, 'g', -1, 64))
}
