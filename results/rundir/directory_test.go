package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/racetest"
	_ "fedsim/internal/tools/rapidseed"
	"fedsim/results"
)

// sameBits compares numbers by their bits: -0 is not 0, NaN is NaN.
var sameBits = cmp.Comparer(func(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
})

// create is Create that must not fail.
func create(t filetest.T, dir string, force bool, about ...About) *Writer {
	t.Helper()
	w, err := Create(dir, force, append(about, testAbout())[0])
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// readDir is Read that must not fail.
func readDir(t filetest.T, dir string) *Results {
	t.Helper()
	read, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func addAll(t *testing.T, w *Writer, runs []results.Run) {
	t.Helper()
	for i, r := range runs {
		if err := add(w, i, r); err != nil {
			t.Fatal(err)
		}
	}
}

func finish(t *testing.T, w *Writer, state State) {
	t.Helper()
	if err := w.Finish(state, End{At: testFinished}); err != nil {
		t.Fatal(err)
	}
}

// writeDir leaves a finished run directory and returns its path.
func writeDir(t *testing.T, runs []results.Run) string {
	t.Helper()
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	addAll(t, w, runs)
	finish(t, w, Complete)
	return w.Dir()
}

// tree lists all files below dir with their content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if d.IsDir() {
			files[rel] = "folder"
			return nil
		}
		text, err := os.ReadFile(path)
		files[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Runs of one external model have it once in the manifest.
func TestExternalModelsStandOnce(t *testing.T) {
	runs := syntheticRuns()[:3]
	for i, program := range []string{"a", "b", "a"} {
		runs[i].External = &results.ExternalModel{Program: program,
			Shapes: []results.Shape{{Name: "w", Dims: []int64{2, 3}}}}
	}
	got := readDir(t, writeDir(t, runs))
	if d := cmp.Diff(runs, got.Runs, sameBits); d != "" || len(got.Manifest.ExternalModels) != 2 {
		t.Errorf("%d models, %s", len(got.Manifest.ExternalModels), d)
	}
}

// TestAnyRunRoundTrips draws runs with every kind of number and text.
func TestAnyRunRoundTrips(t *testing.T) {
	racetest.Skip(t, "compares formats, which one goroutine writes")
	t.Parallel()
	dir := t.TempDir()
	text := rapid.StringMatching(`[a-z"',;# éµ\\/=-]{0,8}`)
	number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
		math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 5e-324, math.MaxFloat64, 0.1, 1e21, 1e-7}))
	count := rapid.IntRange(0, math.MaxInt)
	round := rapid.Custom(func(t *rapid.T) results.Round {
		return results.Round{
			Outer: count.Draw(t, "outer"), Round: count.Draw(t, "round"), TimeS: number.Draw(t, "time"),
			Primal: number.Draw(t, "primal"), Dual: number.Draw(t, "dual"), Gap: number.Draw(t, "gap"),
			Suboptimality: number.Draw(t, "sub"), TrainError: number.Draw(t, "train"),
			TestError: number.Draw(t, "test"), ValidationError: number.Draw(t, "validation"),
			Participants: count.Draw(t, "part"), Dropped: count.Draw(t, "dropped"), Late: count.Draw(t, "late"),
			FLOPs: number.Draw(t, "flops"), BytesDown: number.Draw(t, "down"), BytesUp: number.Draw(t, "up"),
			EnergyJ: number.Draw(t, "energy"),
		}
	})
	settings := rapid.Custom(func(t *rapid.T) []results.Setting {
		var s []results.Setting
		for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a.b", "network", "k,\"x\""}), 0, 3,
			rapid.ID).Draw(t, "keys") {
			s = append(s, results.Setting{Key: k, Value: text.Draw(t, "value")})
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		var runs []results.Run
		for i := range rapid.IntRange(0, 3).Draw(t, "runs") {
			runs = append(runs, results.Run{
				ID: fmt.Sprint(i, text.Draw(t, "id")), Experiment: text.Draw(t, "experiment"),
				Method: text.Draw(t, "method"), Algorithm: text.Draw(t, "algorithm"), Point: settings.Draw(t, "point"),
				Tuning: results.Tuning{Tuned: settings.Draw(t, "tuned")}, Seed: rapid.Uint64().Draw(t, "seed"),
				Real: rapid.Bool().Draw(t, "real"), Relative: rapid.Bool().Draw(t, "relative"),
				Objective: text.Draw(t, "objective"),
				Status: rapid.SampledFrom([]results.Status{results.Done, results.Stalled, results.Interrupted}).
					Draw(t, "status"), Reason: text.Draw(t, "reason"),
				Reference: results.Reference{Optimum: number.Draw(t, "optimum"), OptimumGap: number.Draw(t, "gap")},
				Hashes: results.Hashes{EventHash: rapid.Uint64().Draw(t, "events"),
					ModelHash: rapid.Uint64().Draw(t, "model")},
				Clocked: results.Clocked{WallS: rapid.Float64Range(0, 1e9).Draw(t, "wall")},
				Rounds:  rapid.SliceOfN(round, 0, 4).Draw(t, "rounds"),
			})
			if len(runs[i].Rounds) == 0 {
				runs[i].Rounds = nil
			}
		}
		w := create(t, dir, true, testAbout())
		for i, r := range runs {
			if err := add(w, i, r); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Finish(Complete, End{At: testFinished}); err != nil {
			t.Fatal(err)
		}
		got := readDir(t, dir)
		if len(runs) == 0 && len(got.Runs) == 0 {
			return
		}
		if d := cmp.Diff(runs, got.Runs, sameBits); d != "" {
			t.Fatal(d)
		}
	})
}

