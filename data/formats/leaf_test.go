package formats

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/racetest"
)

// leafTasks returns names, rows and targets of a set.
func leafTasks(set *data.Set) (names []string, x [][][]float64, y [][]float64) {
	for t := range set.Clients {
		task := &set.Clients[t]
		names = append(names, task.Name)
		y = append(y, task.Y)
		var rows [][]float64
		for i := range task.X.Rows {
			rows = append(rows, task.X.Row(i))
		}
		x = append(x, rows)
	}
	return names, x, y
}

// checkTasks checks the names, rows and targets of a set that is named after the file my.
func checkTasks(t *testing.T, set *data.Set, names []string, x [][][]float64, y [][]float64, classes []string) {
	t.Helper()
	checkShape(t, set)
	gotNames, gotX, gotY := leafTasks(set)
	got := []any{gotNames, gotX, gotY, set.Classes, set.Name}
	diff := cmp.Diff([]any{names, x, y, classes, "my"}, got)
	expect.That(t, diff == "", "%v", diff)
}

// loadLEAF loads the LEAF data at a path.
func loadLEAF(path, target string) (*data.Set, error) {
	cfg := data.Defaults()
	cfg.Source, cfg.Path, cfg.Target = data.SourceLEAF, path, target
	return data.Load(cfg)
}

// Users are in the order of "users", whatever the order of keys. Lists in a row are
// flattened in order.
func TestLEAFForms(t *testing.T) {
	for _, test := range []struct {
		name, target, text string
		names              []string
		x                  [][][]float64
		y                  [][]float64
		classes            []string
	}{
		{
			"numbers", data.TargetClass, `{"users": ["b", "a"], "num_samples": [1, 2], "user_data": {"a": {"x": [[1, ` +
				`2], [3, 4]], "y": [1, -1]}, "b": {"x": [[5, 6]], "y": [1]}}}`,
			[]string{"b", "a"}, [][][]float64{{{5, 6}}, {{1, 2}, {3, 4}}}, [][]float64{{1}, {1, -1}}, nil,
		},
		{
			"keys in another order, lists of one, other keys", data.TargetClass,
			`{"hierarchies": [["z"], {"k": [1]}], "user_data": {"a": {"y": [[0], [7]], "other": {"x": null}, "x": ` +
				`[[1], [3]]}}, "num_samples": [2], "users": ["a"]}`,
			[]string{"a"}, [][][]float64{{{1}, {3}}}, [][]float64{{-1, 1}}, nil,
		},
		{
			"images and texts", data.TargetClasses,
			`{"users": ["a", "b"], "num_samples": [1, 2], "user_data": {"a": {"x": [[[1, 2], [3, 4]]], "y": ` +
				`["dog"]}, "b": {"x": [[[5, 6], [7, 8]], [9, 10, 11, 12]], "y": ["cat", ["eel"]]}}}`,
			[]string{"a", "b"}, [][][]float64{{{1, 2, 3, 4}}, {{5, 6, 7, 8}, {9, 10, 11, 12}}},
			[][]float64{{1}, {0, 2}}, []string{"cat", "dog", "eel"},
		},
		{
			"real targets without num_samples", data.TargetReal,
			`{"users": ["a"], "user_data": {"a": {"x": [[1], [2]], "y": [0.5, -1e3]}}}`, []string{"a"},
			[][][]float64{{{1}, {2}}}, [][]float64{{0.5, -1000}}, nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := expect.Value(loadLEAF(filetest.New(t, "my.json", test.text), test.target))(t)
			checkTasks(t, set, test.names, test.x, test.y, test.classes)
		})
	}
}

