package experiment

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/experiment/scenario"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/racetest"
	"fedsim/network"
	"fedsim/results"
)

// beatOptions are those of the models of these tests: periods of a random length, half
// of each as usual and half at a factor of that.
type beatOptions struct {
	PeriodS float64 `toml:"period_s" doc:"mean length of a period in seconds"`
	Factor  float64 `toml:"factor" doc:"in the second half of each"`
	Of      string  `toml:"of" doc:"the factor's target"`
}

func (o *beatOptions) Validate(c *config.Checker) {
	c.Require(o.PeriodS > 0, "period_s", o.PeriodS, "must be positive")
	c.OneOf("of", o.Of, "pace", "presence", "charging", "nothing", "wrong-pace", "wrong-time", "memory",
		"memory-presence", "memory-charging", "machine", "memory-machine")
}

// beat draws the length of the period of each device and begins it at time 0.
type beat struct {
	factor float64
	period []engine.Time
}

func newBeat(o *beatOptions, n int, stream func(device, number int) devices.Stream) beat {
	b := beat{factor: o.Factor}
	for client := range n {
		s := stream(client, 0)
		b.period = append(b.period, engine.FromSeconds(o.PeriodS*(0.5+s.Float64())))
	}
	return b
}

func (b beat) at(device int, at engine.Time) (second bool, until engine.Time) {
	half := b.period[device] / 2
	k := at / half
	return k%2 == 1, (k + 1) * half
}

func (b beat) Speed(device int, at engine.Time) (float64, engine.Time) {
	second, until := b.at(device, at)
	if second {
		return b.factor, until
	}
	return 1, until
}

func (b beat) Available(device int, at engine.Time) (bool, engine.Time) {
	second, until := b.at(device, at)
	return !second, until
}

func (b beat) PluggedIn(device int, at engine.Time) (bool, engine.Time) { return b.at(device, at) }

func (b beat) Downlink(device int, usual float64, at engine.Time) (float64, engine.Time) {
	factor, until := b.Speed(device, at)
	return usual * factor, until
}

func (b beat) Uplink(device int, usual float64, at engine.Time) (float64, engine.Time) {
	return b.Downlink(device, usual, at)
}

// wrong answers what no model may.
type wrong struct{ pace float64 }

func (w wrong) Speed(_ int, at engine.Time) (float64, engine.Time) { return w.pace, at }

// tired devices are half as fast, at a quarter of the power, once they have computed for two seconds.
type tired struct{ power, after float64 }

func (d tired) Pace(_ int, s devices.State, u devices.Use, at engine.Time) (float64, float64, engine.Time) {
	switch {
	case s[0] >= 2:
		return 0.5, 0.25 + d.power, engine.Never
	case !u.Computes():
		return 1, 1, engine.Never
	default:
		return 1, 1, at.Add(max(1, engine.CeilSeconds(2-s[0])))
	}
}

func (d tired) After(_ int, s devices.State, u devices.Use, from, to engine.Time) devices.State {
	if u.Computes() {
		s[0] += (to - from).Seconds() + d.after
	}
	return s
}

func init() {
	options := func() config.Options { return &beatOptions{PeriodS: 1, Factor: 0.5, Of: "pace"} }
	devices.RegisterModel(devices.ModelFactory{
		Name: "beat", Summary: "speeds that change in turns", Reference: "none", Options: options,
		New: func(s devices.ModelSetup, o config.Options) (m devices.Behavior, err error) {
			opts := o.(*beatOptions)
			b := newBeat(opts, s.Devices, s.Stream)
			switch opts.Of {
			case "pace":
				m.Speed = b
			case "presence":
				m.Availability = b
			case "charging":
				m.Charging = b
			case "wrong-pace":
				m.Speed = wrong{math.NaN()}
			case "wrong-time":
				m.Speed = wrong{1}
			case "memory":
				m.Speed = newCheat(s.Devices)
			case "memory-presence":
				m.Availability = newCheat(s.Devices)
			case "machine":
				m.Machine = tired{}
			case "memory-machine":
				m.Machine = newCheat(s.Devices)
			case "memory-charging":
				m.Charging = newCheat(s.Devices)
			}
			return m, nil
		},
	})
	network.RegisterModel(network.ModelFactory{
		Name: "beat", Summary: "rates that change in turns", Reference: "none", Options: options,
		New: func(s network.ModelSetup, o config.Options) (network.Bandwidth, error) {
			switch o.(*beatOptions).Of {
			case "nothing":
				return nil, nil
			case "memory":
				return newCheat(s.Devices), nil
			}
			return newBeat(o.(*beatOptions), s.Devices, s.Stream), nil
		},
	})
}

