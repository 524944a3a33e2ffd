package explain_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/experiment"
	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/explain"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/network"
	"fedsim/results/rundir"
)

// simulate runs a scenario with rows by device and returns its run directory.
func simulate(t *testing.T, source string, set ...string) string {
	t.Helper()
	s := expect.Value(scenario.Parse("x.toml", []byte(source), append([]string{"run.devices=true"}, set...)))(t)
	resolved := expect.Value(s.Resolved())(t)
	began := time.Unix(0, 0)
	w := expect.Value(rundir.Create(filepath.Join(t.TempDir(), "run"), false, rundir.About{
		Version: "test", Scenario: resolved, Seeds: s.Settings.Run.Seeds, Targets: s.Settings.Run.Targets,
		Started: began,
	}))(t)
	expect.NoError(t, experiment.Run(context.Background(), s.Experiments, experiment.Options{
		Workers: 1, Recorder: w, Clock: func() time.Time { return began },
	}))
	expect.NoError(t, w.Finish(rundir.Complete, rundir.End{At: began}))
	return w.Dir()
}

// explained analyzes the first run of a directory.
func explained(t *testing.T, dir string) *explain.Report {
	t.Helper()
	read := expect.Value(rundir.Read(dir))(t)
	run := expect.Value(explain.Find(read, ""))(t)
	r := expect.Value(explain.Read(dir, run))(t)
	return r
}

func explainScenario(t *testing.T, source string, set ...string) *explain.Report {
	t.Helper()
	return explained(t, simulate(t, source, set...))
}

// In timing mode, times do not depend on the model: a what-if estimate and the run with
// that change agree to the nanosecond.
const timed = `
[data.synthetic]
clients = 8
features = 6
rows_min = 10
rows_max = 200
[devices]
clock_ghz = 0.00002
speed_spread = 0.7
[network]
profile = "3g"
jitter = 0.4
[run]
mode = "timing"
rounds = 25
[methods.mocha]
options.epochs = 3
`

// fitsNone lets clients do all their work under protocol "deadline".
const fitsNone = "federation.protocol_options.fit_work=false"

// exact is the rounding difference of sums of a few dozen times of seconds.
const exact = 1e-9

func near(t *testing.T, what string, got, want, relative float64) {
	t.Helper()
	expect.That(t, math.Abs(got-want) <= relative*math.Abs(want), "%s is %v: must be %v", what, got, want)
}

// Overheads are a part of the path of their own: 0.2 s in each round where all devices are as fast
// as their profile. The rest of computing is as long as without them.
func TestOverheadsAreAPart(t *testing.T) {
	alike := "devices.speed_spread=0"
	r, plain := explainScenario(t, timed, alike, "overhead.task_s=0.2"), explainScenario(t, timed, alike)
	rounds := float64(len(r.Rounds))
	parts := r.Path.Parts()
	expect.Must(t, parts[2].Name == "compute" && parts[3].Name == "throttled" && parts[4].Name == "overhead",
		"the parts are %v", parts)
	near(t, "the overhead", parts[4].S, 0.2*rounds, exact)
	hot := explainScenario(t, timed, alike, "overhead.task_s=0.2", "devices.heat.k_per_w=100",
		"devices.heat.j_per_k=0.01", "devices.idle_w=0.01", "devices.compute_w=2").Path
	slow := hot.Parts()
	near(t, "computing, throttled or not", slow[2].S+slow[3].S, hot.ComputeS-hot.OverheadS, exact)
	expect.That(t, parts[3].S == 0 && slow[3].S > slow[2].S && slow[2].S > 0, "the parts are %v with heat", slow)
	near(t, "the overhead of all devices", r.All.OverheadS, 0.2*rounds*float64(len(r.Devices)), exact)
	near(t, "the compute time beside overheads", r.All.ComputeS-r.All.OverheadS, plain.All.ComputeS, 1e-7)
	if plain.All.OverheadS != 0 || !strings.Contains(r.Sections().Text(80), "\n  overhead ") ||
		strings.Contains(plain.Sections().Text(80), "overhead") {
		t.Errorf("%s\n%s", plain.Sections().Text(80), r.Sections().Text(80))
	}
}

