package data

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/config"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
)

// classesConfig returns a set of several classes with 2,000 rows per task.
func classesConfig(change func(s *SyntheticConfig)) Config {
	cfg := Defaults()
	cfg.Target = TargetClasses
	cfg.Synthetic.Clients, cfg.Synthetic.Classes = 6, 5
	cfg.Synthetic.RowsMin, cfg.Synthetic.RowsMax = 1500, 1500
	change(&cfg.Synthetic)
	return cfg
}

// nearestMean returns the share of rows that are nearest to the mean of their class over
// all tasks, after features are divided by their deviation.
func nearestMean(set *Set) float64 {
	scaling := FitScaling(set)
	_ = new(Config).transform(set, &scaling)
	means, rows := make([][]float64, len(set.Classes)), make([]float64, len(set.Classes))
	for c := range means {
		means[c] = make([]float64, set.Features)
	}
	for _, task := range set.Clients {
		for i, y := range task.Y {
			rows[int(y)]++
			for j, x := range task.X.Row(i) {
				means[int(y)][j] += x
			}
		}
	}
	right := 0.0
	for _, task := range set.Clients {
		for i, y := range task.Y {
			best, nearest := math.Inf(1), 0
			for c := range means {
				distance := 0.0
				for j, x := range task.X.Row(i) {
					distance += (x - means[c][j]/rows[c]) * (x - means[c][j]/rows[c])
				}
				if distance < best {
					best, nearest = distance, c
				}
			}
			if nearest == int(y) {
				right++
			}
		}
	}
	return right / float64(set.Rows())
}

// Generated classes have the names 0 to C-1, about equal shares, and directions: tasks
// with the same directions can be told apart by one model, better with a larger margin,
// and tasks with their own directions cannot.
func TestGeneratedClasses(t *testing.T) {
	racetest.Skip(t, "compares moments of many rows; shorter tests generate in parallel")
	common := func(margin float64) Config {
		return classesConfig(func(s *SyntheticConfig) {
			s.ClusterSpread, s.ClientSpread, s.Noise, s.Shift, s.DifficultySpread, s.Margin = 0, 0, 0, 0, 0, margin
		})
	}
	set := generate(common(0))
	expect.Must(t, slices.Equal(set.Classes, []string{"0", "1", "2", "3", "4"}) && set.Outputs() == 5 && !set.Real,
		"classes %v", set.Classes)
	for c, n := range Describe(set).ClassRows {
		// The directions are random, so shares differ: here by a third of 1/5 at most.
		share := float64(n) / float64(set.Rows())
		expect.That(t, math.Abs(share-0.2) <= 0.07, "class %d has %.3f of the rows", c, share)
	}
	near, wide := nearestMean(set), nearestMean(generate(common(2)))
	own := nearestMean(generate(classesConfig(func(s *SyntheticConfig) { s.ClientSpread = 100 })))
	if near < 0.45 || wide < near+0.1 || own > 0.4 {
		t.Errorf("right by the nearest mean: %.3f with margin 0, %.3f with margin 2, %.3f with directions of tasks",
			near, wide, own)
	}
}

// Noise replaces the configured share of labels by the other classes, each equally often,
// and changes no row.
func TestClassNoise(t *testing.T) {
	clean := generate(classesConfig(func(s *SyntheticConfig) { s.Noise = 0 }))
	noisy := generate(classesConfig(func(s *SyntheticConfig) { s.Noise = 0.3 }))
	shifts := make([]float64, 5)
	for k := range clean.Clients {
		expect.Must(t, slices.Equal(clean.Clients[k].X.Data, noisy.Clients[k].X.Data), "task %d has other rows", k)
		for i, y := range clean.Clients[k].Y {
			shifts[(int(noisy.Clients[k].Y[i])-int(y)+5)%5] += 1 / float64(clean.Rows())
		}
	}
	// 12,000 rows: five standard deviations are 0.021.
	for shift, want := range []float64{0.7, 0.075, 0.075, 0.075, 0.075} {
		expect.That(t, math.Abs(shifts[shift]-want) <= 0.021,
			"share of rows moved by %d classes: %.4f, want %.4f", shift, shifts[shift], want)
	}
}

// The bits of generated classes are pinned. The presets have their numbers of classes.
func TestClassesOfPresets(t *testing.T) {
	cfg := Defaults()
	cfg.Target = TargetClasses
	if got, want := fingerprint(generate(cfg)), uint64(0x2bb3f347da4043bd); got != want {
		t.Errorf("fingerprint %#x, want %#x", got, want)
	}
	for preset, want := range map[string]int{"": 4, "human-activity": 6, "google-glass": 4, "vehicle-sensor": 2,
		"mnist-sized": 10} {
		cfg.Preset = preset
		got := cfg.Resolve().Synthetic.Classes
		expect.That(t, got == want, "preset %q has %d classes, want %d", preset, got, want)
	}
	cfg.Target = TargetClass
	expect.That(t, cfg.Resolve().Synthetic.Classes == 0, "two classes have a number of classes")
}

func TestKeysOfGeneratedClasses(t *testing.T) {
	for _, c := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) { c.Synthetic.Classes = 3 }, `synthetic.classes = 3: has no effect when target is "class"`},
		{func(c *Config) { c.Target, c.Synthetic.Classes = TargetReal, 3 },
			`synthetic.classes = 3: has no effect when target is "real"`},
		{func(c *Config) { c.Target, c.Synthetic.Classes = TargetClasses, 1 },
			"synthetic.classes = 1: must be in [2, 4096]"},
		{func(c *Config) { c.Target, c.Synthetic.Classes = TargetClasses, 5000 },
			"synthetic.classes = 5000: must be in [2, 4096]"},
		{func(c *Config) { c.Target, c.Synthetic.PositiveShare = TargetClasses, 0.5 },
			`synthetic.positive_share = 0.5: has no effect when target is "classes"`},
		{func(c *Config) { c.Target, c.Synthetic.TargetNoise = TargetClasses, 0.5 },
			`synthetic.target_noise = 0.5: has no effect when target is "classes"`},
		{func(c *Config) {
			c.Target, c.Synthetic.Classes = TargetClasses, 4096
			c.Synthetic.Clients, c.Synthetic.Clusters, c.Synthetic.Features, c.Synthetic.Factors = 1000, 1000, 1000,
				1000
			c.Synthetic.RowsMin, c.Synthetic.RowsMax = 1, 1
		},
			"synthetic.clusters = 1000: clusters x classes x factors must be at most 1073741824 values, " +
				"it is 4.096e+09"},
	} {
		cfg := Defaults()
		c.change(&cfg)
		check := config.NewChecker()
		cfg.Validate(check)
		got := fmt.Sprint(check.Problems())
		expect.That(t, got == "["+c.want+"]", "problems %s, want %s", got, c.want)
	}
}