// slow is a scenario in which computing and sending both take a while.
const slow = `
[methods.mocha]
[devices]
clock_ghz = 1e-6
battery.wh = "mains"
[network]
downlink_mbps = 0.01
uplink_mbps = 0.005
rtt_ms = 10
`

const (
	beatingDevices = "devices.model=beat"
	beatingLinks   = "network.model=beat"
)

func lastOf(t testing.TB, set ...string) results.Round {
	t.Helper()
	run := mustGather(t, parse(t, slow, set...), Options{Workers: 2})[0]
	return run.Rounds[len(run.Rounds)-1]
}

// A model of factor 1 changes no bit of a run. A model of factor 1/2 doubles the times,
// and learns the same.
func TestModelsOfDevicesAndLinks(t *testing.T) {
	usual := lastOf(t)
	same := lastOf(t, beatingDevices, "devices.model_options.factor=1")
	expect.That(t, same.TimeS == usual.TimeS && same.Primal == usual.Primal,
		"a pace of 1 ends at %g s, without one at %g", same.TimeS, usual.TimeS)
	sameLinks := lastOf(t, beatingLinks, "network.model_options.factor=1")
	expect.That(t, math.Abs(sameLinks.TimeS-usual.TimeS) <= 1e-6*usual.TimeS,
		"links at their usual rate end at %g s, without a model at %g", sameLinks.TimeS, usual.TimeS)
	paced, linked := lastOf(t, beatingDevices), lastOf(t, beatingLinks)
	both := lastOf(t, beatingDevices, beatingLinks)
	if !(usual.TimeS < paced.TimeS && usual.TimeS < linked.TimeS && max(paced.TimeS, linked.TimeS) < both.TimeS) {
		t.Errorf("usual %g s, slower devices %g, slower links %g, both %g", usual.TimeS, paced.TimeS, linked.TimeS,
			both.TimeS)
	}
	for _, r := range []results.Round{paced, linked, both} {
		expect.That(t, r.Primal == usual.Primal,
			"P is %g, without models %g: time has been seen", r.Primal, usual.Primal)
	}
}

// A Machine sees the work: devices slow down after two seconds of it, and draw less. Learning does not see it.
func TestMachinesSeeTheWork(t *testing.T) {
	usual, worn := lastOf(t), lastOf(t, beatingDevices, "devices.model_options.of=machine")
	expect.That(t, worn.TimeS > 1.2*usual.TimeS && worn.Primal == usual.Primal && worn.EnergyJ < 1.5*usual.EnergyJ,
		"%g s, %g J, without a Machine %g s, %g J", worn.TimeS, worn.EnergyJ, usual.TimeS, usual.EnergyJ)
	for want, call := range map[string]func(devices.Machine){
		"model x: power of device 3 at 1s is +Inf: must be in [0, 1e+12]": func(m devices.Machine) {
			m.Pace(3, devices.State{2}, devices.Computing, engine.FromSeconds(1))
		},
		"model x: the state of device 3 at 1s is [NaN 0]: must be finite numbers": func(m devices.Machine) {
			m.After(3, devices.State{}, devices.Computing, 0, engine.FromSeconds(1))
		},
	} {
		func() {
			defer func() { expect.That(t, recover() == want, "no panic with %q", want) }()
			call(watchedMachine{"x", tired{math.Inf(1), math.NaN()}, newWatch("x", 4, nil)})
		}()
	}
	_, err := gather(t.Context(), parse(t, slow, beatingDevices, "devices.model_options.of=machine",
		"devices.heat.k_per_w=6", "devices.heat.j_per_k=100"), Options{Workers: 1})
	expect.That(t, err != nil && strings.Contains(err.Error(), "without a Machine, beside heat"), "%v", err)
}