// An error names the file, and user and row where there are any.
func TestLEAFErrors(t *testing.T) {
	const rest = `"users": ["a"], "num_samples": [2]`
	user := func(text string) string { return `{` + rest + `, "user_data": {"a": {` + text + `}}}` }
	for _, test := range []struct{ text, want string }{
		{``, "not JSON at byte 1: unexpected EOF"},
		{`[]`, "the file is a list, must be an object"},
		{`{}`, "has no users: must be a LEAF file"},
		{`{` + rest + `}`, `user "a": is in users, but not in user_data`},
		{`{"users": [1]}`, "users must be a list of texts, it has 1"},
		{`{"users": [""]}`, "the name of a user is empty"},
		{`{"users": 3}`, "users is 3, must be a list"},
		{`{"num_samples": [1.5]}`, "num_samples must be a list of whole numbers"},
		{`{"user_data": []}`, "user_data is a list, must be an object"},
		{user(`"x": [[1], [2]], "y": [1, 2]`) + "x", "has text after the end"},
		{user(`"x": [[1], [2]], "y": [1]`), `user "a": x has 2 rows, but y has 1 labels`},
		{user(`"x": [[1]], "y": [1]`), `user "a": has 1 rows, but num_samples has 2`},
		{user(`"x": [1, 2], "y": [1, 2]`), `user "a", row 1: x has 1 where a row must be a list of numbers`},
		{user(`"x": ["ab", "cd"], "y": [1, 2]`), `user "a", row 1: x has the text "ab"`},
		{user(`"x": [[1], ["2"]], "y": [1, 2]`), `user "a", row 2: feature 1: is the text "2", must be a number`},
		{user(`"x": [[1], [null]], "y": [1, 2]`), `user "a", row 2: feature 1: is null, must be a number`},
		{user(`"x": [[1], [1e101]], "y": [1, 2]`), `user "a", row 2: feature 1: "1e101" is too large`},
		{user(`"x": [[1], [1e999]], "y": [1, 2]`), `user "a", row 2: feature 1: "1e999" is too large`},
		{user(`"x": [[1], [NaN]], "y": [1, 2]`),
			`user "a", row 2: has NaN: must have finite numbers, since LEAF files have no missing values`},
		{user(`"x": [[1], [2]], "y": [1, -Infinity]`), `user "a", row 2: has -Infinity: must have finite numbers`},
		{user(`"x": [[1], [[]]], "y": [1, 2]`), `user "a", row 2: has no features`},
		{user(`"x": [[1, 2], [3]], "y": [1, 2]`), `user "a", row 2: has 1 features, rows before it have 2`},
		{user(`"x": [[1], [2]], "y": [1, [2, 3]]`), `user "a", row 2: the label is a list of several values`},
		{user(`"x": [[1], [2]], "y": [1, []]`), `user "a", row 2: the label is a list: must be`},
		{user(`"x": [[1], [2]], "y": [1, ""]`), `user "a", row 2: the label "" is a missing value`},
		{user(`"x": [[1], [2], [3]], "y": [1, 2, 3]`), `user "a", row 3: the label "3" `},
		{user(`"x": [[1], [2]], "x": [], "y": []`), `duplicate object member name`},
		{user(`"x": [[1], [2]], "y": [1, 1]`), "one class"},
		{`{"users": ["a", "a"], "user_data": {"a": {"x": [[1], [2]], "y": [1, 2]}}}`,
			`user "a": is in users more than once`},
		{`{"users": ["a"], "num_samples": [2, 3], "user_data": {}}`, "has 1 users, but num_samples has 2 numbers"},
		{`{"users": ["a"], "user_data": {"a": {"x": [], "y": []}}}`, `user "a" has no rows`},
		{`{"users": ["a"], "user_data": {"a": {"x": [[1]], "y": [1]}, "b": {"x": [], "y": []}}}`,
			`user "b": is in user_data, but not in users`},
		{`{"users": ["a"], "user_data": {"a"`, "not JSON at byte"},
	} {
		path := filetest.New(t, "bad.json", test.text)
		_, err := loadLEAF(path, data.TargetClass)
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), test.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", test.text, err, test.want)
		}
	}
}

