package experiment

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"fedsim/experiment/scenario"
	"fedsim/internal/rooms/theory/twin"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/racetest"
)

// equalTwins has devices of one class, with a log-normal computation of mean 10 s; mixedTwins has four of each of
// three classes, of 2, 10.31 and 41.7 s.
const (
	equalTwins = `
[data.synthetic]
clients = 20
features = 10
rows_min = 40
rows_max = 40
[devices]
flops_per_cycle = 1e9
idle_w = 1
compute_w = 3
battery.wh = "mains"
[overhead]
task_s = 10
compute_jitter = 1.0
[network]
profile = "ethernet"
rtt_ms = 0
downlink_mbps = 1e6
uplink_mbps = 1e6
[federation]
protocol = "wait-for-all"
[run]
mode = "timing"
rounds = 2000
[methods.fedavg]
`
	mixedTwins = `
[data.synthetic]
clients = 12
features = 10
rows_min = 40
rows_max = 40
[fleet]
name = "testdata/three-classes.toml"
assignment = ["fast", "mid", "slow"]
[federation]
protocol = "asynchronous"
clients_per_round = 4
[run]
mode = "timing"
rounds = 2000
[methods.m]
algorithm = "fedasync"
`
)

// twinsOf compares the one job of a scenario with its forms.
func twinsOf(t *testing.T, text string, set ...string) Twin {
	t.Helper()
	found := expect.Value(Twins(t.Context(), scenarioOf(t, text, set...).Experiments, Options{Clock: time.Now}))(t)
	expect.Must(t, len(found) == 1, "there are %d comparisons", len(found))
	return found[0]
}

