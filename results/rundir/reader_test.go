package rundir

import (
	"bytes"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/tools/filetest"
	"fedsim/results"
)

// TestReadNamesThePlace damages one file at a time.
func TestReadNamesThePlace(t *testing.T) {
	t.Parallel()
	runs := syntheticRuns()[:2]
	for _, c := range []struct{ name, file, old, new, want string }{
		{"a bit of a round", roundsFile, "PAR1", "PAR2", "is corrupt or of another run"},
		{"cut off", roundsFile, "", "", "is corrupt or of another run"},
		{"target", runsFile, ",38.84765625,", ",38.2,", "is corrupt or of another run"},
		{"optimum", manifestFile, `"optimum": 3.6208`, `"optimum": "x"`, `must be a number`},
		{"wrong type", manifestFile, `"cpus": `, `"cpus": "many", "x": `,
			`manifest.json:9: platform.cpus: must not be string`},
		{"hash", manifestFile, `"event_hash": "9e`, `"event_hash": "8e`, `manifest.json: result_hash = `},
		{"short hash", manifestFile, `"event_hash": "9e`, `"event_hash": "e`, `must be 16 hexadecimal digits`},
		{"state", manifestFile, `"complete"`, `"fine"`,
			`manifest.json: state = "fine": must be one of complete, incomplete, running`},
		{"version", manifestFile, `"format": 1`, `"format": 2`, `manifest.json: format = 2: must be 1`},
		{"table elsewhere", manifestFile, `"figures": []`, `"figures": [], "tables": ["../x"]`,
			`table "../x": must be the name of a file`},
		{"figure elsewhere", manifestFile, `"figures": []`, `"figures": ["../../x"]`,
			`figure "../../x": must be the name of a file`},
		{"no data set", manifestFile, `"experiment": "fig1"`, `"data_set": 0, "experiment": "fig1"`,
			`data_set = 0: must be the index of one of 0 data sets`},
		{"no external model", manifestFile, `"experiment": "fig1"`, `"external_model": 1, "experiment": "fig1"`,
			`external_model = 1: must be the index of one of 0 external models`},
		{"trailing", manifestFile, "\n}\n", "\n}\n{}\n", "must end behind the first value"},
		{"no scenario", scenarioFile, "remove", "", "scenario.toml"},
		{"no rounds", roundsFile, "remove", "", "manifest.json lists it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writeDir(t, runs)
			path := filepath.Join(dir, c.file)
			text := filetest.Read(t, path)
			switch {
			case c.old == "remove":
				os.Remove(path)
			case c.old == "":
				os.Truncate(path, 0)
			case !strings.Contains(string(text), c.old):
				t.Fatalf("%q is not in the file", c.old)
			default:
				os.WriteFile(path, []byte(strings.Replace(string(text), c.old, c.new, 1)), 0o666)
			}
			_, err := Read(dir)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("error  %v\nwanted %s", err, c.want)
			}
		})
	}
}

// FuzzManifest feeds the manifest's reader anything.
func FuzzManifest(f *testing.F) {
	runs := syntheticRuns()[:1]
	m := newManifest(testAbout(), Complete, runs, attached{figures: []string{"a.png"}, tables: []string{"t.csv"}},
		&End{At: testFinished})
	var seed bytes.Buffer
	if err := m.write(&seed); err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Bytes())
	f.Add([]byte(`{"format": 2, "runs": [{"id": 3}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := decodeManifest("manifest.json", text)
		if (m == nil) != (err != nil) {
			t.Fatalf("manifest %v, error %v", m, err)
		}
	})
}

// A run of which no round was evaluated, as when nothing is learnt, still says how
// far it came and when.
func TestRunsWithoutEvaluation(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	run := syntheticRuns()[0]
	run.Rounds = []results.Round{unknown(0, 0), unknown(7, 1.5)}
	addAll(t, w, []results.Run{run})
	finish(t, w, Complete)
	text := filetest.Read(t, filepath.Join(w.Dir(), runsFile))
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for column, want := range map[string]string{"round": "7", "time_s": "1.5", "primal": "", "suboptimality": ""} {
		if at := slices.Index(rows[0], column); (at < 0) != (want == "") || at >= 0 && rows[1][at] != want {
			t.Errorf("%s in column %d must be %q", column, at, want)
		}
	}
	if found, err := Read(w.Dir()); err != nil || len(found.Runs) != 1 {
		t.Errorf("it is not read back: %v", err)
	}
}

// unknown is a round of which only its number and its end are known.
func unknown(round int, timeS float64) results.Round {
	nan := math.NaN()
	return results.Round{Round: round, TimeS: timeS, Primal: nan, Dual: nan, Gap: nan, Suboptimality: nan,
		TrainError: nan, TestError: nan, ValidationError: nan}
}
