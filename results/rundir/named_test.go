package rundir

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/state"
	"fedsim/results"
)

// namedRun is a run of a learner with named metrics, and its values by client.
func namedRun() results.Run {
	nan := math.NaN()
	r := results.Run{
		ID: "e/own/1", Experiment: "e", Method: "own", Algorithm: "stump", Seed: 1, Status: results.Done,
		Reference: results.Reference{Optimum: nan, OptimumGap: nan}, Clocked: results.Clocked{WallS: 0.5},
		Hashes: results.Hashes{EventHash: 1, ModelHash: 2},
		Metrics: []results.NamedMetric{{Split: "test", Name: "accuracy", Better: "higher"},
			{Split: "train", Name: "loss", Better: "lower", Unit: "nats"}, {Name: "norm"}},
	}
	for h, values := range [][]results.NamedValue{
		{{Split: "test", Name: "accuracy", Value: 0.125}, {Split: "train", Name: "loss", Value: math.Inf(1)}},
		{{Split: "test", Name: "accuracy", Value: 1.0 / 3}, {Name: "norm", Value: -2}},
		nil,
		{{Split: "test", Name: "accuracy", Value: 0.75}, {Split: "train", Name: "loss", Value: 0.25}},
	} {
		x := results.Round{Round: h, TimeS: 2.5 * float64(h), Primal: nan, Dual: nan, Gap: nan, Suboptimality: nan,
			TrainError: nan, TestError: nan, ValidationError: nan, Metrics: values}
		if values != nil {
			x.TestError = 1 - values[0].Value
		}
		r.Rounds = append(r.Rounds, x)
	}
	return r
}

// clientValues are the values by client of the rounds of namedRun.
func clientValues() [][]results.ClientMetric {
	return [][]results.ClientMetric{
		{{Split: "test", Name: "accuracy", Clients: []int32{0, 2}, Values: []float64{0.5, 0.25}, Rows: []int32{3, 9}},
			{Name: "norm", Clients: []int32{1}, Values: []float64{math.NaN()}, Rows: []int32{5}}},
		nil,
		nil,
		{{Split: "test", Name: "accuracy", Clients: []int32{0, 1, 2}, Values: []float64{1, 0.5, 0.75},
			Rows: []int32{3, 5, 9}}},
	}
}

// longClass is a name that takes more than one byte for its length.
var longClass = "a class of " + strings.Repeat("very ", 20) + "slow phones"

// clientOf returns the facts of a client after round h.
func clientOf(h int) func(int) results.ClientFacts {
	return func(k int) results.ClientFacts {
		f := results.ClientFacts{Class: []string{longClass, "", "laptop"}[k], Updates: h + k,
			ComputeS: 0.25 * float64(k), TransferS: math.NaN()}
		if k == 2 {
			f.TransferS = 1.5
		}
		return f
	}
}