// A setting of each form: the values are those of another program (internal/rooms/theory/twin/testdata), and the
// simulation contradicts no exact one.
func TestTwins(t *testing.T) {
	racetest.Skip(t, "compares means of many runs; shorter tests run the same rounds in parallel")
	const (
		cohort, drop     = "federation.clients_per_round=", "faults.drop_probability="
		first            = "federation.protocol=first"
		onOff            = "traces.availability.mean_up_s=120"
		off              = "traces.availability.mean_down_s=60"
		exponentialFleet = "fleet.name=testdata/three-classes-exponential.toml"
	)
	exponential := []string{"overhead.compute_distribution=exponential"}
	rounds := []string{"federation.protocol=deadline", "federation.protocol_options.fit_work=false"}
	cell := []string{"federation.protocol=asynchronous", "methods.fedavg.algorithm=fedasync", "network.shared.cells=1",
		"network.bytes_scale=1e6"}
	for _, c := range []struct {
		name string
		text string
		set  []string
		want map[string]float64
	}{
		{"asynchronous, log-normal", mixedTwins, nil, map[string]float64{"updates per second": 0.299217918,
			"joules an update": 66.8409169, "slow: staleness": 10.0050121, "slow: share at work": 0.656531401}},
		{"asynchronous, exponential", mixedTwins, []string{cohort + "11", exponentialFleet},
			map[string]float64{"updates per second": 2.0652268, "slow: staleness": 84.9595096}},
		{"asynchronous, fixed", mixedTwins, []string{cohort + "8", "fleet.name=testdata/three-classes-fixed.toml"},
			map[string]float64{"updates per second": 1.01573043}},
		{"asynchronous, drops", mixedTwins, []string{cohort + "6", drop + "0.3"},
			map[string]float64{"updates per second": 0.404837838, "messages an update": 1 / 0.7}},
		{"asynchronous, radios", equalTwins, []string{"federation.protocol=asynchronous", cohort + "5",
			"methods.fedavg.algorithm=fedasync", "network.profile=lte", "network.bytes_scale=1e5", "network.rtt_ms=",
			"network.downlink_mbps=", "network.uplink_mbps="},
			map[string]float64{"updates per second": 0.125905593, "joules an update": 273.609275}},
		{"one cell", equalTwins, append(cell, cohort+"8", "network.shared.cell_up_mbps=1152"),
			map[string]float64{"updates per second": 0.661627662, "uploads under way": 1.38296119}},
		{"queues", mixedTwins, []string{exponentialFleet, "federation.protocol_options.queue=true"},
			map[string]float64{"updates per second": 0.148603919, "slow: staleness": 7.33463946}},
		{"all", equalTwins, exponential, map[string]float64{"seconds a round": 35.9773966}},
		{"all, retries", equalTwins, append(exponential, drop+"0.4"),
			map[string]float64{"seconds a round": 59.9623276, "messages a round": 20 / 0.6}},
		{"a cohort of three classes", mixedTwins, []string{cohort + "5", "federation.protocol=wait-for-all",
			"methods.m.algorithm=fedavg"}, map[string]float64{"seconds a round": 53.8095907}},
		{"first, drops", equalTwins, []string{first, cohort + "8", "federation.protocol_options.over_selection=1.5",
			drop + "0.5"},
			map[string]float64{"seconds a round": 29.3180115}},
		{"first, deadline", equalTwins, []string{first, cohort + "8", "federation.protocol_options.over_selection=1.5",
			"federation.deadline_s=10"},
			map[string]float64{"seconds a round": 8.61134498, "participants a round": 7.33031148}},
		{"deadline", equalTwins, append(rounds, "federation.deadline_s=15", "federation.min_reports=14", drop+"0.1"),
			map[string]float64{"participants a round": 11.5011057, "void rounds": 0.263192745}},
		{"deadline, joules", equalTwins, append(append(rounds, "federation.deadline_s=12"), exponential...),
			map[string]float64{"participants a round": 13.9761158, "joules a round": 519.522315}},
		{"on and off", equalTwins, append(append(rounds, "federation.deadline_s=400", onOff, off), exponential...),
			map[string]float64{"clients available": 40. / 3, "participants a round": 12.3076923}},
		{"on and off, waiting", equalTwins, append(rounds, "federation.deadline_s=400", onOff, off,
			"federation.min_available=18"), map[string]float64{"wait for a round in s": 704.631082}},
		{"one client on and off", equalTwins, []string{"data.synthetic.clients=1", "overhead.task_s=30",
			"overhead.compute_jitter=0", onOff, off}, map[string]float64{"seconds a round": 52.0706576}},
		{"secure aggregation", equalTwins, append(rounds, "federation.deadline_s=1000", drop+"0.3",
			"methods.fedavg.options.weights=equal", "privacy.secure_aggregation=secagg"),
			map[string]float64{"void rounds": 0.391990188}},
		{"battery", equalTwins, append(rounds, "federation.deadline_s=20", "run.rounds=150", "devices.battery.wh=1",
			"devices.charging.when=never"), map[string]float64{"round of depletion": 96.6444108}},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := twinsOf(t, c.text, c.set...)
			for quantity, want := range c.want {
				row, ok := found.Row(quantity)
				expect.That(t, ok && math.Abs(row.Form-want) <= 2e-4*want, "%s: the form is %.9g, want %.9g", quantity,
					row.Form, want)
				expect.That(t, math.Abs(row.Z()) <= mostZ, "%s: simulated %g, the form is %g: z = %.2f", quantity,
					row.Simulated, row.Form, row.Z())
			}
			for i := range found.Rows {
				expect.That(t, !found.Rows[i].Broken(), "%+v: z = %.2f", found.Rows[i], found.Rows[i].Z())
			}
		})
	}
}

