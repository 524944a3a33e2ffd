package data

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
)

// numbered returns a set of the given task sizes in which row i of task t has
// the features t, i and the label +1 for even i.
func numbered(sizes ...int) *Set {
	set := &Set{Name: "numbered", Features: 2, FeatureNames: []string{"client", "row"}}
	for t, n := range sizes {
		task := Client{Name: fmt.Sprint(t), X: NewMatrix(n, 2), Y: make([]float64, n)}
		for i := range n {
			copy(task.X.Row(i), []float64{float64(t), float64(i)})
			task.Y[i] = float64(1 - 2*(i%2))
		}
		set.Clients = append(set.Clients, task)
	}
	return set
}

// gathered makes the rows of a set or a split their own.
func gathered[S interface{ gather() }](s S, err error) (S, error) {
	if err == nil {
		s.gather()
	}
	return s, err
}

// rowsOf returns the row numbers of a task of a numbered set, after checking its labels.
func rowsOf(t *testing.T, task *Client) []int {
	t.Helper()
	rows := []int{}
	for i := range task.X.Rows {
		row := int(task.X.Row(i)[1])
		expect.Must(t, task.Y[i] == float64(1-2*(row%2)), "task %s: row %d lost its label", task.Name, row)
		rows = append(rows, row)
	}
	return rows
}

// requirePartition checks that both halves together have each row once, in order.
func requirePartition(t *testing.T, whole *Set, split *Split) {
	t.Helper()
	checkShape(t, split.Train)
	checkShape(t, split.Test)
	for k := range whole.Clients {
		train, test := rowsOf(t, &split.Train.Clients[k]), rowsOf(t, &split.Test.Clients[k])
		expect.That(t, slices.IsSorted(train) && slices.IsSorted(test), "task %d: rows out of order", k)
		both := slices.Concat(train, test)
		slices.Sort(both)
		for i, row := range both {
			expect.Must(t, i == row, "task %d: rows %v are not a partition", k, both)
		}
		expect.Must(t, len(both) == whole.Clients[k].X.Rows,
			"task %d: %d of %d rows", k, len(both), whole.Clients[k].X.Rows)
	}
}

func TestSplitSizes(t *testing.T) {
	for _, c := range []struct {
		rows     int
		fraction float64
		train    int
	}{
		{281, 0.25, 210}, // the paper's smallest and largest task: Table 2 from
		{409, 0.25, 306}, // UCI's subjects 8 and 25
		{1, 0.25, 1},
		{2, 0.25, 1},
		{4, 0.25, 3},
		{3, 0.99, 1},
		{10, 0.9, 1},
		{10, 0.1, 9},
		{100, 0.3, 70},
		{7, 0, 7},
	} {
		set := numbered(c.rows)
		split := expect.Value(gathered(splitSet(set, c.fraction, 1)))(t)
		if got := split.Train.Rows(); got != c.train {
			t.Errorf("%d rows, test fraction %v: %d to train on, want %d", c.rows, c.fraction, got, c.train)
		}
		requirePartition(t, set, split)
	}
}

func TestSplitDependsOnSeedAndTaskAlone(t *testing.T) {
	set := numbered(40, 40, 40)
	first, _ := gathered(splitSet(set, 0.25, 1))
	again, _ := gathered(splitSet(set, 0.25, 1))
	if diff := cmp.Diff(first, again, cmpopts.IgnoreUnexported(Set{}, Client{})); diff != "" {
		t.Error("the same seed splits differently:\n" + diff)
	}
	other, _ := gathered(splitSet(set, 0.25, 2))
	expect.That(t, !cmp.Equal(rowsOf(t, &first.Test.Clients[0]), rowsOf(t, &other.Test.Clients[0])),
		"another seed holds out the same rows")
	expect.That(t, !cmp.Equal(rowsOf(t, &first.Test.Clients[0]), rowsOf(t, &first.Test.Clients[1])),
		"two tasks hold out the same rows")
	fewer, _ := gathered(splitSet(numbered(40, 40), 0.25, 1))
	if diff := cmp.Diff(first.Test.Clients[:2], fewer.Test.Clients, cmpopts.IgnoreUnexported(Client{})); diff != "" {
		t.Error("a further task changes the split of the others:\n" + diff)
	}
	first.Train.Clients[0].X.Data[0] = 1e9
	expect.That(t, set.Clients[0].X.Data[0] != 1e9 && !slices.Contains(set.Clients[0].X.Data, 1e9),
		"the split shares values with the set")
}