// Under every protocol, paths add up to rounds, rounds to the run, and the activities
// of the devices to the time of the run.
func TestTimesAddUp(t *testing.T) {
	for name, c := range map[string]struct {
		set    []string
		causes []explain.Cause
	}{
		"overheads": {[]string{"overhead.task_s=0.2", "overhead.step_s=0.01",
			"overhead.compute_jitter=0.3"}, []explain.Cause{explain.Response}},
		"wait-for-all": {causes: []explain.Cause{explain.Response}},
		"drops":        {[]string{"faults.drop_probability=0.3"}, []explain.Cause{explain.Response}},
		"deadline": {[]string{"federation.protocol=deadline", fitsNone, "federation.deadline_s=1"},
			[]explain.Cause{explain.Deadline}},
		"charged": {[]string{"federation.protocol=charged"}, []explain.Cause{explain.Charge}},
		"first": {[]string{"federation.protocol=first", "federation.protocol_options.over_selection=1.5"},
			[]explain.Cause{explain.Response}},
		"losses": {[]string{"federation.protocol=first", "faults.drop_probability=0.3"},
			[]explain.Cause{explain.Dropout, explain.Response}},
		"limited": {[]string{"federation.protocol=first", "federation.deadline_s=0.8"},
			[]explain.Cause{explain.Deadline, explain.Response}},
		"away": {[]string{"traces.availability.mean_up_s=3", "traces.availability.mean_down_s=1"},
			[]explain.Cause{explain.Response}},
		"shared":  {[]string{"network.shared.server_up_mbps=0.05"}, []explain.Cause{explain.Response}},
		"sampled": {[]string{"federation.clients_per_round=3"}, []explain.Cause{explain.Response}},
		"hubs":    {[]string{"network.hubs.size=3"}, []explain.Cause{explain.Response}},
		"polls": {
			[]string{"overhead.client_poll_s=0.3", "overhead.launch_poll_s=0.1", "overhead.server_poll_s=0.25"},
			[]explain.Cause{explain.Response},
		},
		"asynchronous": {
			[]string{"run.mode=learning", "problem.optimum.when=never", "methods.mocha.algorithm=async-mocha",
				"federation.protocol=asynchronous"}, []explain.Cause{explain.Count},
		},
		"server": {[]string{"run.mode=learning", "problem.optimum.when=never", "federation.server_gflops=1e-6"},
			[]explain.Cause{explain.Response}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := explainScenario(t, timed, c.set...)
			sum, ended, excess := 0.0, 0, 0.0
			var causes []explain.Cause
			for i := range r.Rounds {
				x := &r.Rounds[i]
				path := 0.0
				for _, part := range x.Path.Parts() {
					path += part.S
					expect.That(t, part.S >= 0, "round %d has %v s of %s", x.Round, part.S, part.Name)
				}
				expect.That(t, math.Abs(path-x.LengthS) <= 1e-8,
					"the path of round %d adds up to %v s: must be %v", x.Round, path, x.LengthS)
				expect.That(t, x.ExcessS >= 0 && (x.Device >= 0) == (x.Cause == explain.Response),
					"round %d: %+v", x.Round, x)
				sum += x.LengthS
				if x.Device >= 0 {
					ended++
					excess += x.ExcessS
				}
				if !slices.Contains(causes, x.Cause) {
					causes = append(causes, x.Cause)
				}
			}
			slices.Sort(causes)
			expect.That(t, slices.Equal(causes, c.causes), "rounds ended by %v: must be by %v", causes, c.causes)
			near(t, "the sum of the rounds", sum, r.TimeS, exact)
			all := r.All
			expect.That(t, all.Ended == ended && math.Abs(all.ExcessS-excess) <= 1e-8,
				"devices ended %d rounds, %v s late: must be %d, %v", all.Ended, all.ExcessS, ended, excess)
			near(t, "device-seconds", all.DownlinkS+all.ComputeS+all.UplinkS+all.PollS+all.WaitS+all.UnavailableS+
				all.DepletedS, r.TimeS*float64(len(r.Devices)), exact)
			expect.That(t, name != "server" || r.Path.ServerS != 0, "the server's work is no part of the path")
			// A response that ends a round waits for polls alone, up to half a second or so.
			polls := r.Path.PollS / float64(len(r.Rounds))
			if name == "polls" && !(polls > 0.1 && polls < 0.65 && r.Path.WaitS == 0) || name != "polls" && polls > 0 {
				t.Errorf("%v s a round of polls and %v s of waiting", polls, r.Path.WaitS)
			}
			parts, devices := r.Where()
			sum = 0.0
			for _, part := range parts {
				sum += part.S
			}
			near(t, "the time of all parts", sum, r.TimeS, exact)
			expect.That(t, devices == (name == "deadline"), "the parts are of the devices: %t", devices)
			title := "time along the responses"
			if name == "deadline" {
				title = "time of the devices, mean"
			}
			if text := r.Sections().Text(80); !strings.Contains(text, title) {
				t.Error(text)
			}
		})
	}
}

