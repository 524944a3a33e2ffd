// Package certainty says which of two costs is lower, from pairs of costs that need not be known, and
// holds after every pair: look, stop and go on as you like (docs/reading.md).
//
// Each pair gives the ratio of its costs. Ratios fall above the true median like a fair coin falls
// heads. The interval of the median drops the k lowest and the k highest of n ratios, so that a gambler
// who bets on the coin in proportion to counts + 1/2 (Krichevsky and Trofimov, IEEE Transactions on
// Information Theory 27, 1981) has never had 1 / (1 - confidence) times the stake while the median is in
// it. A fair coin ever gives that with at most probability 1 - confidence (Ville, Étude critique de la
// notion de collectif, 1939). Pairs must be independent; nothing else is assumed of the costs.
//
// The package must not know what costs are.
package certainty

import (
	"math"
	"math/big"
	"slices"
	"strconv"
)

// Bounds are the least and the greatest value that a number can have.
type Bounds struct{ Low, High float64 }

// Known reports whether the number is known.
func (b Bounds) Known() bool { return b.Low == b.High && !math.IsInf(b.Low, 0) }

// Test compares pairs of costs, or of other values of which the lower is the better one.
type Test struct {
	Difference bool    // compares b - a; otherwise b / a
	Margin     float64 // less than this is no difference: 0.05 is 5 % of a ratio, or 0.05 in the unit of a difference
	Confidence float64 // below 1
	Pairs      int     // of rows that are compared; all their intervals hold at once (Bonferroni)
}

// Of returns the bounds of the ratio, or of the difference, of a pair.
func (t *Test) Of(a, b Bounds) Bounds {
	if t.Difference {
		return Bounds{b.Low - a.High, b.High - a.Low}
	}
	if a == b && a == (Bounds{}) {
		return Bounds{1, 1}
	}
	of := Bounds{b.Low / a.High, b.High / a.Low}
	// Of two infinite costs nothing is known. A known cost of 0 is below every other.
	if math.IsNaN(of.Low) {
		of.Low = 0
		if a.High == 0 {
			of.Low = math.Inf(1)
		}
	}
	if math.IsNaN(of.High) {
		of.High = math.Inf(1)
		if b.High == 0 {
			of.High = 0
		}
	}
	return of
}

// Dropped returns how many of n pairs the interval drops at either end: the largest k below n/2 with
// (2k-1)!! (2(n-k)-1)!! / n! >= Pairs / (1 - Confidence); -1 without one.
func (t *Test) Dropped(n int) int {
	level, _ := new(big.Rat).SetString(strconv.FormatFloat(t.Confidence, 'g', -1, 64))
	level.Sub(big.NewRat(1, 1), level)
	least := new(big.Int).MulRange(1, int64(n)) // n! Pairs / level, without the numerator of level
	least.Mul(least, big.NewInt(int64(t.Pairs))).Mul(least, level.Denom())
	odd := make([]*big.Int, n+1) // (2i-1)!!
	odd[0] = new(big.Int).Set(level.Num())
	for i := 1; i <= n; i++ {
		odd[i] = new(big.Int).Mul(odd[i-1], big.NewInt(int64(2*i-1)))
	}
	least.Mul(least, level.Num()) // each of the two factors has one
	k := -1
	for 2*(k+1) < n && new(big.Int).Mul(odd[k+1], odd[n-k-1]).Cmp(least) >= 0 {
		k++
	}
	return k
}

// Interval returns the interval of the median of pairs.
func (t *Test) Interval(pairs []Bounds) Bounds {
	k := t.Dropped(len(pairs))
	if k < 0 {
		if t.Difference {
			return Bounds{math.Inf(-1), math.Inf(1)}
		}
		return Bounds{0, math.Inf(1)}
	}
	lows, highs := make([]float64, len(pairs)), make([]float64, len(pairs))
	for i, p := range pairs {
		lows[i], highs[i] = p.Low, p.High
	}
	slices.Sort(lows)
	slices.Sort(highs)
	return Bounds{lows[k], highs[len(highs)-1-k]}
}

// Decision is what an interval says about a and b.
type Decision string

const (
	Open Decision = "open" // not yet known
	None Decision = "none" // they differ by less than the margin
	A    Decision = "a"    // a is better, by the margin or more
	B    Decision = "b"    // b is
)

// Decide returns what an interval says.
func (t *Test) Decide(interval Bounds) Decision {
	a, even, b := 1+t.Margin, 1.0, 1/(1+t.Margin)
	if t.Difference {
		a, even, b = t.Margin, 0, -t.Margin
	}
	switch {
	case interval.Low >= b && interval.High <= a:
		return None
	case interval.Low >= a && interval.Low > even:
		return A
	case interval.High <= b && interval.High < even:
		return B
	default:
		return Open
	}
}

// Rank is what is certain about a row among others.
type Rank struct {
	Low, High int  // of its rank
	Leader    bool // no other row is better by the margin or more
}

// Ranks compares rows of costs by ratios, each row with a cost for the same pairs. The confidence is that of all
// their intervals at once; Pairs has no effect.
func (t Test) Ranks(rows [][]Bounds) []Rank {
	t.Pairs = len(rows) * (len(rows) - 1) / 2
	ranks := make([]Rank, len(rows))
	for i := range rows {
		ranks[i] = Rank{1, len(rows), true}
	}
	for i, a := range rows {
		for j, b := range rows {
			if i == j {
				continue
			}
			pairs := make([]Bounds, len(a))
			for k := range a {
				pairs[k] = t.Of(a[k], b[k])
			}
			interval := t.Interval(pairs)
			if interval.Low > 1 {
				ranks[i].High--
				ranks[j].Low++
			}
			decision := t.Decide(interval)
			ranks[i].Leader = ranks[i].Leader && (decision == A || decision == None)
		}
	}
	return ranks
}