// addNamed adds namedRun and its values by client.
func addNamed(t testing.TB, w *Writer, index int) {
	t.Helper()
	r := namedRun()
	c := begin(t, w, index, r)
	for h, values := range clientValues() {
		x := r.Rounds[h]
		x.ClientMetrics, x.Client = values, clientOf(h)
		if err := c.Round(&x); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.End(r); err != nil {
		t.Fatal(err)
	}
}

// namedDirectory writes a directory with a run without named metrics and namedRun.
func namedDirectory(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	w := create(t, dir, false, testAbout())
	plain := syntheticRuns()[0]
	empty := begin(t, w, 0, plain)
	if err := errors.Join(empty.Round(&plain.Rounds[0]), empty.End(plain)); err != nil {
		t.Fatal(err)
	}
	addNamed(t, w, 1)
	if err := w.Finish(Complete, End{At: testFinished}); err != nil {
		t.Fatal(err)
	}
	return dir
}

const wantMetrics = `run,experiment,method,algorithm,seed,round,time_s,split,name,value
e/own/1,e,own,stump,1,0,0,test,accuracy,0.125
e/own/1,e,own,stump,1,0,0,train,loss,+Inf
e/own/1,e,own,stump,1,1,2.5,test,accuracy,0.3333333333333333
e/own/1,e,own,stump,1,1,2.5,,norm,-2
e/own/1,e,own,stump,1,3,7.5,test,accuracy,0.75
e/own/1,e,own,stump,1,3,7.5,train,loss,0.25
`

var wantClients = strings.ReplaceAll(
	`run,experiment,method,algorithm,seed,round,time_s,client,class,rows,updates,compute_s,transfer_s,split,name,value
e/own/1,e,own,stump,1,0,0,0,LONG,3,0,0,,test,accuracy,0.5
e/own/1,e,own,stump,1,0,0,2,laptop,9,2,0.5,1.5,test,accuracy,0.25
e/own/1,e,own,stump,1,0,0,1,,5,1,0.25,,,norm,
e/own/1,e,own,stump,1,3,7.5,0,LONG,3,3,0,,test,accuracy,1
e/own/1,e,own,stump,1,3,7.5,1,,5,4,0.25,,test,accuracy,0.5
e/own/1,e,own,stump,1,3,7.5,2,laptop,9,5,0.5,1.5,test,accuracy,0.75
`, "LONG", longClass)

func TestNamedMetricsAreWrittenAndReadBack(t *testing.T) {
	dir := namedDirectory(t)
	for name, want := range map[string]string{"metrics": wantMetrics, "client_values": wantClients} {
		var out bytes.Buffer
		if err := Export(&out, dir, name, "csv"); err != nil || out.String() != want {
			t.Errorf("%s: %s\n%v", name, out.String(), err)
		}
		for _, format := range []string{"json", "parquet"} {
			if err := Export(io.Discard, dir, name, format); err != nil {
				t.Errorf("%s as %s: %v", name, format, err)
			}
		}
	}
	found := readDir(t, dir)
	if d := cmp.Diff(namedRun(), found.Runs[1], sameBits); d != "" {
		t.Error(d)
	}
	files, err := found.Manifest.Files(dir)
	if err != nil || len(files) != 6 || files[4].Name != metricsFile || files[5].Name != valuesParquet {
		t.Errorf("%v, %v", files, err)
	}
	hit, ok := found.Runs[1].Reached(results.Target{Metric: "test_accuracy", Value: 0.3})
	if !ok || hit.Round != 1 {
		t.Errorf("reached in round %d, %t", hit.Round, ok)
	}
	var rows []results.ClientRow
	for _, run := range []string{"another", "e/own/1"} {
		if err := Clients(dir, run, func(r *results.ClientRow) error {
			if run == "another" {
				t.Error("a run without values has a row")
			}
			rows = append(rows, *r)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if want := (results.ClientRow{Round: 3, TimeS: 7.5, Client: 2, ClientFacts: clientOf(3)(2), Rows: 9, Split: "test",
		Name: "accuracy", Value: 0.75}); len(rows) != 6 || rows[5] != want || rows[2].Split != "" ||
		!math.IsNaN(rows[2].Value) {
		t.Errorf("%+v", rows)
	}
	if err := AddClients(dir, found.Runs); err != nil || len(found.Runs[0].ByClient) != 0 {
		t.Errorf("run without values by client has %v (%v)", found.Runs[0].ByClient, err)
	}
	// Of accuracy, the values of round 3; of the norm, those of round 0.
	if last := found.Runs[1].ByClient; len(last) != 4 || last[0].Round != 3 || last[0].Value != 1 ||
		last[2] != rows[5] || last[3].Name != "norm" {
		t.Errorf("last values by client %+v", last)
	}
	// A new run without named metrics in the directory leaves none of their files.
	w := create(t, dir, true, testAbout())
	if err := errors.Join(add(w, 0, syntheticRuns()[0]), w.Finish(Complete, End{At: testFinished})); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{metricsFile, valuesParquet} {
		if exists(filepath.Join(dir, name)) {
			t.Errorf("%s is still there", name)
		}
	}
	if err := AddClients(dir, found.Runs[:1]); err != nil {
		t.Error(err)
	}
	if err := Export(io.Discard, dir, "client_values", "csv"); !errors.Is(err, ErrNoClients) {
		t.Error(err)
	}
	if err := Export(io.Discard, dir, "metrics", "csv"); err == nil ||
		!strings.Contains(err.Error(), "has no metrics that a learner declares") {
		t.Error(err)
	}
}

// Statistics over clients are named values of their rounds: in metrics.parquet, in the log,
// and in runs that a resumed run reads from it.
func TestStatisticsAreReadBack(t *testing.T) {
	run := namedRun()
	for h := range run.Rounds {
		if err := run.Rounds[h].SetClients(run.Metrics, []int32{3, 5, 9}, false, clientValues()[h]); err != nil {
			t.Fatal(err)
		}
		run.Rounds[h].ClientMetrics = nil
	}
	if n := len(run.Rounds[3].Metrics); n != 2+6 || run.Rounds[3].Metrics[2].Name != "accuracy_sd" {
		t.Fatalf("%d values: %+v", n, run.Rounds[3].Metrics)
	}
	about := testAbout()
	about.Resumable = true
	dir := filepath.Join(t.TempDir(), "run")
	w := create(t, dir, false, about)
	observe := begin(t, w, 0, run)
	for i := range run.Rounds {
		if err := observe.Round(&run.Rounds[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.log.flush(); err != nil {
		t.Fatal(err)
	}
	live, err := ReadLive(dir)
	if err != nil || len(live.Runs) != 1 {
		t.Fatalf("%+v: %v", live, err)
	}
	if d := cmp.Diff(run.Rounds, live.Runs[0].Rounds, sameBits); d != "" {
		t.Errorf("live: %s", d)
	}
	if err := errors.Join(add(w, 0, run), w.Checkpoint(), w.Suspend()); err != nil {
		t.Fatal(err)
	}
	left := checkpointIn(t, dir)
	if w, err = left.Resume(about, func(string) (int, bool) { return 0, true }); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(Complete, End{At: testFinished}); err != nil {
		t.Fatal(err)
	}
	found := readDir(t, dir)
	if d := cmp.Diff(run, found.Runs[0], sameBits); d != "" {
		t.Errorf("resumed: %s", d)
	}
	if c := found.Runs[0].CostTo(results.Target{Metric: "test_accuracy_worst10", Value: 0.5}); !c.Reached ||
		c.Rounds != 3 {
		t.Errorf("worst 10 %% reached after %+v", c)
	}
}

func TestCorruptMetricsAreRefused(t *testing.T) {
	dir := namedDirectory(t)
	path := filepath.Join(dir, metricsFile)
	found := readDir(t, dir)
	for want, damage := range map[string]func(*results.Run){
		"run = \"e/own/1\": must be a run of manifest.json": func(r *results.Run) { r.ID = "e/own/2" },
		"round = 3: must be a round of rounds.parquet":      func(r *results.Run) { r.Rounds = r.Rounds[:2] },
	} {
		runs := slices.Clone(found.Runs)
		damage(&runs[1])
		if err := readMetrics(dir, &found.Manifest, runs); err == nil || !strings.HasPrefix(err.Error(), path) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	text := filetest.Read(t, path)
	text[len(text)/2] ^= 1
	filetest.Write(t, path, text)
	if _, err := Read(dir); err == nil || !strings.HasPrefix(err.Error(), path+": is corrupt or of another run") {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "manifest.json lists it") {
		t.Error(err)
	}
}

// A manifest cannot declare metrics that a learner cannot.
func TestManifestsWithOtherMetricsAreRefused(t *testing.T) {
	w := create(t, filepath.Join(t.TempDir(), "run"), false, testAbout())
	defer w.Discard()
	r := namedRun()
	r.Metrics = append(r.Metrics, r.Metrics[0])
	if err := add(w, 0, r); err == nil || !strings.Contains(err.Error(), `run "e/own/1": metric "test_accuracy": `) {
		t.Error(err)
	}
}

// Values by client are continued behind those of a checkpoint, and otherwise begin again.
func TestValuesByClientAreContinued(t *testing.T) {
	about := testAbout()
	about.Resumable = true
	dir := filepath.Join(t.TempDir(), "run")
	w := create(t, dir, false, about)
	r := namedRun()
	write := func(c *rows, rounds ...int) {
		for _, h := range rounds {
			x := r.Rounds[h]
			x.ClientMetrics, x.Client = clientValues()[h], clientOf(h)
			if err := c.Round(&x); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := begin(t, w, 0, r)
	write(c, 0)
	var saved bytes.Buffer
	if code := state.Writing(&saved); true {
		if c.State(code); code.Err() != nil {
			t.Fatal(code.Err())
		}
	}
	write(c, 3, 0, 3) // lost by the kill
	flush(t, w)
	if err := w.Save("x", func(out io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if err := w.Suspend(); err != nil {
		t.Fatal(err)
	}
	resume := func() *Writer {
		checkpoint := checkpointIn(t, dir)
		w, err := checkpoint.Resume(about, func(string) (int, bool) { return 0, true })
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	w = resume()
	c = begin(t, w, 0, r)
	code := state.Reading(bytes.NewReader(saved.Bytes()))
	if c.State(code); code.Err() != nil {
		t.Fatal(code.Err())
	}
	write(c, 3)
	if err := errors.Join(c.End(r), w.Checkpoint(), w.Suspend()); err != nil {
		t.Fatal(err)
	}
	// A finished run with its values is reused.
	w = resume()
	if len(w.Runs()) != 1 {
		t.Fatalf("%d runs", len(w.Runs()))
	}
	if err := w.Finish(Complete, End{At: testFinished}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Export(&out, dir, "client_values", "csv"); err != nil || out.String() != wantClients {
		t.Errorf("%s\n%v", out.String(), err)
	}
	// A checkpoint of values that are not there is refused.
	other := newRowStore(&runLog{}, 0)
	code = state.Reading(bytes.NewReader(saved.Bytes()))
	if other.state(code); code.Err() == nil {
		t.Error("values that are not there are continued")
	}
}