func TestSplitErrors(t *testing.T) {
	for _, fraction := range []float64{-0.1, 1, 2, math.NaN()} {
		_, err := gathered(splitSet(numbered(4), fraction, 1))
		expect.That(t, err != nil, "test fraction %v: no error", fraction)
	}
	_, err := gathered(splitSet(numbered(4, 0), 0.25, 1))
	if want :=
		`split of numbered: client "1": the client has no rows: must have at least one for training`; err == nil ||
		err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := Fold(numbered(4), 1, 0, 1); err == nil {
		t.Error("one fold: no error")
	}
	if _, err := Fold(numbered(4), 5, 5, 1); err == nil {
		t.Error("fold 5 of 5: no error")
	}
}

// Every row of a task with more than one row is tested on in exactly one fold.
func TestFolds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 30), 1, 5).Draw(r, "sizes")
		folds := rapid.IntRange(2, 7).Draw(r, "folds")
		set := numbered(sizes...)
		tested := make([]map[int]int, len(sizes))
		for f := range folds {
			split := expect.Value(Fold(set, folds, f, 3))(t)
			requirePartition(t, set, split)
			for k := range sizes {
				expect.Must(t, split.Train.Clients[k].X.Rows != 0, "task %d has nothing to train on", k)
				for _, row := range rowsOf(t, &split.Test.Clients[k]) {
					if tested[k] == nil {
						tested[k] = map[int]int{}
					}
					tested[k][row]++
				}
			}
		}
		for k, n := range sizes {
			if n == 1 {
				n = 0
			}
			expect.Must(t, len(tested[k]) == n, "task %d: %d of %d rows tested on", k, len(tested[k]), n)
			for row, times := range tested[k] {
				expect.Must(t, times == 1, "task %d row %d tested on %d times", k, row, times)
			}
		}
	})
}

// The paper's Table 3: training sizes from 3 to 306 with a standard deviation
// of 84.41 for the skewed human activity set. The uniform rule is ours; its
// deviation comes within a third of the table's.
func TestSkewMatchesTable3(t *testing.T) {
	racetest.Skip(t, "compares moments of many rows; shorter tests generate in parallel")
	cfg := Defaults()
	cfg.Preset, cfg.Skew = "human-activity", 3
	cfg.Synthetic.Features = 8 // sizes do not depend on it
	for seed := uint64(1); seed <= 5; seed++ {
		cfg.Seed = seed
		split := prepared(t, cfg)
		d := Describe(split.Train)
		expect.That(t, d.RowsMin == 3 && d.RowsMax == 306,
			"seed %d: sizes %d to %d, want 3 to 306", seed, d.RowsMin, d.RowsMax)
		expect.That(t, math.Abs(d.RowsDeviation-84.41) <= 84.41/3,
			"seed %d: standard deviation %.2f, want about 84.41", seed, d.RowsDeviation)
		test := Describe(split.Test)
		expect.That(t, test.RowsMin >= 70, "seed %d: skew took test rows: smallest task %d", seed, test.RowsMin)
	}
}

func TestSkew(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 300), 1, 20).Draw(r, "sizes")
		smallest := rapid.IntRange(1, 20).Draw(r, "smallest")
		seed := rapid.Uint64().Draw(r, "seed")
		set := numbered(sizes...)
		skewed, err := gathered(skew(set, smallest, seed))
		if largest := slices.Max(sizes); largest <= smallest {
			expect.Must(r, err != nil, "no error although no task is larger than the smallest size")
			return
		} else if err != nil {
			r.Fatal(err)
		}
		largest, forced := slices.Index(sizes, slices.Max(sizes)), false
		for k, n := range sizes {
			rows := rowsOf(t, &skewed.Clients[k])
			expect.Must(r, k != largest || len(rows) == n, "the largest task has %d of %d rows", len(rows), n)
			expect.Must(r, len(rows) <= n && len(rows) >= min(n, smallest),
				"task %d has %d of %d rows", k, len(rows), n)
			expect.Must(r, slices.IsSorted(rows) && len(slices.Compact(rows)) == len(rows), "task %d: rows %v", k, rows)
			forced = forced || len(rows) == min(smallest, n)
		}
		expect.Must(r, len(sizes) <= 1 || forced, "no task was brought down to %d rows", smallest)
	})
	if _, err := gathered(skew(numbered(5, 9), 0, 1)); err == nil {
		t.Error("smallest size 0: no error")
	}
}

