// Package certainty says which of two costs is lower, from pairs of costs that need not be known, and
// holds after every pair: look, stop and go on as you like (docs/results.md).
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
	"sort"
	"strconv"
	"sync"

	"fedsim/internal/tools/elementary"
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
func (t *Test) Dropped(n int) int { return t.table().at(n) }

// tables has the table of each confidence and number of pairs.
var tables sync.Map

// table returns that of the test.
func (t *Test) table() *table {
	key := Test{Confidence: t.Confidence, Pairs: t.Pairs}
	of, there := tables.Load(key)
	if !there {
		of, _ = tables.LoadOrStore(key, newTable(t))
	}
	return of.(*table)
}

// table has k by n, which never decreases, in exact arithmetic: k is dropped if odd[k] odd[n-k] >= least.
type table struct {
	mu    sync.Mutex
	k     []int
	odd   []*big.Int // (2i-1)!!, times the numerator of 1 - confidence for one of two factors
	least *big.Int   // n! Pairs, times the denominator of 1 - confidence
	num   *big.Int
}

func newTable(t *Test) *table {
	level, _ := new(big.Rat).SetString(strconv.FormatFloat(t.Confidence, 'g', -1, 64))
	level.Sub(big.NewRat(1, 1), level)
	least := new(big.Int).Mul(big.NewInt(int64(t.Pairs)), level.Denom())
	return &table{k: []int{-1}, odd: []*big.Int{big.NewInt(1)}, least: least, num: level.Num()}
}

func (t *table) at(n int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	for m := len(t.k); m <= n; m++ {
		t.odd = append(t.odd, new(big.Int).Mul(t.odd[m-1], big.NewInt(int64(2*m-1))))
		t.least.Mul(t.least, big.NewInt(int64(m)))
		k, product := t.k[m-1], new(big.Int)
		for 2*(k+1) < m && product.Mul(t.odd[k+1], t.odd[m-k-1]).Mul(product, t.num).Cmp(t.least) >= 0 {
			k++
		}
		t.k = append(t.k, k)
	}
	return t.k[n]
}

// after returns the first number of pairs above n of which so many are dropped.
func (t *Test) after(n, dropped int) int {
	of := t.table()
	for n++; of.at(n) < dropped; n++ {
	}
	return n
}

