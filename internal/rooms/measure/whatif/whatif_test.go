package whatif

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/rooms/measure/calibration"
	"fedsim/internal/rooms/measure/prediction"
	"fedsim/internal/tools/certainty"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// work is what the clients of a generated run do.
type work struct {
	name                         string
	bytes, epochs, batch, perRow float64
}

var works = []work{{"base", 1e5, 1, 32, 3e5}, {"long", 1e5, 3, 16, 3e5}, {"large", 2e5, 1, 32, 6e5}}

// clients of a generated federation: client i has 1000 (i+1) rows, and takes factor times as long as the first.
var factors = []float64{1, 1.6, 0.7, 2.2, 0.5, 1.2}

// parts returns the times of a client's attempt: transfer one way, and computation.
func (w *work) parts(client int) (transfer, compute float64) {
	rows := 1000 * float64(client+1)
	transfer = w.bytes * 8e-6 / (4 + float64(client))
	return transfer, factors[client] * (0.05 + 2e-4*w.epochs*math.Ceil(rows/w.batch) + rows*w.epochs*w.perRow/5e9)
}

// responses returns the times of all clients, the shortest first.
func (w *work) responses() []float64 {
	var all []float64
	for i := range factors {
		transfer, compute := w.parts(i)
		all = append(all, 2*transfer+compute)
	}
	slices.Sort(all)
	return all
}

// generated is the log of runs of ten rounds that wait for all; drop names a column that is empty.
func generated(t *testing.T, drop string, runs ...work) *attemptlog.Log {
	t.Helper()
	head := strings.Fields("run round client bytes_down bytes_up examples epochs batch flops sent_s reply_first_s " +
		"seen_s receive_s wait_s compute_s down_mbps up_mbps")
	text := strings.Join(head, ",") + "\n"
	for _, w := range runs {
		now := 0.0
		for round := range 10 {
			for i := range factors {
				rows := 1000 * float64(i+1)
				transfer, compute := w.parts(i)
				end := now + 2*transfer + compute
				cells := fmt.Sprintf("%s,%d,%d,%g,%g,%g,%g,%g,%g,%v,%v,%v,%v,0,%v,%v,%v", w.name, round, i,
					w.bytes, w.bytes, rows, w.epochs, w.batch, rows*w.epochs*w.perRow, now, end-transfer, end,
					transfer, compute, 4+i, 4+i)
				fields := strings.Split(cells, ",")
				if k := slices.Index(head, drop); k >= 0 {
					fields[k] = ""
				}
				text += strings.Join(fields, ",") + "\n"
			}
			now += slices.Max(w.responses())
		}
	}
	return expect.Value(attemptlog.Read(filetest.New(t, "log.csv", text)))(t)
}

// study fits a log.
func study(t *testing.T, log *attemptlog.Log) *Study {
	t.Helper()
	c := expect.Value(calibration.Fit(log, calibration.Options{Resamples: -1}))(t)
	return &Study{Log: log, Calibration: c, Seeds: 20, Compute: experiment.Options{Clock: time.Now},
		Permit: func(*scenario.Scenario) error { return nil }}
}

// ask compares changes.
func ask(t *testing.T, log *attemptlog.Log, changes ...string) *Report {
	t.Helper()
	return expect.Value(study(t, log).Compare(t.Context(), expect.Value(Changes(changes))(t)))(t)
}

// The model of a generated federation, whose times are known, gives the times of other protocols, of more work and
// of other messages, and their order.
func TestGenerated(t *testing.T) {
	base, long := works[0], works[0]
	long.epochs = 2
	all := base.responses()
	r := ask(t, generated(t, "", works...),
		"federation.protocol=first,federation.clients_per_round=3,federation.protocol_options.over_selection=2",
		"federation.protocol=deadline,federation.deadline_s=0.6,federation.protocol_options.fit_work=false",
		"methods.fedavg.options.epochs=2", "run.rounds=5", "network.jitter=0")
	want := []float64{10 * all[5], 10 * all[2], 6, 10 * slices.Max(long.responses()), 5 * all[5], 10 * all[5]}
	for i, w := range r.Rows {
		expect.That(t, math.Abs(w.TimeS/want[i]-1) < 0.01 && w.LowS <= w.TimeS && w.TimeS <= w.HighS,
			"%s takes %g to %g s, median %g: must be %g", w.Label, w.LowS, w.HighS, w.TimeS, want[i])
		expect.That(t, math.Abs(w.Times-want[i]/want[0]) < 0.01 && w.TimesLow <= w.Times && w.Times <= w.TimesHigh,
			"%s takes %g times as long, %g to %g", w.Label, w.Times, w.TimesLow, w.TimesHigh)
		expect.That(t, w.Same == (i == 5), "%s changes nothing: %t", w.Label, w.Same)
	}
	var labels, ranks []string
	for _, w := range r.Rows {
		labels, ranks = append(labels, w.Label), append(ranks, fmt.Sprint(w.RankLow, "-", w.RankHigh))
	}
	got := strings.Join(labels, " ")
	expect.That(t, got == "unchanged protocol=first protocol=deadline epochs=2 rounds=5 jitter=0", "%s", got)
	expect.That(t, r.Certain && ranks[3] == "6-6" && ranks[0] == "4-5" && ranks[5] == "4-5", "ranks %v", ranks)
	expect.That(t, r.Rows[1].Responses == 30 && r.Rows[4].Rounds == 5, "%+v", r.Rows)
	expect.That(t, len(r.Replayed) == 3 && r.Error < 0.01 && r.Run == "base", "%+v", r.Replayed)
	text := r.Sections().Text(80)
	for _, part := range []string{"as measured", "order: certain", "note: jitter=0: changes nothing",
		"protocol=first: federation.protocol=first, federation.clients_per_round=3"} {
		expect.That(t, strings.Contains(text, part), "%q is not in\n%s", part, text)
	}
	expect.Value(r.Figure())(t)
}