// A device with ten times as many rows as the others ends every round. Its excess is
// the difference to the mean response time of the next device.
func TestStraggler(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeData(t, dir, 6, 1)
	r := explainScenario(t, csvScenario(file), "network.jitter=0", "devices.speed_spread=0")
	got := r.Slowest()[0]
	expect.Must(t, got == 5, "the slowest device is %d: must be 5, with ten times as many rows", got)
	d := &r.Devices[5]
	expect.That(t, d.Ended == len(r.Rounds) && d.WaitS == 0,
		"device 5 ended %d of %d rounds and waited %v s: must be all of them and 0", d.Ended, len(r.Rounds), d.WaitS)
	next := r.Devices[r.Slowest()[1]].ResponseS
	near(t, "the excess", d.ExcessS, float64(len(r.Rounds))*(d.ResponseS-next), 1e-6)
}

// The path to a target adds up to its time, for every metric. A target whose metric the
// run does not record is skipped.
func TestTargets(t *testing.T) {
	t.Parallel()
	dir := simulate(t, `
[data.synthetic]
clients = 4
features = 5
rows_min = 10
rows_max = 20
[problem]
optimum.when = "never"
[run]
rounds = 12
targets = { test_error = [0.9, 0.001], suboptimality = [0.1] }
[methods.mocha]
`)
	r := explained(t, dir)
	read := expect.Value(rundir.Read(dir))(t)
	run := &read.Runs[0]
	for i := range run.Rounds { // a slow decrease
		run.Rounds[i].TestError = 1 - float64(i)/30
	}
	r.AddTargets(run, read.Manifest.Targets)
	expect.Must(t, len(r.Targets) == 2 && r.Targets[0].Reached && !r.Targets[1].Reached, "targets %+v", r.Targets)
	hit := r.Targets[0]
	path := 0.0
	for _, part := range hit.Path.Parts() {
		path += part.S
	}
	expect.That(t, hit.Rounds == 3 && hit.Bytes > 0 && hit.EnergyJ > 0, "cost %+v", hit.Cost)
	near(t, "the path to the target", path, hit.TimeS, exact)
	if text := r.Sections().Text(80); !strings.Contains(text, "\n  test error by rows 90 % ") ||
		!strings.Contains(text, "\n  test error by rows 0.1 % ") {
		t.Error(text)
	}
}

// writeData writes a csv file of tasks; the last slow ones have ten times as many rows
// as the others.
func writeData(t *testing.T, dir string, tasks, slow int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("client,label,a,b\n")
	for k := range tasks {
		rows := 12 + k
		if k >= tasks-slow {
			rows *= 10
		}
		for i := range rows {
			fmt.Fprintf(&b, "%02d,%d,%d,%d\n", k, 1-2*(i%2), (i*7+k)%11, (i*5+3*k)%13)
		}
	}
	file := filepath.Join(dir, fmt.Sprintf("%d-%d.csv", tasks, slow))
	filetest.Write(t, file, b.String())
	return file
}

// slowData writes a csv file of 8 tasks, the last two the largest, and one without
// these two.
func slowData(t *testing.T) (with, fewer string) {
	t.Helper()
	dir := t.TempDir()
	with = writeData(t, dir, 8, 2)
	text := filetest.Read(t, with)
	less, _, _ := strings.Cut(string(text), "\n06,")
	fewer = filepath.Join(dir, "fewer.csv")
	filetest.Write(t, fewer, less+"\n")
	return with, fewer
}

