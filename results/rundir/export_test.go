package rundir

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

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
			err := eachRow(group, func(values []parquet.Value) error {
				row := make([]string, len(columns))
				for i := range columns {
					row[i] = columns[i].cell(values[i])
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

func readCSV(t *testing.T, path string) [][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
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
	runs := withExtremes()
	dir := writeDir(t, runs)
	keys := results.SweptKeys(runs)
	got, want := cells(t, filepath.Join(dir, roundsParquet), roundsColumns(keys)), readCSV(t, filepath.Join(dir, roundsFile))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("rounds: %s", d)
	}
	path := filepath.Join(t.TempDir(), "runs.parquet")
	var b bytes.Buffer
	if err := Export(&b, dir, "runs", "parquet"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	columns := newRunTable(runs, testAbout().Targets).columns()
	if d := cmp.Diff(readCSV(t, filepath.Join(dir, runsFile)), cells(t, path, columns)); d != "" {
		t.Errorf("runs: %s", d)
	}
}

// JSON has the cells of the csv files: numbers with the same digits, null for
// an empty cell, infinities as texts.
func TestJSONHasTheCellsOfCSV(t *testing.T) {
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
		want := readCSV(t, filepath.Join(dir, name+".csv"))
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

// The results of an unfinished run are those of its last checkpoint, which has no
// parquet files; the files are those that the manifest knows of.
func TestResultsOfAnUnfinishedRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if got := Locate(dir); got != dir {
		t.Errorf("of nothing: %s", got)
	}
	runs := syntheticRuns()[:3]
	w := create(t, dir, false)
	addDevices(t, w, runs, 2, func(int) bool { return true })
	stage := Locate(dir)
	r, err := Read(stage)
	if err != nil {
		t.Fatal(err)
	}
	if stage != filepath.Join(dir, stageDir) || r.Manifest.State != Running || len(r.Runs) != 2 || r.Manifest.Parquet != nil {
		t.Errorf("%s: %s, %d runs, %v", stage, r.Manifest.State, len(r.Runs), r.Manifest.Parquet)
	}
	if err := Export(&bytes.Buffer{}, stage, devicesTable.name, "csv"); err == nil || !strings.Contains(err.Error(), "has no rows by device: they are written when its run ends") {
		t.Errorf("got %v", err)
	}
	finish(t, w, Incomplete)
	if got := Locate(dir); got != dir {
		t.Errorf("at the end: %s", got)
	}
	r, err = Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := r.Manifest.Files(dir)
	if err != nil {
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
	want := []string{manifestFile, scenarioFile, roundsFile, runsFile, roundsParquet, devicesParquet}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// docs/reading.md names every column of devices.parquet, clients.parquet and metrics.csv, and
// every outcome.
func TestReadingPageNamesTheColumns(t *testing.T) {
	page, err := os.ReadFile("../../docs/reading.md")
	if err != nil {
		t.Fatal(err)
	}
	list := slices.Concat(names(devicesTable.all()), names(clientsTable.all()), names(metricsColumns))
	for _, o := range results.Outcomes {
		list = append(list, string(o))
	}
	for _, name := range list {
		if !bytes.Contains(page, []byte("`"+name+"`")) {
			t.Errorf("docs/reading.md does not name %s", name)
		}
	}
}
