package flows

import (
	"math"

	"fedsim/engine"
)

// exact is the unevaluated sum of two floating-point numbers, where lo is less than half
// a unit in the last place of hi: about 106 bits. Clock readings and sums of rates are
// exact. So a nanosecond and a bit still count after millions of events in a year, and
// adding and subtracting a value leaves no remainder.
type exact struct{ hi, lo float64 }

// never is the due time of a flow that makes no progress. It may only be compared.
var never = exact{hi: math.Inf(1)}

// at converts an instant to nanoseconds, and returns never beyond 146 years.
func at(instant engine.Time) exact {
	if instant >= 1<<62 {
		return never
	}
	hi := float64(instant)
	return exact{hi, float64(int64(instant) - int64(hi))}
}

// plus returns x + y to within 2^-104 (Knuth's two-sum, The Art of Computer
// Programming, section 4.2.2, theorem B).
func (e exact) plus(y float64) exact {
	hi := e.hi + y
	part := hi - e.hi
	lo := (e.hi - (hi - part)) + (y - part) + e.lo
	sum := hi + lo
	return exact{sum, lo - (sum - hi)}
}

func (e exact) add(y exact) exact { return e.plus(y.hi).plus(y.lo) }

// minus returns x - y, rounded once.
func (e exact) minus(y exact) float64 {
	d := e.plus(-y.hi).plus(-y.lo)
	return d.hi + d.lo
}

func product(n int, x float64) exact {
	hi := float64(float64(n) * x) // the conversion prevents fusing
	return exact{hi, math.FMA(float64(n), x, -hi)}
}

func (e exact) negative() exact { return exact{-e.hi, -e.lo} }

func (e exact) less(y exact) bool { return e.hi < y.hi || e.hi == y.hi && e.lo < y.lo }

// roundingNS is how many nanoseconds after an instant something may end and still count
// as over. At the relative precision of a rate, 2^-53, ten hours have an error of 4e-3
// ns. So a transfer of a whole number of nanoseconds does not get an extra one.
const roundingNS = 0x1p-8

// over returns the first whole nanosecond at which something due at x is over.
func (e exact) over() engine.Time {
	if e.hi >= 0x1p62 {
		return engine.Never
	}
	whole := math.Floor(e.hi)
	return engine.Time(whole) + engine.Time(math.Ceil((e.hi-whole)+e.lo-roundingNS))
}