// csvScenario returns scenario timed with the data of a file.
func csvScenario(file string) string {
	_, rest, _ := strings.Cut(timed, "[devices]")
	return fmt.Sprintf("[data]\nsource = \"csv\"\npath = %q\nclient_column = \"client\"\nlabel_column = \"label\"\n"+
		"test_fraction = 0\n[devices]", file) +
		strings.Replace(rest, "speed_spread = 0.7", "speed_spread = 0.1", 1)
}

// WithoutSlowest agrees with a run on the data set without these devices. The others
// have the same numbers and so the same jitter, drops and speeds.
func TestWithoutSlowest(t *testing.T) {
	with, fewer := slowData(t)
	for name, set := range map[string][]string{
		"wait-for-all": nil,
		"drops":        {"faults.drop_probability=0.2"},
		"losses":       {"network.loss_probability=0.1"},
		"first":        {"federation.protocol=first", "federation.protocol_options.over_selection=1.34"},
		"deadline":     {"federation.protocol=deadline", fitsNone, "federation.deadline_s=0.9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := explainScenario(t, csvScenario(with), set...)
			w := expect.Value(r.WithoutSlowest(2))(t)
			expect.Must(t, slices.Equal(w.Removed, []int{6, 7}), "the slowest are %v: must be 6 and 7", w.Removed)
			real := explainScenario(t, csvScenario(fewer), set...)
			near(t, "the time without the slowest", w.TimeS, real.TimeS, exact)
			all := real.All
			expect.That(t, w.Responses == all.Taken, "%d responses: must be %d", w.Responses, all.Taken)
			expect.That(t, name != "wait-for-all" || w.TimeS < 0.9*r.TimeS,
				"without the slowest it takes %v s of %v: the test compares nothing", w.TimeS, r.TimeS)
		})
	}
}

// Deadline agrees with a run with that deadline.
func TestDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		before, after []string
		deadlineS     float64
	}{
		"wait-for-all": {nil, []string{"federation.protocol=deadline", fitsNone, "federation.deadline_s=0.8"}, 0.8},
		"drops": {[]string{"faults.drop_probability=0.3"},
			[]string{"federation.protocol=deadline", fitsNone, "federation.deadline_s=0.8"}, 0.8},
		"loose": {nil, []string{"federation.protocol=deadline", fitsNone, "federation.deadline_s=30"}, 30},
		"deadline": {[]string{"federation.protocol=deadline", fitsNone, "federation.deadline_s=1.5"},
			[]string{"federation.deadline_s=0.9"}, 0.9},
		"first": {[]string{"federation.protocol=first", "federation.protocol_options.over_selection=1.2"},
			[]string{"federation.deadline_s=0.7"}, 0.7},
		"sampled": {[]string{"federation.clients_per_round=50 %"},
			[]string{"federation.protocol=deadline", fitsNone, "federation.deadline_s=0.8"}, 0.8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := explainScenario(t, timed, c.before...)
			w := expect.Value(r.Deadline(c.deadlineS))(t)
			real := explainScenario(t, timed, append(slices.Clone(c.before), c.after...)...)
			near(t, "the time with a deadline", w.TimeS, real.TimeS, exact)
			all := real.All
			expect.That(t, w.Responses == all.Taken, "%d responses in time: must be %d", w.Responses, all.Taken)
			if had := r.All; w.Baseline != had.Taken || name != "loose" && w.Responses >= had.Taken {
				t.Errorf("%d responses in time of %d, %d of them used: the test compares nothing", w.Responses,
					w.Baseline, had.Taken)
			}
		})
	}
}

// With learning, the set of devices changes the model and so the work: within 1 %.
func TestWithoutSlowestLearning(t *testing.T) {
	t.Parallel()
	with, fewer := slowData(t)
	learning := func(file string) *explain.Report {
		return explainScenario(t, strings.Replace(csvScenario(file), `mode = "timing"`, "", 1),
			"problem.optimum.when=never", "run.outer=2")
	}
	r := learning(with)
	w := expect.Value(r.WithoutSlowest(2))(t)
	real := learning(fewer)
	near(t, "the time without the slowest", w.TimeS, real.TimeS, 0.01)
	expect.That(t, w.TimeS < 0.9*r.TimeS,
		"without the slowest it takes %v s of %v: the test compares nothing", w.TimeS, r.TimeS)
}

// constant is a device and link model without any change in time.
type constant struct{}

func (*constant) Validate(*config.Checker) {}

