package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fedsim/experiment"
	"fedsim/internal/rooms/clusters/plan"
	"fedsim/internal/rooms/clusters/work"
	"fedsim/internal/rooms/compare"
	"fedsim/internal/rooms/explain"
	"fedsim/internal/rooms/measure/prediction"
	"fedsim/internal/rooms/measure/whatif"
	"fedsim/internal/rooms/settle"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/results"
	"fedsim/scenarios"
)

// summarized is a small scenario with a sweep, a method that does not reach a target, and
// a table.
const summarized = `
[data.synthetic]
clients = 3
features = 4
rows_min = 12
rows_max = 16

[run]
rounds = 60
targets = { suboptimality = [0.5, 1e-12] }
seeds = [1, 2]

[methods.mocha]

[methods.mb-sgd]

[[experiment]]
name = "links"
sweep = { "network.profile" = ["3g", "wifi"] }
figure = {}
table.published.wifi.mocha = [1.5, 0.25]
`

// The summary in JSON agrees with the run directory.
func TestRunJSON(t *testing.T) {
	dir := t.TempDir()
	file, out := filepath.Join(dir, "x.toml"), filepath.Join(dir, "x")
	filetest.Write(t, file, summarized)
	var stdout, stderr bytes.Buffer
	status := Main([]string{"run", file, "--out", out, "--json"}, &stdout, &stderr)
	expect.Must(t, status == 0, "status %d: %s", status, stderr.String())
	var got struct {
		Scenario, State, Directory string
		Figures                    []string
		Experiments                []struct {
			Name string
			Rows []struct {
				Point     []struct{ Key, Value string }
				Label     string
				Algorithm string
				Seeds     int
				TimeS     float64 `json:"time_s"`
				Targets   []struct {
					Target  float64
					Reached bool
					TimeS   *float64 `json:"time_s"`
				}
			}
		}
		Tables []struct {
			Files []string
			Cells []struct {
				Point, Method, Metric string
				Error, Published      struct {
					Mean *float64
					N    int
				}
			}
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, stdout.String())
	}
	r := readRuns(t, out)
	if got.Scenario != "x" || got.State != "complete" || got.Directory != out || len(got.Experiments) != 1 ||
		len(got.Figures) != 3 {
		t.Fatalf("got %+v", got)
	}
	for _, name := range append(got.Figures, got.Tables[0].Files...) {
		_, err := os.Stat(name)
		expect.That(t, err == nil, "%v", err)
	}
	blocks := results.Summarize(r.Runs, results.ToSuboptimalities(0.5, 1e-12)).Experiments[0].Blocks
	rows := got.Experiments[0].Rows
	expect.Must(t, len(blocks) == 2 && len(rows) == 4,
		"%d blocks and %d rows, must be 2 links x 2 methods", len(blocks), len(rows))
	for i, row := range rows {
		want := blocks[i/2].Rows[i%2]
		if row.Label != want.Label || row.Algorithm != want.Algorithm || row.Seeds != 2 ||
			row.TimeS != want.Totals.TimeS ||
			row.Point[0].Key != "network.profile" || row.Point[0].Value != []string{"3g", "wifi"}[i/2] {
			t.Errorf("row %d: got %+v, must be %+v", i, row, want)
		}
		for k, target := range row.Targets {
			cell := want.Cells[k]
			if target.Reached != cell.Reached || target.Reached != (target.TimeS != nil) ||
				target.Reached && *target.TimeS != cell.TimeS {
				t.Errorf("row %d: the way to %g is %+v, must be %+v", i, target.Target, target, cell)
			}
		}
	}
	expect.That(t, rows[0].Targets[0].TimeS != nil && rows[1].Targets[1].TimeS == nil,
		"mocha must reach 0.5, mb-sgd must not reach 1e-12: %+v", rows)
	if cells := got.Tables[0].Cells; len(cells) != 4 || cells[1].Point != "wifi" || cells[1].Method != "mocha" ||
		cells[1].Metric != "test_error" ||
		cells[1].Error.N != 2 || cells[1].Error.Mean == nil || *cells[1].Published.Mean != 0.015 ||
		cells[0].Published.Mean != nil {
		t.Errorf("cells %+v", cells)
	}
}

// docs/reference/json.md has exactly the fields, section by section; a row has one or several. Those of an
// embedded struct are in the section of the struct that embeds it, unless it has a section.
func TestJSONPage(t *testing.T) {
	var records []reflect.Type
	for _, v := range []any{summary{}, experimentSummary{}, results.Row{}, results.ErrorRow{}, results.Cell{},
		results.First{}, settle.Report{}, settle.Standing{}, tableSummary{}, results.GridCell{}, progressLine{},
		gridSummary{}, experiment.Trial{},
		scenarios.Info{}, compare.Comparison{}, compare.Difference{}, compare.Case{}, compare.Row{}, compare.Cell{},
		compare.Unmatched{}, explain.Report{}, explain.Target{}, explain.Path{}, explain.RoundAnalysis{},
		explain.SharedLink{},
		explain.Total{}, explain.Device{}, explain.Class{}, explain.WhatIf{},
		experiment.FirstTries{}, experiment.FirstEnd{}, experiment.FirstTry{}, serving{}, plan.Plan{}, plan.Item{},
		plan.Cost{}, work.State{}, planState{}, work.Counts{}, work.Item{}, runState{}, runUnderWay{},
		prediction.Report{}, prediction.Checked{}, prediction.Errors{}, prediction.Spread{}, prediction.Ahead{},
		prediction.Overall{}, prediction.Extreme{}, prediction.Repeated{}, whatif.Report{}, whatif.Replay{},
		whatif.Row{}} {
		records = append(records, reflect.TypeOf(v))
	}
	var want []string
	var list func(reflect.Type)
	list = func(record reflect.Type) {
		for i := range record.NumField() {
			f := record.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case f.Type == reflect.TypeFor[map[string][]explain.Cost](): // fields of rooms
				for _, d := range results.AllDeclared() {
					if d.Field != "" {
						want = append(want, d.Field)
					}
				}
			case strings.HasSuffix(f.Tag.Get("json"), ",embed"):
				for _, c := range results.Heads() {
					want = append(want, c.Name)
				}
			case f.Anonymous && f.Type.Kind() == reflect.Struct && !slices.Contains(records, f.Type):
				list(f.Type)
			case !f.Anonymous && f.IsExported() && name != "-":
				want = append(want, name)
			}
		}
	}
	for _, record := range records {
		list(record)
	}
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_`, ]+)` \\|").
		FindAllStringSubmatch(read(t, "docs/reference/json.md"), -1) {
		got = append(got, strings.Split(m[1], "`, `")...)
	}
	expect.That(t, slices.Equal(got, want),
		"the page has %s,\nthe fields are %s", strings.Join(got, " "), strings.Join(want, " "))
}