// TestColumns pins the columns: other programs read them.
// Rooms of the tests: files lack columns that no run has.
func init() {
	results.Declare(&results.Declared{Field: "toll", Columns: []results.Column[results.Round]{
		{Name: "toll_g", Unit: "g", Label: "toll", Head: "toll", Doc: "the sum"},
		{Name: "toll_road_g", Unit: "g", Label: "toll of roads", Doc: "a part"},
		{Name: "toll_sea_g", Unit: "g", Label: "toll of ships", Doc: "a part"},
	}})
}

func TestColumns(t *testing.T) {
	nan := math.NaN()
	dir := writeDir(t, []results.Run{
		{
			ID: "a/MOCHA/3g/1", Experiment: "a", Method: "MOCHA, tuned", Algorithm: "mocha",
			Point:  []results.Setting{{Key: "network", Value: "3g"}},
			Tuning: results.Tuning{Tuned: []results.Setting{{Key: "mocha.epochs", Value: "5"}}}, Seed: 1,
			Status: results.Done, Reference: results.Reference{Optimum: 2, OptimumGap: nan},
			Clocked: results.Clocked{WallS: 0.25},
			Rounds: []results.Round{
				{Primal: 4, Dual: -1, Gap: 3, Suboptimality: 1, TrainError: 0.5, TestError: nan, ValidationError: 0.75,
					TrainErrorClients: 0.25, TestErrorClients: nan, ValidationErrorClients: nan,
					Available: results.UnknownCount, Values: []float64{0, nan, 0}},
				{Outer: 1, Round: 1, TimeS: 1e-7, Primal: 2.5, Dual: nan, Gap: nan, Suboptimality: 0.0625,
					TrainError: nan, TestError: nan, ValidationError: nan, TrainErrorClients: nan,
					TestErrorClients: nan, ValidationErrorClients: nan, Available: 30, Participants: 29, Dropped: 1,
					FLOPs: 1e21, BytesDown: 100, BytesUp: 10, EnergyJ: 0.5,
					Values: []float64{2, math.NaN(), 1}},
				{Outer: 1, Round: 2, TimeS: 3e9, Primal: nan, Dual: nan, Gap: nan, Suboptimality: nan, TrainError: nan,
					TestError: nan, ValidationError: nan, TrainErrorClients: nan, TestErrorClients: nan,
					ValidationErrorClients: nan, Available: 0, Participants: 28, Late: 2, FLOPs: 1e21, BytesDown: 100,
					BytesUp: 10, EnergyJ: 0.5,
					Values: []float64{2, math.NaN(), 1}},
			},
		},
		{ID: "b", Experiment: "b", Point: []results.Setting{{Key: "faults.p", Value: "0.5"}}, Seed: 2,
			Status: results.Stalled, Reason: "no device left",
			Reference: results.Reference{Optimum: nan, OptimumGap: nan}, Clocked: results.Clocked{WallS: nan}},
	})
	for name, want := range map[string]string{
		"rounds": `run,experiment,method,algorithm,network,faults.p,seed,outer,round,time_s,primal,dual,gap,suboptimality,train_error,validation_error,train_error_clients,available,participants,dropped,late,staleness,flops,bytes_down,bytes_up,energy_j,toll_g,toll_sea_g
a/MOCHA/3g/1,a,"MOCHA, tuned",mocha,3g,,1,0,0,0,4,-1,3,1,0.5,0.75,0.25,,0,0,0,0,0,0,0,0,0,0
a/MOCHA/3g/1,a,"MOCHA, tuned",mocha,3g,,1,1,1,0.0000001,2.5,,,0.0625,,,,30,29,1,0,0,1e+21,100,10,0.5,2,1
a/MOCHA/3g/1,a,"MOCHA, tuned",mocha,3g,,1,1,2,3000000000,,,,,,,,0,28,0,2,0,1e+21,100,10,0.5,2,1
`,
		"runs": `run,experiment,method,algorithm,network,faults.p,seed,status,reason,optimum,outer,round,time_s,primal,suboptimality,available,total_participants,total_dropped,total_late,staleness,total_flops,total_bytes_down,total_bytes_up,total_energy_j,total_toll_g,total_toll_sea_g,state_to_suboptimality_0.1,rounds_to_suboptimality_0.1,time_s_to_suboptimality_0.1,energy_j_to_suboptimality_0.1,bytes_to_suboptimality_0.1,toll_g_to_suboptimality_0.1,state_to_suboptimality_0.01,state_to_suboptimality_0.001,tuned:mocha.epochs,wall_s
a/MOCHA/3g/1,a,"MOCHA, tuned",mocha,3g,,1,done,,2,1,2,3000000000,2.5,0.0625,0,57,1,2,0,2e+21,200,20,1,4,2,reached,1,0.0000001,0.5,110,2,ended,ended,5,0.25
b,b,,,,0.5,2,stalled,no device left,,,,,,,,0,0,0,,0,0,0,0,,,never,,,,,,never,never,,
`,
	} {
		var text bytes.Buffer
		if err := Export(&text, dir, name, "csv"); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(want, text.String()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if _, err := Read(dir); err != nil {
		t.Error(err)
	}
}

func TestOrderOfAddDoesNotMatter(t *testing.T) {
	runs := syntheticRuns()
	want := tree(t, writeDir(t, runs))
	w := create(t, filepath.Join(t.TempDir(), "run"), false)
	for i := range runs {
		at := (i*7 + 3) % len(runs) // 7 has no divisor in common with 40 runs
		if err := add(w, at, runs[at]); err != nil {
			t.Fatal(err)
		}
	}
	finish(t, w, Complete)
	if d := cmp.Diff(want, tree(t, w.Dir())); d != "" {
		t.Error(d)
	}
}

func TestManifestsDifferInTheirClocksAlone(t *testing.T) {
	runs := syntheticRuns()
	a := readDir(t, writeDir(t, runs))
	for i := range runs {
		runs[i].WallS *= 2
	}
	w := create(t, t.TempDir(), false)
	addAll(t, w, runs)
	if err := w.Finish(Complete, End{At: testFinished.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	b := readDir(t, w.Dir())
	if cmp.Equal(a.Manifest, b.Manifest) {
		t.Error("the clocks should differ")
	}
	a.Manifest.Clock, b.Manifest.Clock = nil, nil
	if d := cmp.Diff(a.Manifest, b.Manifest); d != "" {
		t.Error(d)
	}
}

func TestResultHash(t *testing.T) {
	// FNV-1a of no bytes is its offset basis (Fowler, Noll, Vo).
	if got := resultHash(nil).String(); got != "cbf29ce484222325" {
		t.Errorf("empty: %s", got)
	}
	two := []RunEntry{{EventHash: 1, ModelHash: 2}, {EventHash: 3, ModelHash: 4}}
	swapped := []RunEntry{two[1], two[0]}
	if resultHash(two) == resultHash(swapped) {
		t.Error("the order of the runs must matter")
	}
}

func TestCreateRefuses(t *testing.T) {
	complete := writeDir(t, syntheticRuns()[:2])
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, []byte("mine"), 0o666)
	mine := t.TempDir()
	os.WriteFile(filepath.Join(mine, "thesis.tex"), []byte("mine"), 0o666)
	csvs := t.TempDir() // a name of ours, but no manifest
	os.WriteFile(filepath.Join(csvs, roundsFile), []byte("mine"), 0o666)
	other := t.TempDir()
	os.WriteFile(filepath.Join(other, manifestFile), []byte(`{"name": "a web app"}`), 0o666)
	inTheWay := writeDir(t, nil)
	os.Remove(filepath.Join(inTheWay, runsFile))
	os.Mkdir(filepath.Join(inTheWay, runsFile), 0o777)

	// Where a link leads to, nothing must be written or removed.
	linked := writeDir(t, syntheticRuns())
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(linked, figuresDir)); err != nil {
		t.Skip(err)
	}
	staged := filepath.Join(t.TempDir(), "run")
	if err := os.MkdirAll(staged, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(staged, stageDir)); err != nil {
		t.Fatal(err)
	}
	locked := filepath.Join(t.TempDir(), "run")
	if err := os.MkdirAll(filepath.Join(locked, stageDir), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "x"), filepath.Join(locked, stageDir, lockFile)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if names, err := list(outside); err != nil || len(names) > 0 {
			t.Errorf("outside there is %v, %v", names, err)
		}
	}()
	for _, c := range []struct {
		name, dir string
		force     bool
		want      error
		text      string
	}{
		{"linked figures", linked, true, ErrForeign, "figures in it is not a directory"},
		{"linked stage", staged, true, ErrForeign, ".unfinished is a link"},
		{"linked lock", locked, true, ErrForeign, "lock is a link"},
		{"complete", complete, false, ErrExists, "use --force to overwrite it, or --out"},
		{"file", file, true, ErrForeign, "--out"},
		{"below a file", filepath.Join(file, "x"), true, nil, "not a directory"},
		{"foreign files", mine, true, ErrForeign, "thesis.tex"},
		{"rounds without manifest", csvs, true, ErrForeign, "rounds.parquet"},
		{"another program's manifest", other, true, ErrForeign, "does not say which fedsim wrote it"},
		{"a folder in the way", inTheWay, true, ErrForeign, "runs.csv"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Create(c.dir, c.force, testAbout())
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %v with %q", err, c.want, c.text)
			}
			if _, err := os.Stat(filepath.Join(c.dir, stageDir)); err == nil && c.dir != staged && c.dir != locked {
				t.Error("a refused directory was written to")
			}
		})
	}
}

