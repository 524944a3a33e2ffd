package experiment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"fedsim/internal/tools/checkpoint/checkpointtest"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
	"fedsim/internal/tools/recordtest"
	"fedsim/mtl"
	"fedsim/results"
)

// servedBy is a scenario in which FedAvg learns an external model.
func servedBy(keys string, model ...string) string {
	return fmt.Sprintf(`
[methods.fedavg]
options = { batch = 4 }
[[experiment]]
name = "x"
[experiment.set]
"problem.model" = "external"
"problem.program.command" = %s
%s
`, modelCommand(model...), keys)
}

// upTo returns options that end the call after so many rounds of a run.
func upTo(rounds int, o Options, stop func()) Options {
	o.Recorder = &recordtest.Recorder{Rounds: func(int, results.Run) func(results.Round) {
		return func(r results.Round) {
			if r.Round == rounds {
				stop()
			}
		}
	}}
	return o
}

// Every way in which the program of a model breaks the protocol ends the run with an error of one
// line that names model, round and request. What was computed stays: a run with a good program
// continues it, with the bits of one that nothing has disturbed.
func TestFaultsOfModels(t *testing.T) {
	t.Parallel()
	set := append(slices.Clone(withClasses), "run.rounds=6")
	want := mustGather(t, parse(t, servedBy(""), set...), Options{})
	for _, c := range []struct{ fault, want string }{
		{"hello/exit/1",
			"hello: exited with status 7; the last line of its standard error: out of memory, said the model"},
		{"hello/values/1",
			"hello: answers with values: must be a number of values in [1, 2147483647], not 12500000000"},
		{"hello/shapes/1", "hello: answers with shapes of 84 values in all: must be those of values = 43"},
		{"hello/dtype/1", `hello: answers with dtype: must be "float32" or "float64"`},
		{"hello/error/1", "hello: it reports: shape mismatch; second line"},
		{"open/exit/1", "starting fedavg: model twin: init: exited with status 7"},
		{"init/error/1", "starting fedavg: model twin: init: it reports: shape mismatch; second line"},
		{"gradient/exit/9", "failed in round 1: model twin: gradient of client 1: exited with status 7; " +
			"the last line of its standard error: out of memory, said the model"},
		{"gradient/hang/30", "failed in round 2: model twin: gradient of client 0: did not answer in 2s"},
		{"gradient/garbage/30",
			`failed in round 2: model twin: gradient of client 0: answers "Traceback (most recent call last):"`},
		{"gradient/error/30",
			"failed in round 2: model twin: gradient of client 0: it reports: shape mismatch; second line"},
		{"gradient/field/30", "failed in round 2: model twin: gradient of client 0: answers with gradient: " +
			"is not a field here: known are loss"},
		{"gradient/loss/30", "failed in round 2: model twin: gradient of client 0: answers"},
		{"gradient/cut/30", "failed in round 2: model twin: gradient of client 0: has cut off the file of w and g: " +
			"it has 131072 bytes, must have 262144"},
		{"evaluate/exit/3",
			"failed in round 1: model twin: evaluate of train rows of clients from 0 on: exited with status 7"},
		{"evaluate/rows/3", "failed in round 1: model twin: evaluate of train rows of clients from 0 on: " +
			"answers with the measures of 1"},
		{"evaluate/few/3", "failed in round 1: model twin: evaluate of train rows of clients from 0 on: " +
			"answers with 0 rows: must be 5, one for each client"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			store := &checkpointtest.Store{Dir: t.TempDir()}
			o := Options{Workers: 1, Checkpoints: CheckpointPolicy{Store: store, Clock: time.Now}}
			keys := ""
			if strings.Contains(c.fault, "hang") {
				keys = `"problem.program.timeout_s" = 2`
			}
			_, err := gather(t.Context(), parse(t, servedBy(keys, "-fault="+c.fault), set...), o)
			expect.Must(t, err != nil, "no error")
			if text := err.Error(); !strings.Contains(text, c.want) || strings.Contains(text, "\n") {
				t.Errorf("got\n%s\nwant\n%s", text, c.want)
			}
			got := mustGather(t, parse(t, servedBy(""), set...), o)
			equalRuns(t, "after "+c.fault, want[0], got[0])
		})
	}
}

// A gradient with NaN is one of a method that diverges: federation.nonfinite decides.
func TestAGradientWithNaN(t *testing.T) {
	t.Parallel()
	for protocol, numbers := range map[string]string{"first": "float64", "wait-for-all": "float64",
		"deadline": "float32"} {
		aGradientWithNaN(t, protocol, numbers)
	}
}

