package data

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
)

// widen replaces the rows of a set in single precision by equal ones in double.
func widen(t testing.TB, set *Set) {
	t.Helper()
	for k := range set.Clients {
		task := &set.Clients[k]
		expect.Must(t, task.X.Single != nil && task.X.Data == nil, "rows are not held in single precision")
		wide := NewMatrix(task.X.Rows, task.X.Cols)
		for i := range task.X.Rows {
			task.X.Values(i, wide.Row(i))
		}
		task.X = wide
	}
}

// roundValues rounds rows in double precision.
func roundValues(set *Set) {
	for k := range set.Clients {
		for i, x := range set.Clients[k].X.Data {
			set.Clients[k].X.Data[i] = float64(float32(x))
		}
	}
}

// Single precision holds the rounded values of double precision, whatever the
// preparation of features.
func TestSinglePrecisionHoldsRoundedValues(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cfg := Defaults()
		s := &cfg.Synthetic
		s.Clients, s.Features, s.Factors = rapid.IntRange(3, 6).Draw(r, "tasks"),
			rapid.IntRange(4, 20).Draw(r, "features"), 4
		s.RowsMin, s.RowsMax = 6, 6+rapid.IntRange(0, 20).Draw(r, "more")
		cfg.Bias = rapid.Bool().Draw(r, "bias")
		cfg.Standardize = rapid.Bool().Draw(r, "standardize")
		if rapid.Bool().Draw(r, "skew") && s.RowsMax > s.RowsMin+3 {
			cfg.Skew = 6
		}
		cfg.ClientsPerTask = rapid.IntRange(1, 2).Draw(r, "clients_per_task")
		cfg.Pool = rapid.Bool().Draw(r, "pool")
		double := expect.Value(Prepare(cfg))(r)
		cfg.Precision = PrecisionSingle
		single := expect.Value(Prepare(cfg))(r)
		roundValues(double.Train)
		roundValues(double.Test)
		widen(t, single.Train)
		widen(t, single.Test)
		requireSameBits(t, double.Train, single.Train)
		requireSameBits(t, double.Test, single.Test)
	})
}

// A set is described, merged and written equally in both precisions.
func TestSinglePrecisionIsReadLikeDouble(t *testing.T) {
	racetest.Skip(t, "compares errors of readers; shorter tests read in parallel")
	cfg := Defaults()
	cfg.Precision, cfg.Bias = PrecisionSingle, true
	split := prepared(t, cfg)
	description, merged := Describe(split.Train), Merge(split.Train)
	var file strings.Builder
	expect.NoError(t, WriteCSV(&file, split.Train))
	widen(t, split.Train)
	widen(t, merged)
	var again strings.Builder
	expect.NoError(t, WriteCSV(&again, split.Train))
	want := Describe(split.Train)
	expect.That(t, cmp.Equal(description, want), "described as %v, want %v", description, want)
	expect.That(t, description.ConstantFeatures == 1,
		"%d features are constant, want the bias alone", description.ConstantFeatures)
	requireSameBits(t, Merge(split.Train), merged)
	expect.That(t, file.String() == again.String(), "written differently")
}

func TestValuesBeyondSinglePrecisionAreRefused(t *testing.T) {
	cfg := Defaults()
	cfg.Precision = PrecisionSingle
	set := func(x float64) *Set {
		s := &Set{Name: "big.csv", Features: 2, Clients: []Client{{Name: "a", X: NewMatrix(2, 2), Y: []float64{-1, 1}}}}
		s.Clients[0].X.Row(1)[0] = x
		return s
	}
	const largest = 0x1.fffffep127
	if err := cfg.Transform(&Split{Train: set(-largest), Test: set(largest)}); err != nil {
		t.Error(err)
	}
	err := cfg.Transform(&Split{Train: set(1), Test: set(-1e39)})
	var problem config.Problem
	expect.Must(t, errors.As(err, &problem) && problem.Key == "data.precision", "%v is not a problem of the key", err)
	const want = `data.precision = "float32": must be "float64": feature 1 of row 2 of client "a" of big.csv is ` +
		`-1e+39, float32 ends at 3.4e38`
	expect.That(t, err.Error() == want, "got  %v\nwant %s", err, want)
}
