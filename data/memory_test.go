package data

import (
	"slices"
	"strings"
	"testing"

	"fedsim/config"
	"fedsim/internal/tools/expect"
)

// A row of 3 features and a target takes 32 bytes, 20 in single precision, and 16 more for each of 2 scores with two
// dual variables; models of 10 values take 80 bytes each.
func TestRowsThatFitIntoMemory(t *testing.T) {
	x := NewMatrix(6, 3)
	for _, c := range []struct {
		bytes     float64
		holds     Holding
		precision string
		want      int
	}{
		{80 + 2*32, Holding{Vectors: 1}, PrecisionDouble, 2},
		{80 + 2*32 - 1, Holding{Vectors: 1}, PrecisionDouble, 1},
		{80 + 2*32, Holding{Vectors: 2}, PrecisionDouble, 0},
		{80 + 3*20, Holding{Vectors: 1}, PrecisionSingle, 3},
		{80 + 64, Holding{Vectors: 1, PerRow: 2}, PrecisionDouble, 1},
		{1e6, Holding{Vectors: 1}, PrecisionDouble, 6},
	} {
		cfg := Config{DeviceConfig: DeviceConfig{MemoryMB: Megabytes{1, c.bytes / 1e6}},
			Holds: c.holds, Precision: c.precision}
		got := cfg.Fit(3, &x, 10, 2)
		expect.That(t, got == c.want, "%g bytes hold %d rows beside %+v, want %d", c.bytes, got, c.holds, c.want)
	}
	thin := NewSparse(3)
	thin.AppendRow([]int32{0, 2}, []float64{1, 2})
	thin.AppendRow([]int32{1}, []float64{3})
	cfg := Config{DeviceConfig: DeviceConfig{MemoryMB: Megabytes{(80 + 8 + 24 + 8 + 12) / 1e6}},
		Holds: Holding{Vectors: 1}}
	expect.That(t, cfg.Fit(0, &thin, 10, 1) == 2, "a sparse row takes other than 8 bytes, and 12 a value")
}

// Clients keep their first rows. One that cannot hold its models is in no part. The split itself does not change.
func TestLimitOfMemory(t *testing.T) {
	cfg := Defaults()
	cfg.Synthetic.Clients, cfg.Synthetic.Features = 6, 4
	cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax = 12, 12
	split := expect.Value(Prepare(cfg))(t)
	cfg.Holds = Holding{Vectors: 1}
	const row = 8 * 5
	cfg.MemoryMB = Megabytes{1, (32 + 3*row) / 1e6, (32 + row - 1) / 1e6}
	limited, short, unfit := cfg.Limit(split, 4, 1)
	expect.Must(t, short == 2 && unfit == 2 && len(limited.Train.Clients) == 4 && len(limited.Test.Clients) == 4,
		"%d clients have fewer rows, %d none, %d are left", short, unfit, len(limited.Train.Clients))
	for k, of := range []int{0, 1, 3, 4} {
		got, all := &limited.Train.Clients[k], &split.Train.Clients[of]
		want := 12
		if of%3 == 1 {
			want = 3
		}
		expect.That(t, got.Name == all.Name && got.X.Rows == want && all.X.Rows == 12 &&
			slices.Equal(got.Y, all.Y[:want]) && slices.Equal(got.X.Row(2), all.X.Row(2)), "client %d: %d rows", of,
			got.X.Rows)
	}
}

// Limits are at most eight positive numbers, and do not go with clients that share rows.
func TestLimitsOfMemoryAreChecked(t *testing.T) {
	cfg := Defaults()
	cfg.MemoryMB, cfg.Pool, cfg.ClientsPerTask = Megabytes{1}, true, 2
	check := config.NewChecker()
	cfg.Validate(check)
	text := check.Err().Error()
	expect.That(t, strings.Contains(text, "pool") && strings.Contains(text, "clients_per_task"), "%v", text)
	expect.That(t, Megabytes{2, 0.5}.String() == "[2, 0.5]", "%v", Megabytes{2, 0.5})
}
