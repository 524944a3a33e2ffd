package rundir

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/parquetrows"
	"fedsim/internal/tools/racetest"
	"fedsim/results"
)

// cells reads a parquet file back as the cells that its table was made of.
func cells(t *testing.T, path string, columns []column) [][]string {
	t.Helper()
	all := [][]string{names(columns)}
	err := openParquet(path, func(f *parquet.File) error {
		for i, field := range f.Root().Columns() {
			if i >= len(columns) || field.Name() != columns[i].name {
				t.Errorf("column %d is %s", i, field.Name())
			}
		}
		var said map[string]struct{ Unit, Description string }
		text, ok := f.Lookup(columnsKey)
		if err := json.Unmarshal([]byte(text), &said); !ok || err != nil || len(said) != len(columns) {
			t.Errorf("%s describes %d of %d columns, %v", columnsKey, len(said), len(columns), err)
		}
		for _, c := range columns {
			if about := said[c.name]; about.Unit != c.unit || about.Description == "" || about.Description != c.doc {
				t.Errorf("column %s: %+v in the metadata", c.name, about)
			}
		}
		for _, group := range f.RowGroups() {
			err := parquetrows.Each(group, func(values []parquet.Value) error {
				row := make([]string, len(columns))
				for i := range columns {
					row[i] = cellOf(columns[i], values[i])
				}
				all = append(all, row)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// cellOf returns a value of a parquet file as a cell of csv.
func cellOf(c column, v parquet.Value) string {
	switch {
	case v.IsNull():
		return ""
	case c.kind == seedCell:
		return strconv.FormatUint(v.Uint64(), 10)
	case c.kind == wholeCell:
		return strconv.FormatInt(v.Int64(), 10)
	case c.kind == realCell:
		return formatValue(results.Real(v.Double()), c.unit)
	default:
		return string(v.ByteArray())
	}
}

// exported returns the rows of a table as csv.
func exported(t *testing.T, dir, name string) [][]string {
	t.Helper()
	var b bytes.Buffer
	if err := Export(&b, dir, name, "csv"); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// withExtremes are runs with all that a cell can be.
func withExtremes() []results.Run {
	runs := syntheticRuns()
	runs[0].Seed = math.MaxUint64
	runs[0].Method = `quo"ted, µ`
	r := &runs[1].Rounds[3]
	r.Primal, r.Dual, r.Gap = math.Inf(1), math.Inf(-1), math.Copysign(0, -1)
	r.FLOPs, r.EnergyJ = math.MaxFloat64, math.SmallestNonzeroFloat64
	runs[2].Status, runs[2].Reason = results.Stalled, "device 3 <never> answers"
	return runs
}

// The parquet files have the cells of the csv files, and also units and
// descriptions of all columns.
func TestParquetHasTheCellsOfCSV(t *testing.T) {
	racetest.Skip(t, "reads and writes with one goroutine")
	runs := withExtremes()
	dir := writeDir(t, runs)
	rounds := roundsTable(runs)
	for name, columns := range map[string][]column{
		"rounds": rounds.all(), "runs": runsTable(runs, testAbout().Targets).columns,
	} {
		path := filepath.Join(t.TempDir(), name+".parquet")
		var b bytes.Buffer
		if err := Export(&b, dir, name, "parquet"); err != nil {
			t.Fatal(err)
		}
		filetest.Write(t, path, b.Bytes())
		if d := cmp.Diff(exported(t, dir, name), cells(t, path, columns)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if name == "rounds" && !bytes.Equal(b.Bytes(), filetest.Read(t, filepath.Join(dir, roundsFile))) {
			t.Error("the export of the rounds differs from their file")
		}
	}
}

// JSON has the cells of the csv files: numbers with the same digits, null for
// an empty cell, infinities as texts.
func TestJSONHasTheCellsOfCSV(t *testing.T) {
	racetest.Skip(t, "reads and writes with one goroutine")
	runs := withExtremes()
	dir := writeDir(t, runs)
	for _, name := range []string{"rounds", "runs"} {
		var b bytes.Buffer
		if err := Export(&b, dir, name, "json"); err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(&b)
		d.UseNumber()
		var rows []map[string]any
		if err := d.Decode(&rows); err != nil {
			t.Fatal(err)
		}
		want := exported(t, dir, name)
		if len(rows) != len(want)-1 {
			t.Fatalf("%s: %d rows, want %d", name, len(rows), len(want)-1)
		}
		for i, row := range rows {
			if len(row) != len(want[0]) {
				t.Fatalf("%s: row %d has %d keys", name, i, len(row))
			}
			for k, key := range want[0] {
				cell := ""
				switch v := row[key].(type) {
				case string:
					cell = v
				case json.Number:
					cell = v.String()
				}
				if cell != want[i+1][k] {
					t.Errorf("%s, row %d: %s = %q, want %q", name, i, key, cell, want[i+1][k])
				}
			}
		}
	}
	var b bytes.Buffer
	if err := Export(&b, writeDir(t, nil), "rounds", "json"); err != nil || b.String() != "[]\n" {
		t.Errorf("no runs are %q, %v", b.String(), err)
	}
	for _, c := range [][2]string{{"round", "csv"}, {"rounds", "xml"}} {
		if err := Export(&b, dir, c[0], c[1]); err == nil || !strings.HasPrefix(err.Error(), "there is no ") {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// The results of an unfinished run are those of the runs that have ended, with their rows.
func TestResultsOfAnUnfinishedRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if got := Locate(dir); got != dir {
		t.Errorf("of nothing: %s", got)
	}
	runs := append(syntheticRuns()[:3:3], namedRun())
	w := create(t, dir, false)
	addDevices(t, w, runs[:3], 2, everyOther)
	addNamed(t, w, 3)
	begin(t, w, 4, syntheticRuns()[4]) // under way
	stage, err := w.Stage()
	if err != nil || stage != Locate(dir) {
		t.Fatalf("%s, not %s: %v", stage, Locate(dir), err)
	}
	r := readDir(t, stage)
	if r.Manifest.State != Running || r.Manifest.Sums != nil {
		t.Errorf("%s, %v", r.Manifest.State, r.Manifest.Sums)
	}
	if d := cmp.Diff(runs, r.Runs, sameBits); d != "" {
		t.Error(d)
	}
	files, err := r.Manifest.Files(stage)
	if want := []string{logFile}; err != nil ||
		!slices.EqualFunc(files, want, func(f File, name string) bool { return f.Name == name && f.Size > 0 }) {
		t.Errorf("%v, %v", files, err)
	}
	exports := func(dir string) (all []string) {
		for _, name := range slices.DeleteFunc(slices.Clone(Tables), func(s string) bool { return s == "clients" }) {
			for _, format := range Formats {
				var b bytes.Buffer
				if err := Export(&b, dir, name, format); err != nil {
					t.Fatal(err)
				}
				all = append(all, name+"."+format, b.String())
			}
		}
		if err := AddClients(dir, runs); err != nil || len(runs[3].ByClient) == 0 {
			t.Errorf("%d values by client: %v", len(runs[3].ByClient), err)
		}
		return all
	}
	unfinished := exports(stage)
	finish(t, w, Incomplete)
	if got := Locate(dir); got != dir {
		t.Errorf("at the end: %s", got)
	}
	if d := cmp.Diff(unfinished, exports(dir)); d != "" {
		t.Errorf("the tables differ: %s", d)
	}
	if r, err = Read(dir); err != nil {
		t.Fatal(err)
	}
	if files, err = r.Manifest.Files(dir); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		info, err := os.Stat(filepath.Join(dir, f.Name))
		if err != nil || info.Size() != f.Size {
			t.Errorf("%s: %v", f.Name, err)
		}
		got = append(got, f.Name)
	}
	want := []string{manifestFile, scenarioFile, runsFile, roundsFile, metricsFile, devicesParquet, valuesParquet}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// docs/results.md and docs/reference/columns.md name every column of metrics.parquet, every outcome, and every field of
// manifest.json.
func TestPagesNameTheColumns(t *testing.T) {
	page := append(filetest.Read(t, "../../docs/results.md"), filetest.Read(t, "../../docs/reference/columns.md")...)
	list := names(columnsOf(metricsTable.columns))
	for _, o := range results.Outcomes {
		list = append(list, string(o))
	}
	for _, of := range []any{Manifest{}, RunEntry{}, Clock{}, Platform{}, Program{}, FileSum{}, results.ExternalModel{},
		results.DataSet{}, results.TestRows{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			itself := name == "data" || name == "external" // of a run: only in the log
			if name != "" && name != "-" && !(itself && reflect.TypeOf(of) == reflect.TypeFor[RunEntry]()) {
				list = append(list, name)
			}
		}
	}
	for _, name := range list {
		if !regexp.MustCompile("[ `]" + name + "[ `,]").Match(page) {
			t.Errorf("neither docs/results.md nor docs/reference/columns.md names %s", name)
		}
	}
}