// A change that needs terms that the logs do not identify is refused with their names and reasons, and nothing else
// is told: neither with one kind of work, nor without computations or transfers.
func TestNotIdentified(t *testing.T) {
	protocol := "federation.protocol=first,federation.clients_per_round=3"
	for name, c := range map[string]struct {
		log    *attemptlog.Log
		change string
		want   []string
	}{
		"one kind of work": {generated(t, "", works[0]), "methods.fedavg.options.epochs=2",
			[]string{"task_overhead_s", "step_overhead_s", "every attempt of a client has the same work", "epochs=2"}},
		"another batch":   {generated(t, "", works[0]), "methods.fedavg.options.batch=8", []string{"step_overhead_s"}},
		"no computations": {generated(t, "compute_s", works...), protocol, []string{"gflops", "compute_s is empty"}},
		"no transfers":    {generated(t, "receive_s", works...), protocol, []string{"down_mbps", "receive_s is empty"}},
	} {
		r, err := study(t, c.log).Compare(t.Context(), expect.Value(Changes([]string{"run.rounds=5", c.change}))(t))
		expect.That(t, r == nil && errors.Is(err, ErrNotIdentified), "%s: %v", name, err)
		for _, part := range c.want {
			expect.That(t, strings.Contains(fmt.Sprint(err), part), "%s: %q is not in %v", name, part, err)
		}
	}
	// A protocol needs no other work.
	ask(t, generated(t, "", works[0]), protocol)
}

// Rows whose order changes with the seed, or that are closer than the prediction error, are not told apart.
func TestOrder(t *testing.T) {
	known := func(of func(seed int) float64) *row {
		p := &row{}
		for seed := range 20 {
			p.times = append(p.times, certainty.Bounds{Low: of(seed), High: of(seed)})
		}
		return p
	}
	changes := []Change{{Label: "faster"}, {Label: "alike"}, {Label: "either"}, {Label: "stalls"}}
	r := &Report{Run: "a", Seeds: 20, Replayed: []Replay{{"a", 10, 10.5, 0.05}, {"b", 10, 9.8, -0.02}}}
	r.fill(changes, []*row{
		known(func(int) float64 { return 10.2 }), known(func(int) float64 { return 5 }),
		known(func(int) float64 { return 10 }), known(func(seed int) float64 { return 8 + 4*float64(seed%2) }),
		known(func(int) float64 { return math.Inf(1) }),
	})
	expect.That(t, r.Error == 0.05 && !r.Certain, "error %g, certain %t", r.Error, r.Certain)
	var ranks []string
	for _, w := range r.Rows {
		ranks = append(ranks, fmt.Sprint(w.RankLow, w.RankHigh))
	}
	expect.That(t, slices.Equal(ranks, []string{"2 4", "1 1", "2 4", "2 4", "5 5"}), "ranks %v", ranks)
	expect.That(t, slices.Equal(r.Open, []string{"unchanged and either", "alike and either"}), "open: %q", r.Open)
	text := r.Sections().Text(80)
	expect.That(t, strings.Contains(text, "order: not certain for unchanged and either") &&
		strings.Contains(text, "never"), "%s", text)
}

// Too few seeds cannot order the rows, and a change is one setting.
func TestStudyErrors(t *testing.T) {
	log := generated(t, "", works...)
	for _, c := range []struct {
		seeds        int
		change, want string
	}{
		{6, "run.rounds=5", "must be at least 7"}, {20, "sweep.run.rounds=[3,5]", "without a sweep"},
		{20, "federation.protocol=fist", `did you mean "first"?`}, {20, "run.roundss=3", "did you mean rounds?"},
	} {
		s := study(t, log)
		s.Seeds = c.seeds
		_, err := s.Compare(t.Context(), expect.Value(Changes([]string{c.change}))(t))
		expect.That(t, err != nil && strings.Contains(err.Error(), c.want), "%s: %v", c.change, err)
	}
	s, refused := study(t, log), errors.New("refused")
	s.Permit = func(*scenario.Scenario) error { return refused }
	if _, err := s.Compare(t.Context(), nil); !errors.Is(err, refused) {
		t.Error(err)
	}
}