// The same bits for any number of workers and any queue, under every protocol, with
// models of both and without rounds too.
func TestModelsHaveTheSameBitsAnywhere(t *testing.T) {
	for _, protocol := range []string{"wait-for-all", "deadline", "first", "asynchronous"} {
		for _, of := range []string{"pace", "presence", "machine"} {
			set := []string{beatingDevices, "devices.model_options.of=" + of, beatingLinks, "run.rounds=8",
				"federation.protocol=" + protocol, "network.jitter=0.3", "faults.drop_probability=0.1",
				"faults.drop_phase=uniform", "faults.on_return=resume", "methods.mocha.algorithm=async-mocha"}
			if protocol == "deadline" {
				set = append(set, "federation.deadline_s=4")
			}
			if protocol == "first" {
				set = append(set, "federation.clients_per_round=3", "federation.protocol_options.over_selection=1.5")
			}
			var want results.Run
			for i, o := range []Options{{Workers: 1, Queue: "sorted"}, {Workers: 1, Queue: "heap4"},
				{Workers: 2, Queue: "radix"}, {Workers: 8}} {
				got := mustGather(t, parse(t, slow, set...), o)[0]
				if i == 0 {
					want = got
				}
				if got.EventHash != want.EventHash || got.ModelHash != want.ModelHash ||
					len(got.Rounds) != len(want.Rounds) {
					t.Errorf("%s, %s: %d workers, queue %q: hashes %x and %x, want %x and %x", protocol, of, o.Workers,
						o.Queue, got.EventHash, got.ModelHash, want.EventHash, want.ModelHash)
				}
			}
		}
	}
}

// An interrupted run with models has the same bits after it is resumed.
func TestModelsResume(t *testing.T) {
	set := []string{beatingDevices, beatingLinks, "run.rounds=12", "federation.protocol=deadline",
		"federation.deadline_s=4", "faults.on_return=resume"}
	want := mustGather(t, parse(t, slow, set...), Options{Workers: 2})
	for _, more := range []int{2, 5, 11} { // the rounds there were are reported again
		patience := 0
		same(t, want,
			resumed(t, t.Context(), parse(t, slow, set...), func() int { patience += more; return patience },
				Options{Workers: 1}))
	}
}

// Traces and models combine: speeds and rates multiply, a device is available if both
// have it available, and charging has one source.
func TestModelsOnTopOfTraces(t *testing.T) {
	racetest.Skip(t, "compares many small runs; TestRecordedRunsEqualComputedOnes makes runs in parallel")
	file := filepath.Join(t.TempDir(), "x.csv")
	write := func(kind, value string) string {
		filetest.Write(t, file, fmt.Appendf(nil, "device,time_s,kind,value\nd,0,%s,%s\nd,1000,end,\n", kind, value))
		return fmt.Sprintf("traces.files=[%q]", file)
	}
	halved := lastOf(t, beatingDevices, "devices.model_options.factor=1", write("speed", "0.5"))
	clock := lastOf(t, "devices.clock_ghz=0.5e-6")
	if math.Abs(halved.TimeS-clock.TimeS) > 1e-6 { // a length in ns is rounded up
		t.Errorf("half the speed by a trace and a model of 1: %g s, half the clock: %g s", halved.TimeS, clock.TimeS)
	}
	both := lastOf(t, beatingDevices, write("speed", "0.5"))
	if model := lastOf(t, beatingDevices); !(both.TimeS > model.TimeS && both.TimeS > halved.TimeS) {
		t.Errorf("both %g s, the model %g, the trace %g", both.TimeS, model.TimeS, halved.TimeS)
	}
	told := lastOf(t, beatingLinks, "network.model_options.factor=1", write("up_mbps", "0.0025"))
	table := lastOf(t, "network.uplink_mbps=0.0025")
	expect.That(t, math.Abs(told.TimeS-table.TimeS) <= 1e-6*table.TimeS,
		"rates by a trace and a model of 1: %g s, by the table: %g s", told.TimeS, table.TimeS)
	never := mustGather(t,
		parse(t, slow, beatingDevices, "devices.model_options.of=presence", write("available", "0"),
			"federation.protocol=deadline", "federation.deadline_s=4", "run.rounds=3"), Options{})[0]
	for _, r := range never.Rounds[1:] {
		expect.That(t, r.Participants == 0, "%d devices take part that a trace has away", r.Participants)
	}
	charging := []string{beatingDevices, "devices.model_options.of=charging", "devices.charging.watts=5",
		"devices.battery.wh=10"}
	if r := lastOf(t, charging...); r.Participants == 0 {
		t.Error("no device that a model charges takes part")
	}
	// A model replaces the default: its devices are not plugged in at midnight.
	for of, most := range map[string]int{"charging": 0, "pace": 5} {
		small := append(charging, "devices.battery.wh=1e-6", "run.rounds=1", "devices.charging.when=daily",
			"devices.model_options.of="+of)
		r := lastOf(t, small...)
		expect.That(t, r.Participants == most, "a model of %s: %d devices take part, want %d", of, r.Participants, most)
	}
	for _, other := range []string{write("charging", "1"), "devices.charging.when=when-depleted",
		"devices.charging.when=never"} {
		_, err := gather(t.Context(), parse(t, slow, append(charging, other)...), Options{})
		if err == nil ||
			!strings.Contains(err.Error(), `devices.model = "beat": must be one that leaves charging alone`) {
			t.Errorf("%s beside a model of charging: %v", other, err)
		}
	}
}

