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
func at(t engine.Time) exact {
	if t >= 1<<62 {
		return never
	}
	hi := float64(t)
	return exact{hi, float64(int64(t) - int64(hi))}
}

// plus returns x + y to within 2^-104 (Knuth's two-sum, The Art of Computer
// Programming, section 4.2.2, theorem B).
func (x exact) plus(y float64) exact {
	hi := x.hi + y
	part := hi - x.hi
	lo := (x.hi - (hi - part)) + (y - part) + x.lo
	sum := hi + lo
	return exact{sum, lo - (sum - hi)}
}

func (x exact) add(y exact) exact { return x.plus(y.hi).plus(y.lo) }

// minus returns x - y, rounded once.
func (x exact) minus(y exact) float64 {
	d := x.plus(-y.hi).plus(-y.lo)
	return d.hi + d.lo
}

func product(n int, x float64) exact {
	hi := float64(float64(n) * x) // the conversion prevents fusing
	return exact{hi, math.FMA(float64(n), x, -hi)}
}

func (x exact) negative() exact { return exact{-x.hi, -x.lo} }

func (x exact) less(y exact) bool { return x.hi < y.hi || x.hi == y.hi && x.lo < y.lo }

// roundingNS is how many nanoseconds after an instant something may end and still count
// as over. At the relative precision of a rate, 2^-53, ten hours have an error of 4e-3
// ns. So a transfer of a whole number of nanoseconds does not get an extra one.
const roundingNS = 0x1p-8

// over returns the first whole nanosecond at which something due at x is over.
func (x exact) over() engine.Time {
	if x.hi >= 0x1p62 {
		return engine.Never
	}
	whole := math.Floor(x.hi)
	return engine.Time(whole) + engine.Time(math.Ceil((x.hi-whole)+x.lo-roundingNS))
}