// Settings without a form name the key that is the reason, and those whose form is not exact say why.
func TestTwinsWithoutForm(t *testing.T) {
	racetest.Skip(t, "compares means of many runs; shorter tests run the same rounds in parallel")
	for _, c := range []struct {
		text, set, quantity, want string
	}{
		{equalTwins, "federation.protocol=charged", "all", NoForm + "federation.protocol"},
		{equalTwins, "federation.protocol=deadline federation.deadline_s=20", "all", NoForm +
			"federation.protocol_options.fit_work"},
		{equalTwins, "network.jitter=0.2", "seconds a round", NoForm + "network.jitter"},
		{equalTwins, "faults.never=[1] federation.protocol=first", "all", NoForm + "faults.never"},
		{equalTwins, "faults.drop_probability=0.1", "seconds a round", NoForm + "faults.drop_probability"},
		{equalTwins, "devices.battery.wh=0.01", "seconds a round", NoForm + "devices.battery.wh"},
		{equalTwins, "traces.availability.mean_up_s=600", "seconds a round", NoForm + "traces.availability.mean_up_s"},
		{equalTwins, "network.shared.server_up_mbps=1", "seconds a round", NoForm + "network.shared"},
		{mixedTwins, "network.shared.cells=2 network.shared.cell_up_mbps=1", "updates per second",
			NoForm + "network.shared"},
		{mixedTwins, "methods.m.algorithm=ringmaster methods.m.options.stop=false federation.server_gflops=1",
			"updates per second", ""},
		{mixedTwins, "federation.server_gflops=1e-7", "updates per second", Approximate + "fixed server time"},
		{mixedTwins, "federation.protocol_options.queue=true", "updates per second",
			Approximate + "times that are not exponential"},
		{mixedTwins, "fleet.name=testdata/three-classes-fixed.toml", "updates per second", Exact},
		{equalTwins, "methods.fedavg.algorithm=fedasync federation.protocol=asynchronous", "updates per second", Exact},
	} {
		set := append(strings.Fields(c.set), "run.rounds=300")
		if c.want == "" { // the program refuses it
			_, err := Twins(context.Background(), scenarioOf(t, c.text, set...).Experiments, Options{Clock: time.Now})
			expect.That(t, err != nil && strings.Contains(err.Error(), "server_gflops"), "%s: %v", c.set, err)
			continue
		}
		found := twinsOf(t, c.text, set...)
		row, ok := found.Row(c.quantity)
		expect.That(t, ok && row.Holds == c.want, "%s: %s: %q, want %q", c.set, c.quantity, row.Holds, c.want)
		expect.That(t, math.IsNaN(row.Form) == strings.HasPrefix(c.want, NoForm), "%s: the form is %g", c.set, row.Form)
	}
}

// Fixed times whose quotients are small are those of clients that respond at once; one time alone has a form.
func TestTwinsOfFixedTimes(t *testing.T) {
	whole := twinsOf(t, equalTwins, "methods.fedavg.algorithm=fedasync", "federation.protocol=asynchronous",
		"federation.clients_per_round=5", "overhead.compute_jitter=0", "run.rounds=300")
	row, _ := whole.Row("updates per second")
	expect.That(t, row.Holds == Exact && math.Abs(row.Form-0.5) < 1e-6 && row.Z() == 0, "%+v", row)
	f := forms{s: &scenario.Settings{}}
	for i, c := range []struct {
		tau  []float64
		want bool
	}{{[]float64{2, 10, 40}, true}, {[]float64{2, 10.31, 41.7}, false}, {[]float64{4, 6, 6}, true}} {
		f.laws = nil
		for range c.tau {
			f.laws = append(f.laws, twin.Law{Mean: 1})
		}
		expect.That(t, f.ratios(c.tau) == c.want, "%d: %v are whole: %t", i, c.tau, !c.want)
	}
}

// Without a run, the forms are those beside it.
func TestFormsNeedNoRun(t *testing.T) {
	found := twinsOf(t, mixedTwins, "run.rounds=50")
	alone := expect.Value(Forms(t.Context(), scenarioOf(t, mixedTwins).Experiments))(t)
	for i, r := range alone[0].Rows {
		expect.That(t, r.Form == found.Rows[i].Form && math.IsNaN(r.Simulated), "%+v, with a run %+v", r, found.Rows[i])
	}
}