// Commas separate settings where the next one begins; labels are as short as tells changes apart.
func TestChanges(t *testing.T) {
	for text, want := range map[string][]string{
		"a.b=1,c=2": {"a.b=1", "c=2"}, `a=[1, 2], b="x,y=1"`: {"a=[1, 2]", `b="x,y=1"`},
		"a={ b = 1, c = 2 },d=x, y": {"a={ b = 1, c = 2 }", "d=x, y"}, "a='b,c=1'": {"a='b,c=1'"},
	} {
		expect.That(t, slices.Equal(split(text), want), "%s: %q", text, split(text))
	}
	of := func(texts ...string) (labels []string) {
		for _, c := range expect.Value(Changes(texts))(t) {
			labels = append(labels, c.Label)
		}
		return labels
	}
	got := of("federation.protocol=first,run.rounds=3", "federation.protocol=first,run.rounds=4", "network.jitter=")
	labels := []string{"protocol=first, rounds=3", "protocol=first, rounds=4", "jitter=default"}
	expect.That(t, slices.Equal(got, labels), "%q", got)
	for text, want := range map[string]string{"a": "must be key=value", "run.seeds=[1]": "cannot be changed"} {
		_, err := Changes([]string{text})
		expect.That(t, err != nil && strings.Contains(err.Error(), want), "%s: %v", text, err)
	}
	_, err := Changes([]string{"run.rounds=3", "run.rounds=3"})
	expect.That(t, err != nil && strings.Contains(err.Error(), "is there twice"), "%v", err)
}

// Three plain runs of the rig (bench/rig, paced layer, on a busy machine) predict other configurations, which were
// measured. The settings of changes are those of plan.toml; clients and links that a scenario cannot change are those
// of the logs (fedsim calibrate --check). Kendall's tau of the twelve makespans is 0.95 at least.
func TestRig(t *testing.T) {
	read := func(names ...string) *attemptlog.Log {
		var paths []string
		for _, name := range names {
			paths = append(paths, filepath.Join("testdata", "rig", name+".csv"))
		}
		return expect.Value(attemptlog.Read(paths...))(t)
	}
	late := "federation.late=keep"
	names := []string{"deadline", "first4", "fedbuff", "bytes4", "epochs5", "batch8", "fair", "four"}
	s := study(t, read("cal1", "cal2", "cal3"))
	r := expect.Value(s.Compare(t.Context(), expect.Value(Changes([]string{
		"federation.protocol=deadline,federation.deadline_s=1.33,federation.protocol_options.fit_work=false," + late,
		"federation.protocol=first,federation.clients_per_round=4,federation.protocol_options.over_selection=2," + late,
		"federation.protocol=asynchronous,methods.fedbuff.options.buffer=4",
		"data.external.features=50060", "methods.fedavg.options.epochs=5", "methods.fedavg.options.batch=8",
		"network.shared.cells=1,network.shared.cell_down_mbps=16,network.shared.cell_up_mbps=16",
		`data.external.clients=4,data.external.rows=[16000,20000,28000,36000],fleet.assignment=["1","3","5","7"]`,
	}))(t)))(t)
	expect.That(t, r.Certain, "open: %q", r.Open)
	var measured, predicted []float64
	compare := func(name string, p float64) {
		m := prediction.Measured(read(name).Runs[0]).Makespan
		measured, predicted = append(measured, m), append(predicted, p)
		t.Logf("%-8s measured %6.2f s, predicted %6.2f s: %+.2f %%", name, m, p, 100*(p/m-1))
	}
	for i, name := range names {
		compare(name, r.Rows[i+1].TimeS)
		w := &r.Rows[i+1]
		expect.That(t, math.Abs(w.TimeS/measured[i]-1) < 0.01, "%s: predicted %g s, measured %g s", name, w.TimeS,
			measured[i])
	}
	dir := filepath.Join(t.TempDir(), "cal")
	expect.NoError(t, s.Calibration.Write(dir, s.Log, calibration.Results{}, false))
	for _, name := range []string{"rates", "killed", "twelve", "model"} {
		run := read(name).Runs[0]
		models, _, err := prediction.NewModels(dir, s.Calibration, run)
		expect.NoError(t, err)
		compare(name, expect.Value(prediction.Check(t.Context(), run, models))(t).PredictedS)
	}
	tau := stat.Kendall(measured, predicted, nil)
	t.Logf("Kendall's tau of %d configurations: %.3f", len(measured), tau)
	expect.That(t, len(measured) == 12 && tau >= 0.95, "tau %g", tau)
}