// aGradientWithNaN makes the eighth mini-batch of a run, of client 2, one with NaN in a value.
func aGradientWithNaN(t *testing.T, protocol, numbers string) {
	t.Helper()
	set := append(slices.Clone(withClasses), "run.rounds=6", "methods.fedavg.options.batch=all",
		"federation.protocol="+protocol, "federation.deadline_s=1000")
	run := mustGather(t, parse(t, servedBy("", "-fault=gradient/nan/8", "-dtype="+numbers), set...),
		Options{Workers: 1})[0]
	want := `the update of client 2 in round 2 has NaN or infinities in its change of w, first in value 7, ` +
		`"hidden.weight"[1,1]: fedavg diverges`
	if numbers == "float32" { // the program writes to another place: NaN is four bytes there
		want =
			`the update of client 2 in round 2 has NaN or infinities in its change of w, first in value 14, ` +
				`"hidden.weight"[2,2]: fedavg diverges`
	}
	if len(run.External.Shapes) != 4 || run.External.Shapes[2].Name != "out.weight" ||
		!slices.Equal(run.External.Shapes[2].Dims, []int64{3, 4}) {
		t.Errorf("the shapes are %+v", run.External.Shapes)
	}
	expect.That(t, run.Status == results.Stalled && strings.Contains(run.Reason, want),
		"%s: %s, want %s", run.Status, run.Reason, want)
}

// A process that writes over all of its file spoils its own answer only: another process, and the
// next answers, are right.
func TestAProcessThatWritesWhereItMustNot(t *testing.T) {
	t.Parallel()
	set := append(slices.Clone(withClasses), "run.rounds=1", "federation.clients_per_round=1")
	one := mustGather(t, parse(t, servedBy(""), set...), Options{Workers: 1})[0]
	spoiled := mustGather(t, parse(t, servedBy("", "-fault=gradient/scribble/1"), set...), Options{Workers: 1})[0]
	if one.EventHash != spoiled.EventHash || one.ModelHash == spoiled.ModelHash {
		t.Errorf("events %x and %x, models %x and %x: one answer must differ", one.EventHash, spoiled.EventHash,
			one.ModelHash, spoiled.ModelHash)
	}
	// The first gradient is spoiled in both, whatever was there before.
	again := mustGather(t, parse(t, servedBy("", "-fault=gradient/scribble/1"), set...), Options{Workers: 1})[0]
	equalRuns(t, "again", spoiled, again)
}

// A run of an external model resumes with the bits of one that was not interrupted, on any number of
// workers, and no process and no file stays.
func TestExternalModelsResume(t *testing.T) {
	t.Parallel()
	began := time.Now().Add(-time.Second) // file systems have coarser clocks
	log := filepath.Join(t.TempDir(), "log")
	source := servedBy("", "-log="+log)
	set := append(slices.Clone(withClasses), "run.rounds=8", "faults.drop_probability=0.2")
	want := mustGather(t, parse(t, source, set...), Options{Workers: 1})
	policy := CheckpointPolicy{Store: &checkpointtest.Store{Dir: t.TempDir()}, Clock: time.Now}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := gather(ctx, parse(t, source, set...),
		upTo(4, Options{Workers: 2, Checkpoints: policy}, cancel)); !Interrupted(err) {
		t.Fatalf("not interrupted: %v", err)
	}
	got := mustGather(t, parse(t, source, set...), Options{Workers: 3, Checkpoints: policy})
	equalRuns(t, "resumed", want[0], got[0])
	processes, _ := startsOf(t, log)
	for _, p := range processes {
		_, err := os.Stat("/proc/" + p)
		expect.That(t, err != nil, "process %s of a model is still there", p)
	}
	if runtime.GOOS == "linux" {
		for _, folder := range []string{"/dev/shm", os.TempDir()} {
			left, _ := filepath.Glob(filepath.Join(folder, "fedsim-model-*"))
			for _, file := range left { // of other tests and processes at the same time, or that were killed before
				for i := 0; ; i++ {
					if info, err := os.Stat(file); err != nil || info.ModTime().Before(began) {
						break
					}
					if time.Sleep(10 * time.Millisecond); i == 6000 {
						t.Fatalf("the file %s of a model stays", file)
					}
				}
			}
		}
	}
}