// Training and test rows of a folder with both are those of its files.
func TestLEAFFolders(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		expect.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		filetest.Write(t, path, text)
	}
	write("train/2.json",
		`{"users": ["a"], "num_samples": [2], "user_data": {"a": {"x": [[1], [2]], "y": ["u", "v"]}}}`)
	write("train/1.json", `{"users": ["b"], "num_samples": [1], "user_data": {"b": {"x": [[3]], "y": ["u"]}}}`)
	cfg := data.Defaults()
	cfg.Source, cfg.Path, cfg.Target = data.SourceLEAF, folder, data.TargetClasses

	set := loaded(t, cfg)
	names, x, _ := leafTasks(set)
	if diff := cmp.Diff([]any{[]string{"b", "a"}, [][][]float64{{{3}}, {{1}, {2}}}}, []any{names, x}); diff != "" ||
		held(set) {
		t.Errorf("without a test folder: %s, held %v", diff, held(set))
	}

	write("test/1.json",
		`{"users": ["a"], "num_samples": [3], "user_data": {"a": {"x": [[4], [5], [6]], "y": ["v", "t", "v"]}}}`)
	for _, seed := range []uint64{0, 7} {
		cfg.Split = seed
		split := prepared(t, cfg)
		_, train, trainY := leafTasks(split.Train)
		_, test, testY := leafTasks(split.Test)
		want := []any{[][][]float64{{{3}}, {{1}, {2}}}, [][]float64{{1}, {1, 2}}, [][][]float64{nil, {{4}, {5}, {6}}},
			[][]float64{{}, {2, 0, 2}}, []string{"t", "u", "v"}}
		diff := cmp.Diff(want, []any{train, trainY, test, testY, split.Train.Classes})
		expect.That(t, diff == "", "%v", diff)
	}

	cfg.TestFraction = 0.5
	if _, err := data.Load(cfg); !errors.As(err, &config.Problem{}) ||
		!strings.Contains(err.Error(), "data.test_fraction") {
		t.Errorf("%v, want a problem of data.test_fraction", err)
	}
	cfg.TestFraction = data.Defaults().TestFraction
	for _, test := range []struct{ file, text, want string }{
		{"test/2.json", `{"users": ["c"], "user_data": {"c": {"x": [[1]], "y": ["t"]}}}`,
			`user "c" has no training rows`},
		{"test/2.json", `{"users": ["a"], "user_data": {"a": {"x": [[1]], "y": ["t"]}}}`,
			`user "a" is in another test file, too`},
		{"train/3.json", `{"users": ["a"], "user_data": {"a": {"x": [[1]], "y": ["t"]}}}`,
			`user "a" is in ` + filepath.Join(folder, "train", "2.json")},
	} {
		write(test.file, test.text)
		if _, err := data.Load(cfg); err == nil || !strings.HasPrefix(err.Error(), filepath.Join(folder, test.file)) ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.file, err, test.want)
		}
		expect.NoError(t, os.Remove(filepath.Join(folder, test.file)))
	}
	write("test/2.json", `{"users": ["c"], "user_data": {"c": {"x": [[1]], "y": ["t"]}}}`)
	cfg.TestRows = data.TestRowsRandom
	if set, err := data.Load(cfg); err != nil || len(set.Clients) != 3 || set.Clients[2].Name != "c" {
		t.Errorf("%v; a user with test rows only must be a task if rows are divided again", err)
	}
	cfg.Path = t.TempDir()
	if _, err := data.Load(cfg); err == nil || !strings.Contains(err.Error(), "has no file with the suffix .json") {
		t.Errorf("an empty folder: %v", err)
	}
}

// Rows per sensor are num_samples of the file, 1,860 in all; the first is sensor f_00000's.
func TestRealVehicle(t *testing.T) {
	racetest.Skip(t, "compares errors of readers; shorter tests read in parallel")
	set := expect.Value(loadLEAF(filetest.Real(t, "vehicle.json"), data.TargetClass))(t)
	d := data.Describe(set)
	if d.Tasks != 23 || d.Features != 100 || d.Rows != 1860 || d.RowsMin != 7 || d.RowsMax != 534 {
		t.Errorf("m = %d, d = %d, rows = %d of %d to %d, want 23, 100, 1860 of 7 to 534", d.Tasks, d.Features, d.Rows,
			d.RowsMin, d.RowsMax)
	}
	if task := &set.Clients[0]; task.Name != "f_00000" || task.X.Rows != 59 || task.Y[0] != -1 {
		t.Errorf("the first task is %s with %d rows, the first label %v", task.Name, task.X.Rows, task.Y[0])
	}
	checkShape(t, set)
}

func FuzzLEAF(f *testing.F) {
	for _, seed := range []string{
		`{"users": ["b", "a"], "num_samples": [1, 2], "user_data": {"a": {"x": [[1, 2], [3, 4]], "y": [1, -1]}, "b": ` +
			`{"x": [[5, 6]], "y": [1]}}}`,
		`{"hierarchies": [["z"]], "users": ["a"], "num_samples": [2], "user_data": {"a": {"y": ["u", ["v"]], "x": ` +
			`[[[1], [2]], [[3], [4e-300]]]}}}`,
		`{"users": ["a"], "user_data": {"a": {"x": [[1], [NaN]], "y": [0, 1]}}}`,
		`{"user_data": {"a": {"x": [[1e999]]}}}`, `{"users": [`, `[[[[`, `{"a": {"a": [`, "", "\ufeff{}",
		`{"user_data": {"a": {"y": [-Infinity]}}}`,
	} {
		f.Add([]byte(seed))
	}
	cfg := data.Defaults()
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &leafSet{index: map[string]int{}, labels: cfg.NewLabels()}
		users, err := newLEAFReader(bytes.NewReader(text), "in.json", s).read()
		if refused(t, err) {
			return
		}
		set := &data.Set{Features: s.features}
		for _, user := range users {
			if user.X.Rows > 0 {
				set.Clients = append(set.Clients, user.Client)
			}
		}
		s.labels.Finish(set)
		checkShape(t, set)
	})
}