func TestScaling(t *testing.T) {
	train := numbered(1, 3)
	test := numbered(2)
	train.Features, test.Features = 2, 2
	s := FitScaling(train)
	// tasks 0 1 1 1: mean 3/4, variance 3/16; rows 0 0 1 2: mean 3/4, variance 11/16.
	want := Scaling{Mean: []float64{0.75, 0.75}, Deviation: []float64{math.Sqrt(3) / 4, math.Sqrt(11) / 4}}
	diff := cmp.Diff(want, s, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-15 }))
	expect.That(t, diff == "", "%v", diff)
	_ = new(Config).transform(train, &s)
	_ = new(Config).transform(test, &s)
	again := FitScaling(train)
	for j := range again.Mean {
		expect.That(t, math.Abs(again.Mean[j]) <= 1e-15 && math.Abs(again.Deviation[j]-1) <= 1e-15,
			"feature %d: mean %v, deviation %v after scaling", j, again.Mean[j], again.Deviation[j])
	}
	if got, want := test.Clients[0].X.Row(1)[1], (1-0.75)/(math.Sqrt(11)/4); got != want {
		t.Errorf("test value %v, want %v by the training rows' figures", got, want)
	}
}

func TestScalingOfConstantAndTinyFeatures(t *testing.T) {
	set := &Set{Features: 2, Clients: []Client{{X: NewMatrix(3, 2), Y: make([]float64, 3)}}}
	for i := range 3 {
		copy(set.Clients[0].X.Row(i), []float64{0.1, float64(i) * 1e-200})
	}
	_ = new(Config).transform(set, new(FitScaling(set)))
	set.eachRow(func(x []float64) {
		expect.That(t, x[0] == 0, "a constant feature becomes %v, want 0", x[0])
		expect.That(t, !math.IsNaN(x[1]) && !math.IsInf(x[1], 0), "a tiny feature becomes %v", x[1])
	})
	checkShape(t, set)
}

func TestScalingUsesTrainingRowsAlone(t *testing.T) {
	cfg := Defaults()
	cfg.Standardize = true
	split := prepared(t, cfg)
	train, test := FitScaling(split.Train), FitScaling(split.Test)
	off := 0.0
	for j := range train.Mean {
		expect.That(t, math.Abs(train.Mean[j]) <= 1e-12 && math.Abs(train.Deviation[j]-1) <= 1e-12,
			"feature %d: mean %v, deviation %v of the training rows", j, train.Mean[j], train.Deviation[j])
		off = max(off, math.Abs(test.Mean[j]))
	}
	expect.That(t, off >= 1e-6, "the test rows were scaled by their own mean")
}

func TestBias(t *testing.T) {
	for _, d := range []int{7, 8} { // with and without room in the padding
		cfg := Defaults()
		cfg.Synthetic.Features, cfg.Standardize, cfg.Bias = d, true, true
		split := prepared(t, cfg)
		for _, set := range []*Set{split.Train, split.Test} {
			checkShape(t, set)
			expect.That(t, set.Features == d+1, "%d features, want %d", set.Features, d+1)
			set.eachRow(func(x []float64) {
				expect.Must(t, x[d] == 1, "the bias is %v", x[d])
			})
		}
	}
	set := numbered(3)
	_ = (&Config{Bias: true}).transform(set, nil)
	_ = (&Config{Bias: true}).transform(set, nil)
	if diff := cmp.Diff([]string{"client", "row", "bias", "bias#2"}, set.FeatureNames); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]float64{0, 2, 1, 1}, set.Clients[0].X.Row(2)); diff != "" {
		t.Error(diff)
	}
}

func TestPrepareReportsBadConfiguration(t *testing.T) {
	cfg := Defaults()
	cfg.TestFraction = 1.5
	_, err := Prepare(cfg)
	want := "load data: test_fraction = 1.5: must be in [0, 1)"
	expect.That(t, err != nil && err.Error() == want, "error %v, want %s", err, want)
	cfg = Defaults()
	cfg.Skew = 1000
	if _, err = Prepare(cfg); err == nil {
		t.Error("skew to more rows than there are: no error")
	}
	cfg = Defaults()
	cfg.Source, cfg.Path = SourceCSV, "no such file.csv"
	var parse *ParseError
	if _, err = Prepare(cfg); err == nil || errors.As(err, &parse) {
		t.Errorf("a missing file gives %v", err)
	}
}

// A client needs training rows besides the test rows of its source.
func TestTestRowsAlone(t *testing.T) {
	if _, err := splitHeld(&Set{Clients: []Client{{X: NewMatrix(2, 1), Y: []float64{1, 2}, Held: 2}}}); !errors.Is(err,
		errNoRows) {
		t.Errorf("a task with test rows only: %v", err)
	}
}