func (constant) Speed(int, engine.Time) (float64, engine.Time) { return 1, engine.Never }

func (constant) Downlink(_ int, mbps float64, _ engine.Time) (float64, engine.Time) {
	return mbps, engine.Never
}

func (constant) Uplink(_ int, mbps float64, _ engine.Time) (float64, engine.Time) {
	return mbps, engine.Never
}

func init() {
	options := func() config.Options { return &constant{} }
	devices.RegisterModel(
		devices.ModelFactory{Name: "constant", Options: options,
			New: func(devices.ModelSetup, config.Options) (devices.Behavior, error) {
				return devices.Behavior{Speed: constant{}}, nil
			}})
	network.RegisterModel(
		network.ModelFactory{Name: "constant", Options: options,
			New: func(network.ModelSetup, config.Options) (network.Bandwidth, error) {
				return constant{}, nil
			}})
}

func TestRefusedEstimates(t *testing.T) {
	both := []string{"without", "deadline"}
	for name, c := range map[string]struct {
		set  []string
		of   []string
		want string
	}{
		"shared": {[]string{"network.shared.server_up_mbps=0.05"}, both, "transfers share links"},
		"hubs":   {[]string{"network.hubs.size=2"}, both, "hubs send responses together"},
		"polls":  {[]string{"overhead.server_poll_s=1"}, both, "wait for polls"},
		"radio":  {[]string{"network.radio=states"}, both, "wake-up time of a radio"},
		"availability": {[]string{"traces.availability.mean_up_s=3", "traces.availability.mean_down_s=1"}, both,
			"the virtual time"},
		"device model": {[]string{"devices.model=constant"}, both, "the virtual time"},
		"link model":   {[]string{"network.model=constant"}, both, "the virtual time"},
		"outage": {[]string{"faults.outage.share=0.5", "faults.outage.from_s=1", "faults.outage.to_s=2"}, both,
			"the virtual time"},
		"low battery": {[]string{"devices.battery.low=0.1", "devices.battery.when_low=slow"}, both,
			"their battery level"},
		"charged":  {[]string{"federation.protocol=charged"}, both, `protocol "charged"`},
		"relative": {[]string{"federation.cost=relative"}, []string{"without"}, `cost "relative"`},
		"sampled":  {[]string{"federation.clients_per_round=50 %"}, []string{"without"}, "some of the devices"},
		"fitted": {
			[]string{"federation.protocol=deadline", "federation.deadline_s=1",
				"federation.protocol_options.fit_work=true"},
			[]string{"deadline"}, "with fit_work",
		},
		"adaptive": {
			[]string{"federation.protocol=deadline", fitsNone, "federation.deadline_s=1",
				"federation.protocol_options.quantile=0.8"},
			[]string{"deadline"}, "protocol_options.quantile",
		},
		"kept": {[]string{"federation.protocol=first", "federation.protocol_options.over_selection=1.3",
			"federation.late=keep"},
			both, "keeps late responses"},
		"longer": {[]string{"federation.protocol=deadline", fitsNone, "federation.deadline_s=0.4"},
			[]string{"deadline"},
			"ended at its deadline of 0.4 s"},
		"lost": {[]string{"federation.protocol=first", "faults.drop_probability=0.5"}, []string{"without"},
			"that the rows do not record"},
		"min reports": {
			[]string{"federation.protocol=deadline", fitsNone, "federation.deadline_s=1", "federation.min_reports=7"},
			both,
			"min_reports",
		},
		"depleted": {[]string{"devices.battery.wh=0.001", "devices.charging.when=when-depleted",
			"devices.charging.watts=5", "federation.protocol=deadline", fitsNone, "federation.deadline_s=2"}, both,
			"batteries were depleted"},
		"asynchronous": {
			[]string{"run.mode=learning", "problem.optimum.when=never", "methods.mocha.algorithm=async-mocha",
				"federation.protocol=asynchronous"}, both, `protocol "asynchronous"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := explainScenario(t, timed, c.set...)
			for _, of := range c.of {
				var err error
				if of == "without" {
					_, err = r.WithoutSlowest(2)
				} else {
					_, err = r.Deadline(0.5)
				}
				expect.That(t, errors.Is(err, explain.ErrUnknown) && strings.Contains(err.Error(), c.want),
					"%s: %v: must say %q", of, err, c.want)
			}
		})
	}
}

func TestInvalidChanges(t *testing.T) {
	t.Parallel()
	r := explainScenario(t, timed)
	for _, k := range []int{-1, 0, 8, 9} {
		_, err := r.WithoutSlowest(k)
		expect.That(t, err != nil && strings.Contains(err.Error(), "fewer than the 8"), "without %d: %v", k, err)
	}
	for _, s := range []float64{-1, 0, math.NaN(), math.Inf(1)} {
		_, err := r.Deadline(s)
		expect.That(t, err != nil && strings.Contains(err.Error(), "must be positive"), "deadline %v: %v", s, err)
	}
}

// A device that misses a deadline is late by its response time in the same run without one: by an
// estimate where the round ends its attempt, and as measured where the server keeps the response.
func TestLateness(t *testing.T) {
	const deadlineS = 0.7
	deadline := []string{"network.jitter=0", "federation.protocol=deadline", fitsNone,
		fmt.Sprint("federation.deadline_s=", deadlineS)}
	truth := explainScenario(t, timed, "network.jitter=0")
	for name, set := range map[string]string{"ended": "federation.late=drop", "kept": "federation.late=keep"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := explainScenario(t, timed, append([]string{set}, deadline...)...)
			missed, rounds := 0, 0
			for client := range r.Devices {
				d, late := &r.Devices[client], truth.Devices[client].ResponseS-deadlineS
				if late <= 0 {
					expect.That(t, d.Missed == 0 && d.LateByS == 0, "device %d is in time: %+v", client, d)
					continue
				}
				missed++
				rounds += d.Missed
				expect.That(t, d.Missed > 0 && !d.LateAtLeast, "device %d is late: %+v", client, d)
				near(t, fmt.Sprintf("how late device %d is", client), d.LateByS, late, 1e-6)
			}
			expect.Must(t, missed > 1 && missed < len(r.Devices), "%d devices are late: the test compares nothing",
				missed)
			want := fmt.Sprintf("%d of 8 devices missed the deadline of 700 ms, in %d of %d attempts", missed, rounds,
				r.All.Selected)
			text := r.Sections().Text(80)
			expect.That(t, strings.Contains(text, want), "no %q in %s", want, text)
		})
	}
}

// Equal devices send at the same time. Rounds are longer by what uplinks take more than alone, and the
// uplink of the cell is named.
func TestSharedLinks(t *testing.T) {
	t.Parallel()
	equal := []string{"network.jitter=0", "devices.speed_spread=0", "data.synthetic.rows_min=50",
		"data.synthetic.rows_max=50"}
	alone := explainScenario(t, timed, equal...)
	r := explainScenario(t, timed, append(equal, "network.shared.cells=2", "network.shared.cell_up_mbps=0.05",
		"network.shared.server_up_mbps=10", "network.shared.cell_down_mbps=1000")...)
	expect.Must(t, len(alone.Shared) == 0 && len(r.Shared) > 0, "shared links %+v and %+v", alone.Shared, r.Shared)
	longer, rounds := 0.0, 0
	for _, l := range r.Shared {
		expect.That(t, strings.HasPrefix(l.Link, "uplink of cell ") && l.Mbps == 0.05 && l.Busy > 0 && l.Busy < 1,
			"a link %+v", l)
		longer, rounds = longer+l.LongerS, rounds+l.Rounds
	}
	expect.That(t, rounds == len(r.Rounds), "%d rounds are delayed: must be all of %d", rounds, len(r.Rounds))
	near(t, "the delay", longer, r.TimeS-alone.TimeS, 1e-6)
	apart := explainScenario(t, timed, "network.shared.cells=5", "network.shared.cell_up_mbps=0.005")
	for _, x := range apart.Rounds {
		expect.That(t, x.Device%5 > 0 && x.Link == fmt.Sprintf("uplink of cell %d", x.Device%5),
			"device %d was delayed by %q", x.Device, x.Link)
	}
	text := r.Sections().Text(80)
	expect.That(t, strings.Contains(text, "uplink of cell 0  ") && strings.Contains(text, " %, cell 0\n"), "%s", text)
}

// Without sharing, a run in cells of airtime takes as long as one whose devices have links of their own.
func TestUnshared(t *testing.T) {
	t.Parallel()
	const large = "network.wire.header_bytes=20000"
	alone := explainScenario(t, timed, large)
	for _, cells := range [][]string{
		{"network.shared.cells=2", `network.shared.cell_share="airtime"`},
		{"network.shared.cells=3", "network.shared.cell_up_mbps=0.1", "network.shared.server_down_mbps=0.2"},
	} {
		r := explainScenario(t, timed, append(cells, large)...)
		w := expect.Value(r.Unshared())(t)
		expect.That(t, r.TimeS > 1.2*alone.TimeS, "%v share nothing", cells)
		near(t, fmt.Sprintf("the time of %v without sharing", cells), w.TimeS, alone.TimeS, 1e-7)
		longer := r.Path.DownSharedS + r.Path.UpSharedS
		expect.That(t, longer > 0 && strings.Contains(r.Sections().Text(80), "link shared  "), "%v: %v s longer", cells,
			longer)
	}
	if _, err := alone.Unshared(); !errors.Is(err, explain.ErrUnknown) {
		t.Errorf("without shared links: %v", err)
	}
}

// The devices of a fleet have the classes with which they were assembled.
func TestClasses(t *testing.T) {
	t.Parallel()
	source := strings.Replace(timed, "clock_ghz = 0.00002\nspeed_spread = 0.7\n", "", 1)
	source = strings.Replace(source, "profile = \"3g\"\n", "", 1)
	r := explainScenario(t, source, "fleet.name=mixed", "data.synthetic.clients=40")
	expect.Must(t, len(r.Classes) >= 2, "%d classes", len(r.Classes))
	devices, selected := 0, 0
	for _, c := range r.Classes {
		devices += c.Devices
		selected += c.Selected
	}
	if all := r.All; devices != 40 || selected != all.Selected {
		t.Errorf("classes have %d devices, selected %d times: must be 40 and %d", devices, selected, all.Selected)
	}
	if text := r.Sections().Text(80); !strings.Contains(text, "by class") {
		t.Error(text)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir := simulate(t, timed+"[sweep]\n\"network.jitter\" = [0.1, 0.4]\n", "run.seeds=[1, 2]")
	read := expect.Value(rundir.Read(dir))(t)
	expect.Must(t, len(read.Runs) == 4, "%d runs", len(read.Runs))
	for i := range read.Runs {
		run := expect.Value(explain.Find(read, read.Runs[i].ID))(t)
		r := expect.Value(explain.Read(dir, run))(t)
		last := read.Runs[i].Rounds[len(read.Runs[i].Rounds)-1]
		expect.That(t, r.TimeS == last.TimeS && len(r.Rounds) == last.Round,
			"run %s: %d rounds in %v s: must be %d in %v", run.ID, len(r.Rounds), r.TimeS, last.Round, last.TimeS)
	}
	read.Scenario = []byte(timed)
	_, err := explain.Find(read, read.Runs[0].ID)
	expect.That(t, err != nil && strings.Contains(err.Error(), "does not define run"), "another scenario: %v", err)
}

func TestWithoutRows(t *testing.T) {
	t.Parallel()
	dir := simulate(t, timed, "run.devices=false")
	read := expect.Value(rundir.Read(dir))(t)
	run := expect.Value(explain.Find(read, ""))(t)
	_, err := explain.Read(dir, run)
	expect.That(t, errors.Is(err, rundir.ErrNoDevices), "%v: must be %v", err, rundir.ErrNoDevices)
}

// A sentence lists ten devices at most.
func TestListsTenDevices(t *testing.T) {
	t.Parallel()
	w := &explain.WhatIf{Protocol: "wait-for-all", TimeS: 1, Responses: 3, Baseline: 4}
	for k := range 12 {
		w.Removed = append(w.Removed, 2*k)
	}
	r := explain.Report{Run: &scenario.RunSpec{}, TimeS: 2, WhatIf: []*explain.WhatIf{w}}
	const want = "\nwhat if\n  without the 12 slowest devices, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18 and 2 more, " +
		"protocol wait-for-all: 1.00 s instead of 2.00 s (50.0 %); 3 responses instead of 4\n"
	text := r.Sections().Text(400)
	expect.That(t, strings.HasSuffix(text, want), "got  %swant %s", text, want)
}