func TestForceReplacesAtTheEnd(t *testing.T) {
	dir := t.TempDir()
	w := create(t, dir, false)
	addAll(t, w, syntheticRuns())
	drawFigures(t, w, "fig1.png", "fig2.png")
	addTable(t, w, "old.csv")
	finish(t, w, Complete)
	os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o666)
	os.WriteFile(filepath.Join(dir, figuresDir, "mine.png"), []byte("mine"), 0o666)
	before := tree(t, dir)

	w = create(t, dir, true)
	addAll(t, w, syntheticRuns()[:1])
	drawFigures(t, w, "fig1.png")
	if got, err := Read(dir); err != nil || len(got.Runs) != 40 {
		t.Fatalf("the old run must stand until the new one is finished: %v", err)
	}
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, tree(t, dir)); d != "" {
		t.Errorf("Discard left its mark: %s", d)
	}

	w = create(t, dir, true)
	addAll(t, w, syntheticRuns()[:1])
	drawFigures(t, w, "fig1.png", "fig3.png")
	addTable(t, w, "new.csv")
	finish(t, w, Complete)
	got, err := Read(dir)
	if err != nil || len(got.Runs) != 1 || !cmp.Equal(got.Manifest.Figures, []string{"fig1.png", "fig3.png"}) {
		t.Fatalf("the new run is not there: %v", err)
	}
	if !cmp.Equal(got.Manifest.Tables, []string{"new.csv"}) {
		t.Errorf("tables in the manifest: %v, want new.csv", got.Manifest.Tables)
	}
	after := tree(t, dir)
	for name, want := range map[string]string{"notes.txt": "mine", "figures/mine.png": "mine",
		"figures/fig1.png": "fig1.png", "figures/fig2.png": "", "tables/old.csv": "", "tables/new.csv": "new.csv",
		stageDir: ""} {
		if after[name] != want {
			t.Errorf("%s = %q, want %q", name, after[name], want)
		}
	}
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(after, tree(t, dir)); d != "" {
		t.Errorf("Discard after Finish did something: %s", d)
	}
}

