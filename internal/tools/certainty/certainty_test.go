package certainty

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"testing"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

var (
	inf    = math.Inf(1)
	median = Test{Margin: 0.05, Confidence: 0.95, Pairs: 1}
)

func known(x float64) Bounds { return Bounds{x, x} }
func ended(x float64) Bounds { return Bounds{x, inf} }

var never = Bounds{inf, inf}

// The first numbers of pairs at which one more is dropped, by hand: 13!! / 7! = 26.8 is the first of
// (2n-1)!! / n! above 20, and 1 * 21!! / 12! = 28.7 the first with k = 1.
func TestDropped(t *testing.T) {
	k := -1
	var at []int
	for n := range 23 {
		if now := median.Dropped(n); now != k {
			k, at = now, append(at, n)
		}
	}
	expect.That(t, slices.Equal(at, []int{7, 12, 16, 19, 22}) && k == 4, "k grows at %d, to %d", at, k)
}

// Dropped is exactly that of its definition in fractions, for several pairs and any confidence.
func TestDroppedAsDefined(t *testing.T) {
	for _, pairs := range []int{1, 3, 66} {
		for _, confidence := range []string{"0.5", "0.6", "0.9", "0.95", "0.999"} {
			x := Test{Pairs: pairs}
			x.Confidence, _ = strconv.ParseFloat(confidence, 64)
			limit, _ := new(big.Rat).SetString(confidence)
			limit.Sub(big.NewRat(1, 1), limit)
			limit.Quo(big.NewRat(int64(pairs), 1), limit)
			for n := 0; n < 45; n++ {
				want := -1
				for k := 0; 2*k < n; k++ {
					capital := big.NewRat(1, 1)
					for i := 1; i <= n; i++ {
						capital.Mul(capital, big.NewRat(1, int64(i)))
						if i <= k {
							capital.Mul(capital, big.NewRat(int64(2*i-1), 1))
						}
						if i <= n-k {
							capital.Mul(capital, big.NewRat(int64(2*i-1), 1))
						}
					}
					if capital.Cmp(limit) >= 0 {
						want = max(want, k)
					}
				}
				if got := x.Dropped(n); got != want {
					t.Fatalf("%d pairs of rows, %s, n = %d: k = %d, want %d", pairs, confidence, n, got, want)
				}
			}
		}
	}
}

// A row of the table of bounds for each combination of what is known of two costs.
func TestBoundsOfAPair(t *testing.T) {
	for _, c := range []struct{ a, b, want Bounds }{
		{known(2), known(3), known(1.5)}, {known(2), ended(3), ended(1.5)}, {known(2), never, never},
		{ended(2), known(3), Bounds{0, 1.5}}, {ended(2), ended(3), ended(0)}, {ended(2), never, ended(0)},
		{never, known(3), known(0)}, {never, ended(3), ended(0)}, {never, never, ended(0)},
		{known(0), known(0), known(1)}, {known(0), known(3), never}, {known(3), known(0), known(0)},
		{known(0), ended(0), never}, {ended(0), known(0), known(0)}, {ended(0), known(3), ended(0)},
		{known(0), never, never}, {never, known(0), known(0)},
	} {
		got := median.Of(c.a, c.b)
		expect.That(t, got == c.want, "%v, %v: %v, want %v", c.a, c.b, got, c.want)
	}
	difference := Test{Difference: true}
	if got := difference.Of(known(2), known(3)); got != known(1) {
		t.Errorf("a difference of %v", got)
	}
	if got, all := difference.Of(Bounds{-inf, inf}, known(3)), (Bounds{-inf, inf}); got != all {
		t.Errorf("an unknown difference of %v", got)
	}
}

// Seven seeds settle a pair if all agree; a run that ended on the way supports no claim.
func TestDecide(t *testing.T) {
	pairs := make([]Bounds, 7)
	for i := range pairs {
		pairs[i] = known(1.125 + 0.125*float64(i))
	}
	decide := func(pairs []Bounds) Decision { return median.Decide(median.Interval(pairs)) }
	if got := median.Interval(pairs); got != (Bounds{1.125, 1.875}) || decide(pairs) != A {
		t.Errorf("%v, %s", got, decide(pairs))
	}
	if got := median.Interval(pairs[:6]); got != ended(0) || decide(pairs[:6]) != Open {
		t.Errorf("of six: %v, %s", got, decide(pairs[:6]))
	}
	pairs[3] = ended(1.2) // b ended
	if got := decide(pairs); got != A {
		t.Errorf("with a run of b that ended above: %s", got)
	}
	pairs[3] = Bounds{0, 1.2} // a ended
	if got := decide(pairs); got != Open {
		t.Errorf("with a run of a that ended: %s", got)
	}
	for _, c := range []struct {
		interval Bounds
		want     Decision
	}{{Bounds{0.96, 1.04}, None}, {Bounds{0.5, 0.9}, B}, {Bounds{0.9, 1.04}, Open}, {Bounds{1.01, 1.2}, Open},
		{never, A}, {known(0), B}} {
		got := median.Decide(c.interval)
		expect.That(t, got == c.want, "%v: %s, want %s", c.interval, got, c.want)
	}
}

