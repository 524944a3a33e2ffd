package formats

import (
	"errors"
	"slices"
	"testing"

	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// loaded is Load that must not fail.
func loaded(t filetest.T, cfg data.Config) *data.Set {
	t.Helper()
	set := expect.Value(data.Load(cfg))(t)
	return set
}

// prepared is Prepare that must not fail.
func prepared(t filetest.T, cfg data.Config) *data.Split {
	t.Helper()
	split := expect.Value(data.Prepare(cfg))(t)
	return split
}

// gathered returns a set with all its rows in memory.
func gathered(set *data.Set, err error) (*data.Set, error) {
	if err == nil {
		err = data.Config{}.Transform(&data.Split{Train: set, Test: new(data.Set)})
	}
	return set, err
}

// held reports whether a set has published test rows.
func held(set *data.Set) bool {
	return slices.ContainsFunc(set.Clients, func(c data.Client) bool { return c.Held > 0 })
}

// parseCSV reads text as the file in.csv, with changes of the configuration.
func parseCSV(t testing.TB, text string, changes ...func(*data.Config)) (*data.Set, error) {
	t.Helper()
	cfg := data.Defaults()
	cfg.Source, cfg.Path = data.SourceCSV, filetest.New(t, "in.csv", text)
	for _, change := range changes {
		change(&cfg)
	}
	return data.Load(cfg)
}

// refused reports whether an input is refused, which must be with a *ParseError.
func refused(t *testing.T, err error) bool {
	t.Helper()
	_, ok := errors.AsType[*data.ParseError](err)
	expect.Must(t, err == nil || ok, "%T %v is not a *ParseError", err, err)
	return err != nil
}

// checkShape fails unless all tasks have the set's features, a label per row
// and zeros in the padding.
func checkShape(t *testing.T, set *data.Set) {
	t.Helper()
	for k := range set.Clients {
		task := &set.Clients[k]
		if task.X.Cols != set.Features || len(task.Y) != task.X.Rows || len(task.X.Data) != task.X.Rows*task.X.Stride ||
			task.X.Stride%data.Lane != 0 {
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