// An invalid value of a model is an error with its name, device and time.
func TestModelsThatAreWrong(t *testing.T) {
	for _, set := range []string{"devices.model_options.of=nothing", "network.model_options.of=nothing"} {
		_, err := gather(t.Context(), parse(t, slow, strings.Split(set, ".")[0]+".model=beat", set), Options{})
		if err == nil ||
			!(strings.Contains(err.Error(), "device model beat sets nothing") ||
				strings.Contains(err.Error(), "link model beat: it returned no model")) {
			t.Errorf("%s: %v", set, err)
		}
	}
	for value, want := range map[wrong]string{
		{math.Inf(1)}: "model beat: speed of device 3 at 2ns is +Inf: must be in [0, 1e+12]",
		{-1}:          "model beat: speed of device 3 at 2ns is -1: must be in [0, 1e+12]",
		{1}:           "model beat: speed of device 3 at 2ns holds until 2ns: must be later",
	} {
		func() {
			defer func() {
				got := recover()
				expect.That(t, got == want, "panic %v, want %s", got, want)
			}()
			combinedSpeed{name: "beat", of: value}.Speed(3, 2)
		}()
	}
}

// Errors in the keys of models have their places and suggestions.
func TestModelsInScenarios(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"[devices]\nmodel = \"bet\"\n",
			`x.toml:2:9: devices.model = "bet": must be one of beat (did you mean "beat"?)`},
		{"[network]\nmodel = \"none\"\nmodel_options.factor = 1\n",
			"x.toml:3:1: network.model_options has no effect without network.model"},
		{"[network]\nmodel = \"beat\"\n[network.model_options]\nperiod = 3\n",
			"x.toml:4:1: unknown key network.model_options.period: did you mean period_s?"},
		{"[network]\nmodel = \"beat\"\n[network.model_options]\nperiod_s = 0\n",
			"x.toml:4:12: network.model_options.period_s = 0: must be positive"},
		{"[devices]\nmodel = \"beat\"\nmodel_options.period_s = \"long\"\n",
			`x.toml:3:26: devices.model_options.period_s = "long": must be a number`},
		{"[devices]\nmodel = \"beat\"\nmodel_options = 3\n", "x.toml:3:17: devices.model_options = 3: must be a table"},
	} {
		_, err := scenario.Parse("x.toml", []byte(c.source+"[methods.mocha]\n"), nil)
		expect.That(t, err != nil && err.Error() == c.want, "%q:\ngot  %v\nwant %s", c.source, err, c.want)
	}
	const source = "[methods.mocha]\n[devices]\nmodel = \"beat\"\nmodel_options.factor = 0.25\n[[experiment]]\n" +
		"name = \"a\"\nsweep = { \"devices.model_options.period_s\" = [1, 2] }\n" +
		"[[experiment.axis]]\nname = \"links\"\npoints = [{ label = \"as usual\" }, { label = \"beating\", " +
		"set = { \"network.model\" = \"beat\", \"network.model_options.of\" = \"pace\" } }]\n"
	s := scenarioOf(t, source, "devices.model_options.factor=0.125")
	var periods []float64
	for _, j := range s.Experiments[0].Jobs {
		settings := j.Candidates[0].Settings
		o := settings.Devices.Options.(*beatOptions)
		periods = append(periods, o.PeriodS)
		expect.That(t, o.Factor == 0.125 && (settings.Network.Options != nil) == (settings.Network.Model == "beat"),
			"%s: devices %+v, links %q %+v", j.Candidates[0].ID, o, settings.Network.Model, settings.Network.Options)
	}
	expect.That(t, slices.Equal(periods, []float64{1, 2, 1, 2}), "periods %v", periods)
	text := expect.Value(s.Resolved())(t)
	if !strings.Contains(string(text), "[devices.model_options]\nperiod_s = 1.0\nfactor = 0.125\nof = \"pace\"\n") {
		t.Errorf("resolved:\n%s", text)
	}
	again := expect.Value(scenario.Parse("x.toml", text, nil))(t)
	if twice, err := again.Resolved(); err != nil || string(twice) != string(text) {
		t.Errorf("resolved twice (%v):\n%s", err, twice)
	}
	keys := map[string]int{}
	for _, f := range slices.Concat(scenario.Keys(s), scenario.Keys(nil)) {
		keys[f.Key]++
	}
	for _, key := range []string{"devices.model", "devices.model_options.period_s", "network.model_options.factor"} {
		expect.That(t, keys[key] == 2, "%s is in %d of two lists of keys", key, keys[key])
	}
}

