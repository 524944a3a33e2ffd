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

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/filetest"
	"fedsim/results"
)

// TestReadNamesThePlace damages one file at a time.
func TestReadNamesThePlace(t *testing.T) {
	t.Parallel()
	runs := syntheticRuns()[:2] // 41 rounds each
	for _, c := range []struct{ name, file, old, new, want string }{
		{"no number", roundsFile, ",7.2416,", ",seven,", `rounds.csv:2: primal = "seven": must be a number`},
		{"NaN spelt out", roundsFile, ",7.2416,", ",NaN,", `rounds.csv:2: primal = "NaN": must be a number, or empty`},
		{"no count", roundsFile, ",29,1,0,", ",29,-1,0,", `dropped = "-1": must be a count`},
		{"another run", roundsFile, "fig1/MOCHA/3g/2,", "fig1/MOCHA/3g/9,", `rounds.csv:43: run = "fig1/MOCHA/3g/9": must be a run of the manifest, in its order`},
		{"another method", roundsFile, "3g/2,fig1,MOCHA", "3g/2,fig1,CoCoA", `rounds.csv:43: method = "CoCoA": must be "MOCHA", as manifest.json says`},
		{"ragged", roundsFile, ",7.2416,", ",7.2416,,", "rounds.csv:2: has 28 columns: must have 27"},
		{"quote", roundsFile, ",7.2416,", ",\"7.2416,", "rounds.csv:"},
		{"column", roundsFile, "time_s", "time", `rounds.csv:1: has no column "time_s"`},
		{"cut off", roundsFile, "", "", "rounds.csv:1: is empty"},
		{"a lost round", roundsFile, "\nfig1/MOCHA/3g/1,fig1,MOCHA,mocha,3g,1,2,40,", "\n#", "rounds.csv:42: has "},
		{"target", runsFile, ",38.84765625,", ",38.2,", `runs.csv:2: time_s_to_1e-03 = "38.2": must be "38.84765625", as manifest.json and rounds.csv say`},
		{"optimum", runsFile, ",3.6208,", ",x,", `runs.csv:2: optimum = "x": must be a number`},
		{"extra run", runsFile, "\nfig1/MOCHA/3g/2", "\nfig1/MOCHA/3g/1", `runs.csv:3: run = "fig1/MOCHA/3g/1": must be "fig1/MOCHA/3g/2"`},
		{"wrong type", manifestFile, `"cpus": `, `"cpus": "many", "x": `, `manifest.json:9: platform.cpus: must not be string`},
		{"hash", manifestFile, `"event_hash": "9e`, `"event_hash": "8e`, `manifest.json: result_hash = `},
		{"short hash", manifestFile, `"event_hash": "9e`, `"event_hash": "e`, `must be 16 hexadecimal digits`},
		{"state", manifestFile, `"complete"`, `"fine"`, `manifest.json: state = "fine": must be one of complete, incomplete, running`},
		{"version", manifestFile, `"format": 1`, `"format": 2`, `manifest.json: format = 2: must be 1`},
		{"table elsewhere", manifestFile, `"figures": []`, `"figures": [], "tables": ["../x"]`, `table "../x": must be the name of a file`},
		{"figure elsewhere", manifestFile, `"figures": []`, `"figures": ["../../x"]`, `figure "../../x": must be the name of a file`},
		{"no data set", manifestFile, `"experiment": "fig1"`, `"data_set": 0, "experiment": "fig1"`, `data_set = 0: must be the index of one of 0 data sets`},
		{"no external model", manifestFile, `"experiment": "fig1"`, `"external_model": 1, "experiment": "fig1"`, `external_model = 1: must be the index of one of 0 external models`},
		{"trailing", manifestFile, "\n}\n", "\n}\n{}\n", "must end behind the first value"},
		{"no scenario", scenarioFile, "remove", "", "scenario.toml"},
		{"no rounds", roundsFile, "remove", "", "rounds.csv"},
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
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error  %v\nwanted %s", err, c.want)
			}
		})
	}
}

// FuzzRounds feeds the csv reader anything: it must not panic, and rows that it
// accepts must read the same after being written.
func FuzzRounds(f *testing.F) {
	runs := syntheticRuns()
	some := []results.Run{runs[0], runs[len(runs)-1]}
	for i := range some {
		some[i].Rounds = some[i].Rounds[:2]
	}
	var seed bytes.Buffer
	if err := roundsTable(some).writeCSV(&seed); err != nil {
		f.Fatal(err)
	}
	f.Add(seed.Bytes())
	f.Add([]byte(nil))
	f.Add([]byte("run,\"experiment\n"))
	f.Add(bytes.Replace(seed.Bytes(), []byte("0,0,0"), []byte("0x1p-3,+Inf,-0"), 1))
	f.Fuzz(func(t *testing.T, text []byte) {
		read := func(text []byte) ([]results.Run, error) {
			runs := []results.Run{some[0], some[1]}
			runs[0].Rounds, runs[1].Rounds = nil, nil
			err := readRounds("rounds.csv", bytes.NewReader(text), runs)
			return runs, err
		}
		once, err := read(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "rounds.csv:") {
				t.Fatalf("error %q does not begin with the place", err)
			}
			return
		}
		var again bytes.Buffer
		if err := roundsTable(once).writeCSV(&again); err != nil {
			t.Fatal(err)
		}
		twice, err := read(again.Bytes())
		if err != nil {
			t.Fatalf("%v in %q", err, again.Bytes())
		}
		if d := cmp.Diff(once, twice, sameBits); d != "" {
			t.Fatal(d)
		}
	})
}

// FuzzManifest feeds the manifest's reader anything.
func FuzzManifest(f *testing.F) {
	runs := syntheticRuns()[:1]
	m := newManifest(testAbout(), Complete, runs, attached{figures: []string{"a.png"}, tables: []string{"t.csv"}}, &End{At: testFinished})
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
		if got := rows[1][slices.Index(rows[0], column)]; got != want {
			t.Errorf("%s = %q, must be %q", column, got, want)
		}
	}
	if found, err := Read(w.Dir()); err != nil || len(found.Runs) != 1 {
		t.Errorf("it is not read back: %v", err)
	}
}

// unknown is a round of which only its number and its end are known.
func unknown(round int, timeS float64) results.Round {
	nan := math.NaN()
	return results.Round{Round: round, TimeS: timeS, Primal: nan, Dual: nan, Gap: nan, Suboptimality: nan, TrainError: nan, TestError: nan, ValidationError: nan}
}