// Interval returns the interval of the median of pairs.
func (t *Test) Interval(pairs []Bounds) Bounds {
	k := t.Dropped(len(pairs))
	if k < 0 {
		return t.all()
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

// all returns the bounds of a number of which nothing is known.
func (t *Test) all() Bounds {
	if t.Difference {
		return Bounds{math.Inf(-1), math.Inf(1)}
	}
	return Bounds{0, math.Inf(1)}
}

// limits returns the number from which a is better by the margin, that of equals, and that up to which b is.
func (t *Test) limits() (a, even, b float64) {
	if t.Difference {
		return t.Margin, 0, -t.Margin
	}
	return 1 + t.Margin, 1, 1 / (1 + t.Margin)
}

// Decide returns what an interval, or the bounds of a pair, say.
func (t *Test) Decide(interval Bounds) Decision {
	a, even, b := t.limits()
	switch {
	case interval.Low >= b && interval.High <= a:
		return None
	case t.betterA(interval):
		return A
	case interval.High <= b && interval.High < even:
		return B
	default:
		return Open
	}
}

// betterA reports whether a is better by the margin.
func (t *Test) betterA(x Bounds) bool {
	a, even, _ := t.limits()
	return x.Low >= a && x.Low > even
}

// Votes are the numbers of pairs that support the claims that a, b or neither is better. Those that oppose a claim
// must be dropped before it is decided.
type Votes struct {
	A, B, None, Of int
	above          int // that say that a is better, by whatever margin
}

// decide returns what the interval without the k lowest and highest pairs says: see Test.Decide.
func (v Votes) decide(k int) Decision {
	switch {
	case v.Of-v.None <= k:
		return None
	case v.Of-v.A <= k:
		return A
	case v.Of-v.B <= k:
		return B
	default:
		return Open
	}
}

// Votes counts the pairs that support each claim.
func (t *Test) Votes(pairs []Bounds) Votes {
	a, even, b := t.limits()
	v, low, high := Votes{Of: len(pairs)}, 0, 0
	for _, x := range pairs {
		if t.betterA(x) {
			v.A++
		}
		if x.High <= b && x.High < even {
			v.B++
		}
		if x.Low > even {
			v.above++
		}
		if x.Low < b {
			low++
		}
		if x.High > a {
			high++
		}
	}
	v.None = len(pairs) - max(low, high)
	return v
}

// Most returns the most votes of a claim.
func (v Votes) Most() int { return max(v.A, v.B, v.None) }

// Expected returns about how many pairs decide the claim with the most votes if the later ones vote like these; 0: no
// number does.
func (t *Test) Expected(v Votes) int {
	opposed := 1 - float64(v.Most())/float64(v.Of)
	least := elementary.Log(float64(t.Pairs) / (1 - t.Confidence))
	decides := func(n float64) bool {
		k := float64(opposed * n)
		return float64(n*math.Ln2)+logGamma(k+0.5)+logGamma(n-k+0.5)-elementary.Log(math.Pi)-logGamma(n+1) >= least
	}
	if !(opposed < 0.5) || !decides(1e9) {
		return 0
	}
	return sort.Search(1e9, func(n int) bool { return decides(float64(n)) })
}

// logGamma is the logarithm of the gamma function of a positive number, by Stirling's series.
func logGamma(x float64) float64 {
	shift := 0.0
	for ; x < 10; x++ {
		shift += elementary.Log(x)
	}
	y := 1 / x
	return float64((x-0.5)*elementary.Log(x)) - x + float64(elementary.Log(2*math.Pi)/2) + y/12 - float64(y*y*y)/360 +
		float64(y*y*y*y*y)/1260 - shift
}

// Pair is what is known of two rows.
type Pair struct {
	A, B     int // rows
	Interval Bounds
	Decision Decision
	Votes    Votes
	Seeds    []Bounds // the ratio, or the difference, of each seed
	ahead    bool     // the interval says that a is better, by whatever margin
}

// Rank is the rank of a row among others, as a range that is certain.
type Rank struct {
	Low, High int  // of its rank
	Leader    bool // no other row is better by the margin or more
}

// Standing is what is known of several rows.
type Standing struct {
	Ranks   []Rank
	Pairs   []Pair // of each row with each one after it
	Settled bool   // there is a leader, or with order every pair is decided
	Next    int    // the least number of seeds after which more can be decided
}

// Compare compares rows, each with a value for the same seeds. The confidence is that of all their intervals at once;
// Pairs has no effect.
func (t Test) Compare(rows [][]Bounds, order bool) Standing {
	s := t.standing(rows, order)
	t.addIntervals(&s)
	return s
}

// addIntervals adds the intervals of the pairs.
func (t *Test) addIntervals(s *Standing) {
	t.Pairs = len(s.Pairs)
	for i := range s.Pairs {
		s.Pairs[i].Interval = t.Interval(s.Pairs[i].Seeds)
	}
}

// standing returns Compare without intervals, from the votes alone.
func (t *Test) standing(rows [][]Bounds, order bool) Standing {
	k := len(rows)
	t.Pairs = k * (k - 1) / 2
	s := Standing{Ranks: make([]Rank, k), Settled: order}
	for i := range rows {
		s.Ranks[i] = Rank{1, k, true}
	}
	n, next := len(rows[0]), make([]int, k)
	for i := range rows {
		for j := range rows {
			if i == j {
				continue
			}
			p := t.pair(i, j, rows)
			if p.ahead {
				s.Ranks[i].High--
				s.Ranks[j].Low++
			}
			s.Ranks[i].Leader = s.Ranks[i].Leader && (p.Decision == A || p.Decision == None)
			next[i] = max(next[i], t.after(n, n-max(p.Votes.A, p.Votes.None)))
			if i > j {
				continue
			}
			if s.Pairs = append(s.Pairs, p); order {
				s.Settled = s.Settled && p.Decision != Open
				s.Next = max(s.Next, t.after(n, n-p.Votes.Most()))
			}
		}
	}
	if !order {
		s.Settled = slices.ContainsFunc(s.Ranks, func(r Rank) bool { return r.Leader })
		s.Next = slices.Min(next)
	}
	return s
}

// pair compares two rows.
func (t *Test) pair(a, b int, rows [][]Bounds) Pair {
	p := Pair{A: a, B: b, Seeds: make([]Bounds, len(rows[a]))}
	for i := range p.Seeds {
		p.Seeds[i] = t.Of(rows[a][i], rows[b][i])
	}
	p.Votes = t.Votes(p.Seeds)
	k := t.Dropped(len(p.Seeds))
	p.Decision, p.ahead = p.Votes.decide(k), p.Votes.Of-p.Votes.above <= k
	return p
}

// Reason says why a comparison takes no more seeds.
type Reason string

const (
	Decided  Reason = "decided"
	MaxSeeds Reason = "max_seeds" // no more are allowed
	Ended    Reason = "ended"     // three quarters of the last batch ended too early to support any claim
)

// Outcome is where a comparison stands after the seeds that it took.
type Outcome struct {
	Standing
	Taken  int    // seeds
	Reason Reason // empty: it needs more than there are
	Needs  int    // seeds
}

// Settle compares rows after each batch of the seeds that they have, in their order, until it is settled. A batch ends
// where a decision can be, so that no seed is in vain, and at most seeds.
func (t Test) Settle(rows [][]Bounds, most int, order bool) Outcome {
	take := func(n int) Outcome {
		cut := make([][]Bounds, len(rows))
		for i := range rows {
			cut[i] = rows[i][:n]
		}
		s := t.standing(cut, order)
		return Outcome{Standing: s, Taken: n, Needs: min(s.Next, most)}
	}
	for o, before := take(0), 0; ; {
		switch {
		case o.Settled:
			o.Reason = Decided
		case o.Taken >= most:
			o.Reason = MaxSeeds
		case o.Taken > 0 && t.hopeless(&o.Standing, before):
			o.Reason = Ended
		case o.Needs <= len(rows[0]):
			before, o = o.Taken, take(o.Needs)
			continue
		}
		if o.Reason != "" {
			o.Needs = o.Taken
		}
		t.addIntervals(&o.Standing)
		return o
	}
}

// hopeless reports whether more seeds cannot help: each row has another that it cannot beat in three quarters of the
// last batch, and in those of some pair nothing is known, since runs ended.
func (t *Test) hopeless(s *Standing, from int) bool {
	blocked, unknown := make([]bool, len(s.Ranks)), false
	for _, p := range s.Pairs {
		a, b, open := 0, 0, 0 // seeds in which the row cannot be said to be the better one
		batch := p.Seeds[from:]
		for _, x := range batch {
			d := t.Decide(x)
			censored := d == Open && !x.Known()
			if censored {
				open++
			}
			if censored || d == B {
				a++
			}
			if censored || d == A {
				b++
			}
		}
		most := func(n int) bool { return 4*n >= 3*len(batch) }
		blocked[p.A], blocked[p.B] = blocked[p.A] || most(a), blocked[p.B] || most(b)
		unknown = unknown || most(open)
	}
	return unknown && !slices.Contains(blocked, false)
}