// Rows with the same costs in every pair are not ahead of each other, and both lead.
func TestTies(t *testing.T) {
	same := []Bounds{known(1), known(2), known(3), known(4), known(5), known(6), known(7)}
	want := []Rank{{1, 2, true}, {1, 2, true}}
	got := (Test{Margin: 0, Confidence: 0.95}).Compare([][]Bounds{same, same}, false).Ranks
	expect.That(t, slices.Equal(got, want), "%v, want %v", got, want)
}

// state returns the bounds of a cost in the tables of the oracle.
func state(t *testing.T, value, state string) Bounds {
	switch state {
	case "reached":
		return known(filetest.Number(t, value))
	case "ended":
		return ended(filetest.Number(t, value))
	default:
		return never
	}
}

// All rows of an independent implementation in fractions agree: 50 cases, after each of their seeds.
func TestOracle(t *testing.T) {
	var pairs []Bounds
	for _, r := range filetest.Rows(t, filetest.Real(t, "../reference/settle.csv"))[1:] {
		if r[5] == "1" {
			pairs = nil
		}
		x := Test{Difference: r[1] == "difference", Margin: filetest.Number(t, r[2]),
			Confidence: filetest.Number(t, r[3]), Pairs: int(filetest.Number(t, r[4]))}
		pairs = append(pairs, x.Of(state(t, r[6], r[7]), state(t, r[8], r[9])))
		last, interval := pairs[len(pairs)-1], x.Interval(pairs)
		got := []string{digits(last.Low), digits(last.High), strconv.Itoa(x.Dropped(len(pairs))), digits(interval.Low),
			digits(interval.High), string(x.Decide(interval)),
			string(x.Votes(pairs).decide(x.Dropped(len(pairs)))),
			strconv.Itoa(x.after(len(pairs), len(pairs)-x.Votes(pairs).Most()))}
		want := slices.Insert(slices.Clone(r[10:17]), 5, r[15])
		expect.Must(t, slices.Equal(got, want), "case %s after %s seeds: %q, want %q", r[0], r[5], got, want)
	}
}

// digits formats a number as the oracle does.
func digits(x float64) string {
	if math.IsInf(x, 1) {
		return "inf"
	}
	if math.IsInf(x, -1) {
		return "-inf"
	}
	return strconv.FormatFloat(x, 'g', 12, 64)
}

// The ranks of several rows agree with those of the oracle, after each of their seeds.
func TestOracleOfRows(t *testing.T) {
	rows := filetest.Rows(t, filetest.Real(t, "../reference/settle_methods.csv"))[1:]
	var costs [][]Bounds
	for at := 0; at < len(rows); {
		n := at
		for n < len(rows) && rows[n][0] == rows[at][0] && rows[n][3] == rows[at][3] {
			n++
		}
		group := rows[at:n]
		at = n
		if group[0][3] == "1" {
			costs = make([][]Bounds, len(group))
		}
		for i, r := range group {
			costs[i] = append(costs[i], state(t, r[5], r[6]))
		}
		x := Test{Margin: filetest.Number(t, group[0][1]), Confidence: filetest.Number(t, group[0][2])}
		standing := x.Compare(costs, false)
		ranks := standing.Ranks
		for i, r := range group {
			bit := map[bool]string{false: "0", true: "1"}
			got := []string{strconv.Itoa(ranks[i].Low), strconv.Itoa(ranks[i].High),
				bit[ranks[i].Leader], bit[standing.Settled],
				strconv.Itoa(standing.Next)}
			expect.Must(t, slices.Equal(got, r[7:12]),
				"case %s after %s seeds, %s: %q, want %q", r[0], r[3], r[4], got, r[7:12])
		}
	}
}
