package rundir

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/racetest"
	"fedsim/results"
)

// A directory of another format is refused, and one that does not say its version, as those before 1.0.0:
// the error says what to do.
func TestDirectoriesOfOtherFormatsAreRefused(t *testing.T) {
	for manifest, want := range map[string]string{
		`{"format": 2, "fedsim_version": "v2.0.0"}`: "format = 2: must be 1, the one that this version of fedsim " +
			"reads: fedsim v2.0.0 wrote it",
		`{"format": 1, "fedsim": "v0.8.0"}`: "it does not say which fedsim wrote it, " +
			"as files of fedsim 1.0.0 and later do",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, manifestFile)
		filetest.Write(t, path, manifest)
		want = path + ": " + want + ": read it with that fedsim, or run its scenario.toml again in another directory"
		for _, read := range []func() error{
			func() error { _, err := Read(dir); return err },
			func() error { _, err := ReadLive(dir); return err },
		} {
			if err := read(); err == nil || err.Error() != want {
				t.Errorf("error %v\nwant %s", err, want)
			}
		}
	}
}

// Fields of a later version are ignored.
func TestFieldsOfLaterVersionsAreIgnored(t *testing.T) {
	dir := writeDir(t, syntheticRuns()[:2])
	want := readDir(t, dir).Runs
	path := filepath.Join(dir, manifestFile)
	text := strings.NewReplacer("\n  \"go_version\"", "\n  \"later\": {\"a\": [1]},\n  \"go_version\"", "\"status\"",
		"\"later\": 1, \"status\"").Replace(string(filetest.Read(t, path)))
	if strings.Count(text, "later") != 3 {
		t.Fatal(text)
	}
	filetest.Write(t, path, text)
	if d := cmp.Diff(want, readDir(t, dir).Runs, sameBits); d != "" {
		t.Error(d)
	}
}

// laterLists are lists of columns as a later version may have them: more than those of this one, and in
// their midst.
type laterLists struct {
	real  float64
	whole int
	text  string
}

// set makes the lists those of a later version, or of this one.
func (l *laterLists) set(t *testing.T, later bool) {
	rounds, devices := results.RoundColumns, devicesTable
	t.Cleanup(func() { results.RoundColumns, devicesTable = rounds, devices })
	if !later {
		return
	}
	results.RoundColumns = slices.Insert(slices.Clone(rounds), 3,
		results.Column[results.Round]{Kind: results.CostColumn, Name: "later_s", Unit: "s", Optional: true,
			Field: func(*results.Round) any { return &l.real }},
		results.Column[results.Round]{Kind: results.StateColumn, Name: "later", Optional: true,
			Field: func(*results.Round) any { return &l.whole }})
	devicesTable.columns = slices.Insert(slices.Clone(devices.columns), 3,
		results.Column[results.DeviceRow]{Kind: results.StateColumn, Name: "later_s", Unit: "s", Optional: true,
			Field: func(*results.DeviceRow) any { return &l.real }},
		results.Column[results.DeviceRow]{Kind: results.StateColumn, Name: "later", Optional: true,
			Field: func(*results.DeviceRow) any { return &l.whole }},
		results.Column[results.DeviceRow]{Kind: results.StateColumn, Name: "later_text", Optional: true,
			Field: func(*results.DeviceRow) any { return &l.text }})
	devicesTable.names = results.ColumnNames(devicesTable.columns)
}

// Every file has its columns by name: versions with more columns and with fewer read it, and resume a run
// of each other.
func TestColumnsOfOtherVersions(t *testing.T) {
	racetest.Skip(t, "its added columns have one value for all rows, which the writers of files share; "+
		"TestRowsOutliveAFailedFinish writes them in parallel")
	runs := syntheticRuns()[:4]
	for name, later := range map[string][3]bool{ // who begins, who ends, and who reads the directory
		"later": {true, false, true}, "earlier": {false, true, false}, "both": {true, false, false},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		var l laterLists
		as := func(who int, do func()) {
			t.Run(name, func(t *testing.T) {
				l = laterLists{real: 7.5, whole: 3, text: "a text"}
				l.set(t, later[who])
				do()
			})
		}
		all := func(runs []results.Run, in string) {
			var want, got []results.DeviceRow
			for i := range runs {
				want = append(want, slices.Concat(deviceRows(&runs[i], 3)...)...)
			}
			err := Devices(in, func(_ string, row *results.DeviceRow) error { got = append(got, *row); return nil })
			if d := cmp.Diff(want, got, sameBits); d != "" || err != nil {
				t.Fatal(d, err)
			}
			if d := cmp.Diff(runs, readDir(t, in).Runs, sameBits); d != "" {
				t.Fatal(d)
			}
		}
		as(0, func() {
			w := create(t, dir, false, resumable())
			addDevices(t, w, runs[:2], 3, func(int) bool { return true })
			if err := w.Suspend(); err != nil {
				t.Fatal(err)
			}
		})
		as(1, func() {
			all(runs[:2], filepath.Join(dir, stageDir))
			if known := l.whole != results.UnknownCount || l.text != ""; known == later[1] {
				t.Errorf("the values of the last row are %+v", l)
			}
			w, err := checkpointIn(t, dir).Resume(resumable(), placesOf(runs))
			if err != nil {
				t.Fatal(err)
			}
			for i := 2; i < 4; i++ {
				addRows(t, w, i, runs[i], 3)
				if err := add(w, i, runs[i]); err != nil {
					t.Fatal(err)
				}
			}
			finish(t, w, Complete)
		})
		as(2, func() { all(runs, dir) })
	}
}

// A file without a column whose values are always known is refused.
func TestColumnsThatMustBeThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	runs := syntheticRuns()[:1]
	w := create(t, dir, false, resumable())
	addDevices(t, w, runs, 3, func(int) bool { return true })
	if err := w.Suspend(); err != nil {
		t.Fatal(err)
	}
	rounds, devices := results.RoundColumns, devicesTable
	defer func() { results.RoundColumns, devicesTable = rounds, devices }()
	l := laterLists{}
	l.set(t, true)
	first := results.RoundColumns[4]
	first.Optional = false
	results.RoundColumns = append(slices.Clone(rounds), first)
	if _, err := Read(filepath.Join(dir, stageDir)); err == nil ||
		!strings.Contains(err.Error(), `has no column "later"`) {
		t.Errorf("the log: %v", err)
	}
	results.RoundColumns = rounds
	for i := range devicesTable.columns {
		devicesTable.columns[i].Optional = false
	}
	read := func(dir string) error {
		return Devices(dir, func(string, *results.DeviceRow) error { return nil })
	}
	if err := read(filepath.Join(dir, stageDir)); err == nil ||
		!strings.Contains(err.Error(), "run.log: block at byte ") {
		t.Errorf("the store: %v", err)
	}
	devicesTable = devices
	w, err := checkpointIn(t, dir).Resume(resumable(), placesOf(runs))
	if err != nil {
		t.Fatal(err)
	}
	finish(t, w, Complete)
	l.set(t, true)
	for i := range devicesTable.columns {
		devicesTable.columns[i].Optional = false
	}
	if err := read(dir); err == nil || !strings.Contains(err.Error(), `devices.parquet: has no column "later"`) {
		t.Errorf("parquet: %v", err)
	}
}
