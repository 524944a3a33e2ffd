package selectors

import (
	"slices"
	"testing"

	"fedsim/federation"
	"fedsim/federation/servertest"
)

// candidatesOf returns what rpow-d selects when it selects all candidates.
func candidatesOf(t *testing.T, of []int32, candidates int) func(round int, available []int32) []int32 {
	t.Helper()
	r := rehearse(t, "rpow-d", nil, federation.SelectorSetup{Candidates: candidates}, rows(of))
	return func(round int, available []int32) []int32 { return r.pick(round, candidates, available) }
}

// subsets returns the probability of each set of d of the clients listed, which are drawn one
// after the other with probabilities in proportion to the rows of those that are left.
func subsets(rows []int32, d int) map[string]float64 {
	all := map[string]float64{}
	var draw func(taken []bool, left int, p float64)
	draw = func(taken []bool, left int, p float64) {
		if left == 0 {
			all[setOf(taken)] += p
			return
		}
		sum := int32(0)
		for k, n := range rows {
			if !taken[k] {
				sum += n
			}
		}
		for k, n := range rows {
			if !taken[k] {
				next := slices.Clone(taken)
				next[k] = true
				draw(next, left-1, p*float64(n)/float64(sum))
			}
		}
	}
	draw(make([]bool, len(rows)), d, 1)
	return all
}

func setOf(taken []bool) string {
	set := make([]byte, len(taken))
	for k, in := range taken {
		set[k] = '0'
		if in {
			set[k] = '1'
		}
	}
	return string(set)
}

// Candidates are drawn without replacement, with probabilities in proportion to rows
// (Cho, Wang, Joshi, section 4, step 1): the sets come as often as successive draws say.
func TestCandidatesAreDrawnByRows(t *testing.T) {
	rows := []int32{1, 2, 3, 4, 10}
	const d, rounds = 3, 20000
	drawn := map[string]int{}
	draw := candidatesOf(t, rows, d)
	for round := range rounds {
		taken := make([]bool, len(rows))
		for _, k := range draw(round, nil) {
			taken[k] = true
		}
		drawn[setOf(taken)]++
	}
	chi := 0.0
	for set, p := range subsets(rows, d) {
		gap := float64(drawn[set]) - p*rounds
		chi += gap * gap / (p * rounds)
	}
	if chi > 33.7 { // the 99.99 % quantile with 9 degrees of freedom
		t.Errorf("chi-square is %.1f: %v", chi, drawn)
	}
}

// Unavailable clients are no candidates, and all are that are available if they are not more.
func TestCandidatesAreAvailable(t *testing.T) {
	draw := candidatesOf(t, []int32{5, 5, 5, 1000, 5, 5, 5, 5}, 3)
	for round := range 50 {
		if got := draw(round, []int32{0, 2, 4, 6, 7}); len(got) != 3 ||
			slices.ContainsFunc(got, func(k int32) bool { return k == 1 || k == 3 || k == 5 }) {
			t.Fatalf("round %d: candidates %v", round, got)
		}
	}
	if got := draw(50, []int32{1, 5}); !slices.Equal(got, []int32{1, 5}) {
		t.Errorf("candidates %v of two clients", got)
	}
}

// The row of a mini-batch does not hang on the number that draws the candidate: of candidates
// that a small number draws, the first of their rows is not chosen more often.
func TestMiniBatchesAreIndependentOfCandidates(t *testing.T) {
	r := rehearse(t, "cpow-d", nil, federation.SelectorSetup{Candidates: 3}, nil)
	losses := map[float64]int{}
	for round := range 1000 {
		s := r.open(round, 3, nil)
		if stream := s.Client(0); stream.Float64() < 0.1 {
			losses[s.SampledLosses([]int32{0}, 1)[0]]++
		}
	}
	if len(losses) < servertest.Rows[0]/2 {
		t.Errorf("%d of %d rows are chosen", len(losses), servertest.Rows[0])
	}
}