// Methods with large vectors by client resume with the bits of runs that were not interrupted, from
// vectors beside the state, of which the last save wrote few.
func TestLargeVectorsByClientResume(t *testing.T) {
	racetest.Skip(t, "compares many small runs; TestExternalModelsResume resumes with several workers")
	t.Parallel()
	for method, c := range map[string][2]string{"scaffold": {"float32", "run.report_last=1"},
		"ditto": {"float32", "run.report_last=1"}, "feddyn": {"float64", "compression.up=top-k"}} {
		source := strings.Replace(servedBy("", "-hidden=450", "-dtype="+c[0]), "fedavg", method, 1)
		set := append(slices.Clone(withClasses), "run.rounds=4", "run.eval_every=2", "federation.clients_per_round=2",
			"data.synthetic.rows_max=10", c[1])
		want := mustGather(t, parse(t, source, set...), Options{Workers: 1})
		store := &checkpointtest.Store{Dir: t.TempDir()}
		o := Options{Workers: 1, Checkpoints: CheckpointPolicy{Store: store, Clock: time.Now}}
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := gather(ctx, parse(t, source, set...), upTo(2, o, cancel)); !Interrupted(err) {
			t.Fatalf("%s: not interrupted: %v", method, err)
		}
		equalRuns(t, method+" resumed", want[0], mustGather(t, parse(t, source, set...), o)[0])
		for name := range store.All() {
			if vectors, err := os.Stat(store.Path(name, 0)); strings.HasPrefix(name, "program") != (err != nil) ||
				err == nil && vectors.Size() < 2*4*4503 {
				t.Errorf("%s: %s has vectors %v", method, name, vectors)
			}
		}
	}
}

// A run is resumed with the program that began it, or with another one if that is asked for; then
// the results say so.
func TestExternalModelsOfAnotherProgram(t *testing.T) {
	t.Parallel()
	set := append(slices.Clone(withClasses), "run.rounds=8")
	mark := filepath.Join(t.TempDir(), "mark")
	say := func(text string) {
		expect.NoError(t, os.WriteFile(mark, []byte(text), 0o600))
	}
	say("libraries 1")
	source := servedBy("", "-mark=@"+mark)
	policy := CheckpointPolicy{Store: &checkpointtest.Store{Dir: t.TempDir()}, Clock: time.Now}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := gather(ctx, parse(t, source, set...), upTo(4, Options{Checkpoints: policy}, cancel)); !Interrupted(
		err) {
		t.Fatalf("not interrupted: %v", err)
	}
	say("libraries 2")
	_, err := gather(t.Context(), parse(t, source, set...), Options{Checkpoints: policy})
	const want = `problem.program.command: the program is another than before the interruption: it was ` +
		`"twin libraries 1", and is "twin libraries 2": go back to it, or add --allow-other-program`
	expect.Must(t, err != nil && strings.Contains(err.Error(), want), "got %v\nwant %s", err, want)
	run := mustGather(t, parse(t, source, set...), Options{Checkpoints: policy, AllowOtherProgram: true})[0]
	warned := slices.IndexFunc(run.Warnings, func(w results.Warning) bool { return w.About == "other program" })
	if run.External.Program != "twin libraries 2" || warned < 0 ||
		run.Warnings[warned].Text != `other program: it was resumed with "twin libraries 2", `+
			`and begun with "twin libraries 1"` {
		t.Errorf("program %q, warnings %v", run.External.Program, run.Warnings)
	}
}

// The rows may be those of the program, which has as many as the scenario says.
func TestExternalModelsWithRowsOfTheirOwn(t *testing.T) {
	t.Parallel()
	source := servedBy("", `-rows={"train":[5,5,5],"test":[5,5,5]}`)
	own := func(rows string) []string {
		return []string{"data.source=external", "data.external.clients=3", "data.external.rows=" + rows,
			"problem.regularizer_options.warm_start=0", "problem.regularizer=independent", "run.rounds=20"}
	}
	run := mustGather(t, parse(t, source, own("5")...), Options{})[0]
	if first, last := run.Rounds[0], run.Rounds[20]; !(last.Primal < first.Primal) ||
		last.TestError != last.TrainError {
		t.Errorf("the loss goes from %g to %g; errors %g and %g, of the same rows", first.Primal, last.Primal,
			last.TrainError, last.TestError)
	}
	_, err := gather(t.Context(), parse(t, source, own("6")...), Options{})
	want := `data.external.rows = "6": must be [5, 5, 5]: the program of ` +
		`problem.program.command has 3 clients with so many ` +
		`training rows`
	expect.That(t, err != nil && strings.Contains(err.Error(), want), "got %v, want %s", err, want)
}

