package data

import (
	"errors"
	"hash/fnv"
	"math"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// fingerprint hashes the bits of every value, padding included.
func fingerprint(set *Set) uint64 {
	h := fnv.New64a()
	word := func(x uint64) {
		var b [8]byte
		for i := range b {
			b[i] = byte(x >> (8 * i))
		}
		h.Write(b[:])
	}
	for t := range set.Clients {
		task := &set.Clients[t]
		word(uint64(task.X.Rows))
		h.Write([]byte(task.Name))
		for _, x := range task.X.Data {
			word(math.Float64bits(x))
		}
		for _, y := range task.Y {
			word(math.Float64bits(y))
		}
	}
	return h.Sum64()
}

// refused reports whether there is an error, which must be a *ParseError.
func refused(t *testing.T, err error) bool {
	t.Helper()
	_, ok := errors.AsType[*ParseError](err)
	expect.Must(t, err == nil || ok, "%T %v is not a *ParseError", err, err)
	return err != nil
}

// checkShape fails unless all tasks have the set's features, a label per row
// and zeros in the padding.
func checkShape(t *testing.T, set *Set) {
	t.Helper()
	for k := range set.Clients {
		task := &set.Clients[k]
		if task.X.Cols != set.Features || len(task.Y) != task.X.Rows || len(task.X.Data) != task.X.Rows*task.X.Stride ||
			task.X.Stride%Lane != 0 {
			t.Fatalf("task %d: %d rows, %d cols, stride %d, %d values, %d labels in a set of %d features",
				k, task.X.Rows, task.X.Cols, task.X.Stride, len(task.X.Data), len(task.Y), set.Features)
		}
		for i := range task.X.Rows {
			for _, pad := range task.X.Data[i*task.X.Stride+task.X.Cols : (i+1)*task.X.Stride] {
				expect.Must(t, pad == 0, "task %d row %d: the padding is not zero", k, i)
			}
		}
	}
}

// The paper's Table 2 gives m, d, and the smallest, largest and standard
// deviation of n_t, the rows trained on after the 75/25 split.
func TestPresetsMatchTable2(t *testing.T) {
	if testing.Short() {
		t.Skip("computes for seconds")
	}
	for _, c := range []struct {
		preset           string
		m, d, low, high  int
		deviation        float64
		positive, within float64
	}{
		{"human-activity", 30, 561, 210, 306, 26.75, 0.173, 0.03},
		{"google-glass", 38, 180, 524, 581, 11.07, 0.25, 0.03},
		{"vehicle-sensor", 23, 100, 872, 1933, 267.47, 0.5, 0.03},
	} {
		cfg := Defaults()
		cfg.Preset = c.preset
		split := prepared(t, cfg)
		checkShape(t, split.Train)
		checkShape(t, split.Test)
		d := Describe(split.Train)
		expect.That(t, d.Name == c.preset+" (generated)" && d.Generated,
			"%s: named %q, generated %v", c.preset, d.Name, d.Generated)
		if d.Tasks != c.m || d.Features != c.d || d.RowsMin != c.low || d.RowsMax != c.high {
			t.Errorf("%s: m %d d %d n %d to %d, want %d %d %d to %d", c.preset, d.Tasks, d.Features, d.RowsMin,
				d.RowsMax, c.m, c.d, c.low, c.high)
		}
		// Rounding to whole rows moves the deviation by less than half a row.
		expect.That(t, math.Abs(d.RowsDeviation-c.deviation) <= 0.5,
			"%s: standard deviation %.2f, want %.2f", c.preset, d.RowsDeviation, c.deviation)
		expect.That(t, math.Abs(d.PositiveShare-c.positive) <= c.within,
			"%s: positive share %.3f, want %.3f", c.preset, d.PositiveShare, c.positive)
		if d.OneClassTasks != 0 || d.ZeroFeatures != 0 || d.ConstantFeatures != 0 {
			t.Errorf("%s: %d tasks of one class, %d zero and %d constant features", c.preset, d.OneClassTasks,
				d.ZeroFeatures, d.ConstantFeatures)
		}
		split.Train.eachRow(func(x []float64) {
			for _, v := range x {
				expect.Must(t, v > -1 && v < 1, "%s: feature value %v outside (-1, 1)", c.preset, v)
			}
		})
	}
}

func TestGenerateIsDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	cfg := Defaults()
	var want uint64
	for _, workers := range []int{1, 2, 8} {
		runtime.GOMAXPROCS(workers)
		got := fingerprint(generate(cfg))
		if want == 0 {
			want = got
		}
		expect.That(t, got == want, "GOMAXPROCS %d: other bits than with 1", workers)
	}
	cfg.Seed++
	expect.That(t, fingerprint(generate(cfg)) != want, "another seed gives the same set")
}