func addTable(t *testing.T, w *Writer, name string) {
	t.Helper()
	if err := w.AddTable(name,
		func(out io.Writer) error { _, err := io.WriteString(out, name); return err }); err != nil {
		t.Fatal(err)
	}
}

func drawFigures(t *testing.T, w *Writer, names ...string) {
	t.Helper()
	dir, err := w.FiguresDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		filetest.Write(t, filepath.Join(dir, n), n)
	}
}

func TestDiscardRemovesWhatCreateMade(t *testing.T) {
	root := t.TempDir()
	w := create(t, filepath.Join(root, "runs", "new", "deep"), false)
	addAll(t, w, syntheticRuns())
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, root); len(got) != 1 {
		t.Errorf("left: %v", got)
	}
	w = create(t, filepath.Join(root, "runs", "new"), false)
	os.WriteFile(filepath.Join(root, "runs", "other"), []byte("mine"), 0o666)
	if err := w.Discard(); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, root); got["runs/other"] != "mine" || len(got) != 3 {
		t.Errorf("left: %v", got)
	}
}

// TestInterrupted leaves the finished runs; the next run may replace them.
func TestInterrupted(t *testing.T) {
	runs := syntheticRuns()[:3]
	runs[2].Status = results.Interrupted
	w := create(t, t.TempDir(), false)
	addAll(t, w, runs)
	finish(t, w, Incomplete)
	got := readDir(t, w.Dir())
	if got.Manifest.State != Incomplete || got.Manifest.Runs[2].Status != results.Interrupted {
		t.Errorf("manifest %+v", got.Manifest)
	}
	if d := cmp.Diff(runs, got.Runs, sameBits); d != "" {
		t.Error(d)
	}
	create(t, w.Dir(), false)
}