// Problems on the same rows, such as those of a sweep over a regularizer, share the processes of a model.
func TestProblemsShareTheProcessesOfAModel(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	source := strings.Replace(servedBy("", "-log="+log), "[experiment.set]",
		"sweep = { \"problem.optimum.sweeps\" = [10, 20, 30] }\n[experiment.set]", 1)
	policy := CheckpointPolicy{Store: &checkpointtest.Store{Dir: t.TempDir()}, Clock: time.Now}
	runs := mustGather(t, parse(t, source, append(slices.Clone(withClasses), "run.rounds=3")...),
		Options{Workers: 2, Checkpoints: policy})
	if processes, _ := startsOf(t, log); len(processes) > 2 || len(runs) != 3 ||
		runs[0].ModelHash != runs[1].ModelHash {
		t.Errorf("%d processes for %d runs, which FedAvg makes alike: %x and %x", len(processes), len(runs),
			runs[0].ModelHash, runs[1].ModelHash)
	}
}

// A model that takes more memory than the machine has is refused with its number of values.
func TestAnExternalModelBeyondTheMemory(t *testing.T) {
	t.Parallel()
	set := append(slices.Clone(withClasses), "run.rounds=1")
	_, err := gather(t.Context(), parse(t, servedBy("", "-hidden=5000"), set...), Options{Memory: 9e5, Workers: 1})
	want := "hello: answers with values = 50003: w and g of 1 processes take 0.0021 GB, and the machine has 0.0009 GB"
	expect.That(t, err != nil && strings.Contains(err.Error(), want), "got %v, want %s", err, want)
}

// The memory of a method counts the vectors of its clients, in the precision of the model: of five
// clients that all respond, SCAFFOLD has 5 control variates and 10 vectors of 50,003 values under way,
// 0.8 MB for W, and FedAvg 5 vectors. Ditto has 5 personal models, and 10 vectors of clients at work.
func TestTheVectorsOfClientsBeyondTheMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, dtype string
		limit         float64 // bytes
		want          string  // empty: it fits, but for the start of the program
	}{
		{"scaffold", "float32", 3.7e6,
			"scaffold with 50003 values and vectors of 5 clients takes about 0.0038 GB, and the machine has 0.0037 GB"},
		{"scaffold", "float64", 6.7e6,
			"scaffold with 50003 values and vectors of 5 clients takes about 0.0068 GB, and the machine has 0.0067 GB"},
		{"fedavg", "float32", 1.7e6,
			"fedavg with 50003 values and vectors of 5 clients takes about 0.0018 GB, and the machine has 0.0017 GB"},
		{"ditto", "float32", 3.7e6,
			"ditto with 50003 values and vectors of 5 clients takes about 0.0038 GB, and the machine has 0.0037 GB"},
	} {
		source := strings.Replace(servedBy("", "-hidden=5000", "-idle", "-dtype="+c.dtype), "fedavg", c.method, 1)
		set := append(slices.Clone(withClasses), "run.rounds=1")
		if _, err := gather(t.Context(), parse(t, source, set...), Options{Memory: c.limit, Workers: 1}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.method, err, c.want)
		}
	}
}

// The estimate before a run knows the size of the model, since the program has started; its memory
// counts vectors of clients.
func TestTheEstimateKnowsAnExternalModel(t *testing.T) {
	t.Parallel()
	var seconds [2]float64
	for i, hidden := range []string{"-hidden=4", "-hidden=5000"} {
		o := Options{Workers: 1, Estimate: func(e Estimate) { seconds[i] = e.Runs }}
		mustGather(t,
			parse(t, servedBy("", hidden, "-idle"),
				append(slices.Clone(withClasses), "run.rounds=1", "run.eval_every=1", "data.synthetic.rows_max=11")...),
			o)
	}
	// A row has 4*6*5000 + 2*5000 + 6*5000*3 FLOPs in place of some hundred.
	expect.That(t, seconds[1] > seconds[0]+1e-3,
		"the runs are estimated at %g s with 43 values, at %g s with 50,003", seconds[0], seconds[1])
	q := func(method string) quantities {
		run := parse(t, servedBy("", "-hidden=4"),
			append(slices.Clone(withClasses), "methods.fedavg.algorithm="+method)...)[0].Jobs[0].Candidates[0]
		about := run.Describe(mtl.Shape{})
		q := quantities{devices: 5, tasks: 5}
		q.learning(&run.Settings, &about,
			mtl.Shape{Features: 6, Outputs: 3, Given: mtl.Sizes{Values: 1000, Single: true}},
			[]int32{10, 10, 10, 10, 10}, 1)
		return q
	}
	if fedavg, scaffold := q("fedavg"), q("scaffold"); fedavg.kept != 5*4000 || scaffold.kept != 15*4000 {
		t.Errorf("the vectors of clients take %g and %g bytes, must be 20000 and 60000", fedavg.kept, scaffold.kept)
	}
}