// The schema for editors has the options of each model, and refuses others.
func TestModelsInTheSchema(t *testing.T) {
	racetest.Skip(t, "checks errors and models, which one goroutine makes")
	var text bytes.Buffer
	expect.NoError(t, scenario.WriteSchema(&text))
	value := expect.Value(jsonschema.UnmarshalJSON(&text))(t)
	compiler := jsonschema.NewCompiler()
	expect.NoError(t, compiler.AddResource("fedsim.json", value))
	schema := expect.Value(compiler.Compile("fedsim.json"))(t)
	for source, takes := range map[string]bool{
		`{"devices": {"model": "beat", "model_options": {"period_s": 2, "of": "presence"}}}`:                     true,
		`{"network": {"model": "beat"}, "devices": {"model": "none"}}`:                                           true,
		`{"experiment": [{"name": "a", "set": {"network.model": "beat", "network.model_options.period_s": 2}}]}`: true,
		`{"experiment": [{"name": "a", "set": {"network": {"model": "beat", "model_options": {"period_s": ` +
			`2}}}}]}`: true,
		`{"experiment": [{"name": "a", "sweep": {"devices.model_options.period_s": [1, 2]}}], "devices": {"model": ` +
			`"beat"}}`: true,
		`{"devices": {"model": "bet"}}`:                                          false,
		`{"devices": {"model": "beat", "model_options": {"period": 2}}}`:         false,
		`{"devices": {"model": "beat", "model_options": {"period_s": "long"}}}`:  false,
		`{"network": {"model": "beat", "model_options": {"of": "space"}}}`:       false,
		`{"network": {"model_options": {"period_s": 2}}}`:                        false,
		`{"experiment": [{"name": "a", "set": {"network.model": "bet"}}]}`:       false,
		`{"experiment": [{"name": "a", "set": {"network.option.period_s": 2}}]}`: false,
	} {
		value := expect.Value(jsonschema.UnmarshalJSON(strings.NewReader(source)))(t)
		err := schema.Validate(value)
		expect.That(t, (err == nil) == takes, "%s: %v", source, err)
	}
}

// A model's draws are those of its seed, device and number, and others than those of a
// model of the other kind.
func TestModelsDraw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, device, number := rapid.Uint64().Draw(t, "seed"), rapid.Int().Draw(t, "device"),
			rapid.Int().Draw(t, "number")
		machines, links := devices.ModelSetup{Seed: seed}, network.ModelSetup{Seed: seed}
		first := func(s devices.Stream) uint64 { return s.Uint64() }
		x := first(machines.Stream(device, number))
		again := first(devices.ModelSetup{Devices: 9, Seed: seed}.Stream(device, number))
		expect.Must(t, again == x, "%x, and among more devices %x", x, again)
		for _, other := range []devices.Stream{links.Stream(device, number), machines.Stream(device+1, number),
			machines.Stream(device, number+1),
			devices.ModelSetup{Seed: seed + 1}.Stream(device, number)} {
			expect.Must(t, first(other) != x, "%x twice", x)
		}
	})
}