// A task's rows depend on its own streams: adding tasks does not change them.
func TestTaskDoesNotDependOnOthers(t *testing.T) {
	cfg := Defaults()
	cfg.Synthetic.Clients, cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax = 5, 50, 50
	few := generate(cfg)
	cfg.Synthetic.Clients = 9
	many := generate(cfg)
	many.Clients = many.Clients[:5]
	expect.That(t, fingerprint(few) == fingerprint(many), "the first five tasks of nine differ from those of five")
}

// Without noise a row's label is the side of its task's boundary on which its factors
// lie. With noise the share of flipped labels is as configured.
func TestLabelNoise(t *testing.T) {
	cfg := Defaults()
	cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax = 200, 200
	cfg.Synthetic.Noise = 0
	clean := generate(cfg)
	cfg.Synthetic.Noise = 0.2
	noisy := generate(cfg)
	flipped := 0
	for k := range clean.Clients {
		for i, y := range clean.Clients[k].Y {
			if noisy.Clients[k].Y[i] != y {
				flipped++
			}
		}
	}
	// About 5300 rows: five standard deviations are 0.028.
	share := float64(flipped) / float64(clean.Rows())
	expect.That(t, math.Abs(share-0.2) <= 0.028, "share of flipped labels %.4f, want 0.2", share)
}

func TestTaskSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.IntRange(1, 60).Draw(t, "m")
		low := rapid.IntRange(1, 500).Draw(t, "low")
		high := low + rapid.IntRange(0, 2000).Draw(t, "range")
		smallest, largest := attainableDeviation(m, low, high)
		deviation := smallest + rapid.Float64Range(0, 1).Draw(t, "where")*(largest-smallest)
		stream := rng.New(7, rng.Synthetic, -1, drawSizes)
		set := &Set{Features: 1}
		for _, n := range taskSizes(m, low, high, deviation, &stream) {
			set.Clients = append(set.Clients, Client{X: Matrix{Rows: n}})
		}
		d := Description{Tasks: m, Rows: set.Rows()}
		d.describeSizes(set)
		if m == 1 {
			low = high
		}
		expect.Must(t, d.RowsMin == low && d.RowsMax == high,
			"sizes %d to %d, want %d to %d", d.RowsMin, d.RowsMax, low, high)
		// Each size is rounded by at most a half, so the deviation changes by at most
		// that times sqrt(m/(m-1)) <= sqrt 2.
		expect.Must(t, math.Abs(d.RowsDeviation-deviation) <= 0.75, "deviation %v, want %v", d.RowsDeviation, deviation)
	})
}

func TestResolve(t *testing.T) {
	cfg := Defaults()
	cfg.Preset = "vehicle-sensor"
	cfg.Synthetic.Clients, cfg.Synthetic.Features, cfg.Synthetic.Noise = 2, 10, 0
	got := cfg.Resolve()
	if s := got.Synthetic; s.Clients != 2 || s.Features != 10 || s.Noise != 0 || s.Clusters != 2 || s.Factors != 10 ||
		s.RowsMax != 1933 || s.Margin != 0.9 {
		t.Errorf("resolved to %+v", s)
	}
	again := got.Resolve()
	expect.That(t, again == got, "resolved again to %+v", again)
	expect.That(t, fingerprint(generate(cfg)) == fingerprint(generate(got)),
		"the resolved configuration gives another set")
	har := Config{Source: SourceHAR}
	expect.That(t, har.Resolve() == har, "a configuration without a preset changed")
}
