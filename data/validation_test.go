package data

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// marked returns a generated set whose rows can be told apart by a feature.
func marked(t *testing.T, change func(*Config)) (cfg Config, split *Split) {
	t.Helper()
	cfg = Defaults()
	s := &cfg.Synthetic
	s.Clients, s.Features, s.Factors, s.Clusters, s.RowsMin, s.RowsMax = 6, 4, 2, 2, 4, 30
	change(&cfg)
	split = prepared(t, cfg)
	return cfg, split
}

// rowTexts returns the rows of each task of a set with their labels, sorted.
func rowTexts(set *Set) [][]string {
	tasks := make([][]string, len(set.Clients))
	space := make([]float64, set.Features)
	for k := range set.Clients {
		task := set.Open(k)
		for i := range task.X.Rows {
			tasks[set.TaskOf(k)] = append(tasks[set.TaskOf(k)], fmt.Sprint(task.X.Values(i, space), task.Y[i]))
		}
		task.Close()
	}
	for t := range tasks {
		slices.Sort(tasks[t])
	}
	return tasks
}

// Validation rows come from the training rows alone, task by task: with them the training rows
// are those without, and the test rows are the same, for every preparation of the data.
func TestValidationRowsAreTrainingRows(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"plain":        func(*Config) {},
		"not resident": func(c *Config) { c.Resident = false },
		"single":       func(c *Config) { c.Precision, c.Bias = PrecisionSingle, true },
		"shared":       func(c *Config) { c.ClientsPerTask = 3 },
		"skewed":       func(c *Config) { c.Skew = 2 },
		"pooled":       func(c *Config) { c.Pool = true },
		"partition": func(c *Config) {
			c.Target, c.Synthetic.Clients, c.Synthetic.Clusters, c.Synthetic.Classes = TargetClasses, 1, 1, 4
			c.Synthetic.RowsMin, c.Synthetic.RowsMax = 90, 90
			c.Partition.Method, c.Partition.Clients = "iid", 6
		},
		"no test rows": func(c *Config) { c.TestFraction = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			_, without := marked(t, change)
			share := 0.2
			if name == "shared" {
				share = 0.6 // leaves fewer rows of the smallest tasks than they have devices
			}
			cfg, with := marked(t, func(c *Config) { change(c); c.Validation = share })
			if without.Validation != nil || with.Validation == nil ||
				len(with.Validation.Clients) != len(with.Test.Clients) {
				t.Fatal("validation rows must be there exactly if they are asked for, by task")
			}
			if diff := cmp.Diff(rowTexts(without.Test), rowTexts(with.Test)); diff != "" {
				t.Errorf("other test rows:\n%s", diff)
			}
			train, held, all := rowTexts(with.Train), rowTexts(with.Validation), rowTexts(without.Train)
			if cfg.Pool {
				flat := func(tasks [][]string) [][]string {
					one := slices.Concat(tasks...)
					slices.Sort(one)
					return [][]string{one}
				}
				train, held, all = flat(train), flat(held), flat(all)
			}
			for k := range all {
				if len(all[k]) == 0 {
					continue // devices of one task
				}
				both := slices.Concat(train[k], held[k])
				slices.Sort(both)
				if diff := cmp.Diff(all[k], both); diff != "" {
					t.Errorf("task %d: training and validation rows are not the training rows before:\n%s", k, diff)
				}
				want := max(cfg.ClientsPerTask, int(math.Floor((1-share)*float64(len(all[k]))+1e-9)))
				expect.That(t, cfg.Pool || len(train[k]) == want,
					"task %d: %d of %d rows are left for training, want %d", k, len(train[k]), len(all[k]), want)
			}
			rows, _, _, _, err := Sizes(cfg)
			expect.NoError(t, err)
			for k := range rows {
				expect.That(t, int(rows[k]) == with.Train.Clients[k].X.Rows,
					"device %d has %d rows, Sizes says %d", k, with.Train.Clients[k].X.Rows, rows[k])
			}
			if d := with.Digest(); len(d) != 48 || d == without.Digest() || len(without.Digest()) != 32 {
				t.Errorf("digests %s and %s", d, without.Digest())
			}
			_, other := marked(t, func(c *Config) { change(c); c.Validation, c.Split = share, 2 })
			expect.That(t, !cmp.Equal(rowTexts(other.Validation), rowTexts(with.Validation)),
				"another split has the same validation rows")
		})
	}
}

// Scaling and means of missing values know nothing of validation rows.
func TestNothingIsFittedToValidationRows(t *testing.T) {
	set := numbered(8, 8)
	cfg := Defaults()
	cfg.Validation, cfg.Standardize, cfg.Bias = 0.5, true, true
	split := expect.Value(cfg.Divide(set, 1))(t)
	scaling, held := FitScaling(split.Train), rowsOf(t, &split.Validation.Clients[0])
	expect.NoError(t, cfg.Transform(split))
	for i, row := range held {
		x := split.Validation.Clients[0].X.Row(i)
		want := (float64(row) - scaling.Mean[1]) / scaling.Deviation[1]
		expect.That(t, x[1] == want && x[2] == 1, "row %d is %v, want %g and a bias", row, x, want)
	}
}

// A source's own test rows stay, and a task with a single training row gives none.
func TestFewRowsForValidation(t *testing.T) {
	set := numbered(3, 6, 1)
	set.Clients[0].Held, set.Clients[1].Held = 2, 1
	cfg := Defaults()
	cfg.Validation = 0.4
	split, err := cfg.Divide(set, 1)
	expect.NoError(t, err)
	var sizes [][3]int
	for k := range set.Clients {
		sizes = append(sizes,
			[3]int{split.Train.Clients[k].X.Rows, split.Validation.Clients[k].X.Rows, split.Test.Clients[k].X.Rows})
	}
	want := [][3]int{{1, 0, 2}, {3, 2, 1}, {1, 0, 0}}
	expect.That(t, slices.Equal(sizes, want), "training, validation and test rows %v, want %v", sizes, want)
	n := split.WithoutValidation()
	expect.That(t, n == 2, "%d tasks give no validation rows, want 2", n)
	whole, err := Defaults().Divide(set, 1)
	expect.That(t, err == nil && whole.WithoutValidation() == 0 && whole.Validation == nil,
		"without validation_fraction: %v", err)
	diff := cmp.Diff(whole.Test, split.Test, cmpopts.IgnoreUnexported(Set{}, Client{}))
	expect.That(t, diff == "", "%v", diff)
}

// Validation rows have a random stream of their own: they are not those that test rows would be.
func TestValidationRowsAreDrawnAnew(t *testing.T) {
	_, tested := marked(t, func(c *Config) { c.TestFraction = 0.3 })
	_, validated := marked(t, func(c *Config) { c.TestFraction, c.Validation = 0, 0.3 })
	expect.That(t, !cmp.Equal(rowTexts(tested.Test), rowTexts(validated.Validation)),
		"the same rows are drawn for validation as for testing")
}