// TestCrash leaves a writer without Finish or Discard: its runs can be read, and the next run may
// replace it.
func TestCrash(t *testing.T) {
	runs := syntheticRuns()[:7]
	w := create(t, t.TempDir(), false)
	addAll(t, w, runs)
	_, err := Read(w.Dir())
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(w.Dir(), stageDir)) {
		t.Errorf("error %v should say where the finished runs are", err)
	}
	flush(t, w)
	got := readDir(t, filepath.Join(w.Dir(), stageDir))
	if got.Manifest.State != Running || got.Manifest.Clock.Finished != nil {
		t.Errorf("manifest %+v", got.Manifest)
	}
	if d := cmp.Diff(runs, got.Runs, sameBits); d != "" {
		t.Error(d)
	}

	// A crash within Finish: some files are in place, the manifest is not.
	os.Rename(filepath.Join(w.stage(), roundsFile), filepath.Join(w.Dir(), roundsFile))
	kill(t, w)
	w = create(t, w.Dir(), false)
	addAll(t, w, runs)
	finish(t, w, Complete)
	if _, err := Read(w.Dir()); err != nil {
		t.Error(err)
	}
}

func TestReadForeignDirectory(t *testing.T) {
	empty := t.TempDir()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for dir, why := range map[string]string{
		empty:                        "there is no manifest.json in it",
		filepath.Join(empty, "none"): "it does not exist",
		file:                         "it is a file",
	} {
		want := dir + ": is not a run directory: " + why + ": name a directory that fedsim run wrote"
		if _, err := Read(dir); !errors.Is(err, ErrForeign) || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	good := syntheticRuns()[0]
	for _, c := range []struct {
		name, want string
		change     func(*results.Run)
	}{
		{"same name", "must be there once", func(r *results.Run) {}},
		{"status", `status = "fine": must be one of done, stalled, interrupted`,
			func(r *results.Run) { r.ID, r.Status = "x", "fine" }},
		{"column", "must not be the name of a column",
			func(r *results.Run) { r.ID, r.Point = "x", []results.Setting{{Key: "round", Value: "1"}} }},
		{"key twice", "must be there once", func(r *results.Run) {
			r.ID, r.Point = "x", []results.Setting{{Key: "a", Value: "1"}, {Key: "a", Value: "2"}}
		}},
		{"line break", "without line breaks", func(r *results.Run) { r.ID, r.Method = "x", "a\r\nb" }},
		{"not UTF-8", "without line breaks", func(r *results.Run) { r.ID, r.Reason = "x", "\xff" }},
	} {
		w := create(t, t.TempDir(), false)
		if err := add(w, 1, good); err != nil {
			t.Fatal(err)
		}
		r := good
		c.change(&r)
		if err := add(w, 2, r); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v", c.name, err)
		}
		r = good
		r.ID = "y"
		if err := add(w, 1, r); err == nil {
			t.Errorf("%s: a place was taken twice", c.name)
		}
	}
}

func TestReserved(t *testing.T) {
	for _, name := range []string{"run", "seed", "round", "time_s", "status", "wall_s", "total_flops", "rounds_to_x",
		"bytes_to_x", "tuned:x", "p_max", "theta_max"} {
		if !Reserved(name) {
			t.Errorf("%s is a column", name)
		}
	}
	for _, name := range []string{"network", "faults.drop_probability", "variability"} {
		if Reserved(name) {
			t.Errorf("%s is no column", name)
		}
	}
}
