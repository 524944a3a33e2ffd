package certainty

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// An A/A race of two rows without a difference, of up to 200 seeds, is falsely certain in at most 5 % of races,
// whatever the differences: the exact share of a fair coin is 3.3 %. A t-test after each seed is wrong in 42 % of
// normal races.
func TestRacesWithoutADifference(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	sign := func() float64 { return float64(1 - 2*random.IntN(2)) }
	differences := map[string]func() float64{
		"normal":       random.NormFloat64,
		"log-normal":   func() float64 { return math.Exp(random.NormFloat64()) - 1 },
		"exponential":  func() float64 { return random.ExpFloat64() - math.Ln2 },
		"3 degrees":    distuv.StudentsT{Sigma: 1, Nu: 3, Src: rand.NewPCG(3, 4)}.Rand,
		"one in 20":    func() float64 { return random.NormFloat64() + 50*float64(random.IntN(20)/19) },
		"equal values": func() float64 { return sign() * float64(random.IntN(2)) },
	}
	race(t, differences)
}

// Nor are races of fedsim's own differences, the names of the rows swapped at random.
func TestRacesOfMeasuredTimes(t *testing.T) {
	t.Parallel()
	differences := map[string]func() float64{}
	measured, random := map[string][]float64{}, rand.New(rand.NewPCG(7, 8))
	for _, r := range filetest.Rows(t, filetest.Real(t, "../reference/settle_empirical.csv"))[1:] {
		measured[r[0]] = append(measured[r[0]], math.Log(filetest.Number(t, r[3])/filetest.Number(t, r[2])))
	}
	for name, of := range measured {
		differences[name] = func() float64 { return float64(1-2*random.IntN(2)) * of[random.IntN(len(of))] }
	}
	race(t, differences)
}

// race requires at most 5 % of the races with each difference to be falsely certain.
func race(t *testing.T, differences map[string]func() float64) {
	const races, seeds = 2000, 200
	var critical [seeds + 1]float64
	for n := 3; n <= seeds; n++ {
		critical[n] = distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975)
	}
	for name, draw := range differences {
		falsely, tests := 0, 0
		for range races {
			race := [][]Bounds{make([]Bounds, seeds), make([]Bounds, seeds)}
			sum, squares, wrong := 0.0, 0.0, false
			for i := range seeds {
				d := draw()
				race[0][i], race[1][i] = known(1), known(math.Exp(d))
				sum, squares = sum+d, squares+d*d
				n := float64(i + 1)
				wrong = wrong || i >= 2 && math.Abs(sum)/math.Sqrt(n*(squares-sum*sum/n)/(n-1)) > critical[i+1]
			}
			if x := (Test{Confidence: 0.95}).Settle(race, seeds, false); x.Settled && x.Pairs[0].Decision != None {
				falsely++
			}
			if wrong {
				tests++
			}
		}
		expect.That(t, falsely <= races/20, "%s: %d of %d races are falsely certain", name, falsely, races)
		expect.That(t, name != "normal" || math.Abs(float64(tests)/races-0.42) < 0.03,
			"t-tests are wrong in %d of %d normal races", tests, races)
	}
}

// Batches end exactly where an oracle that looks after each seed decides, and no earlier seed can decide.
func TestBatchesWasteNoSeed(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	for race := range 200 {
		shift, rows := 0.1*random.NormFloat64(), make([][]Bounds, 2+race%3)
		for range 120 {
			for i := range rows {
				x := math.Exp(0.05*random.NormFloat64() + shift*float64(i))
				if c := known(x); random.IntN(10) == 0 {
					rows[i] = append(rows[i], ended(x))
				} else {
					rows[i] = append(rows[i], c)
				}
			}
		}
		test, order := Test{Margin: 0.05, Confidence: 0.95}, race%2 == 1
		got := test.Settle(rows, 120, order)
		first := 120
		for n := 1; n <= 120; n++ {
			cut := make([][]Bounds, len(rows))
			for i := range rows {
				cut[i] = rows[i][:n]
			}
			if test.Compare(cut, order).Settled {
				first = n
				break
			}
		}
		expect.Must(t, got.Taken == first && got.Settled == (got.Reason == Decided),
			"race %d settles after %d seeds (%s), want %d", race, got.Taken, got.Reason, first)
		for have := 0; have < got.Taken; have += 13 { // as after an interruption
			cut := make([][]Bounds, len(rows))
			for i := range rows {
				cut[i] = rows[i][:have]
			}
			part := test.Settle(cut, 120, order)
			expect.Must(t, part.Reason == "" && part.Needs > have && part.Needs <= got.Taken,
				"race %d with %d of %d seeds: %s, needs %d", race, have, got.Taken, part.Reason, part.Needs)
		}
	}
}

// A batch in which most runs end before they say anything ends the comparison.
func TestEnded(t *testing.T) {
	a, b := slices.Repeat([]Bounds{known(2)}, 7), slices.Repeat([]Bounds{ended(1)}, 7)
	test := Test{Margin: 0.05, Confidence: 0.95}
	if got := test.Settle([][]Bounds{a, b}, 100, false); got.Reason != Ended || got.Taken != 7 {
		t.Errorf("%+v", got)
	}
	b[0], b[1] = known(3), known(3)
	if got := test.Settle([][]Bounds{a, b}, 100, false); got.Reason != "" || got.Needs <= 7 {
		t.Errorf("with two of seven: %+v", got)
	}
	c := slices.Repeat([]Bounds{known(9)}, 7) // cannot be the first
	if got := test.Settle([][]Bounds{a, slices.Repeat([]Bounds{ended(1)}, 9), c}, 100, false); got.Reason != "" {
		t.Errorf("of three rows, before nine seeds: %+v", got)
	}
	nine := func(x Bounds) []Bounds { return slices.Repeat([]Bounds{x}, 9) }
	got := test.Settle([][]Bounds{nine(known(2)), nine(ended(1)), nine(known(9))}, 100, false)
	expect.That(t, got.Reason == Ended, "of three rows: %+v", got)
}

// The seeds that a comparison would need: 45 of 100 that oppose give about 1,400, half give none.
func TestExpected(t *testing.T) {
	for votes, want := range map[Votes]string{{A: 55, B: 30, Of: 100}: "1400", {A: 50, Of: 100}: "0",
		{A: 7, Of: 7}: "7"} {
		n := median.Expected(votes)
		got := strconv.Itoa(n)
		if n > 100 {
			got = strconv.Itoa(int(math.Round(float64(n)/100)) * 100)
		}
		expect.That(t, got == want, "%+v: %d seeds, want %s", votes, n, want)
	}
}
