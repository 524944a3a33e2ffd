package timeline

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedsim/algorithms"
	_ "fedsim/algorithms/methods"
	"fedsim/clients"
	"fedsim/data"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/learning"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
	"fedsim/internal/tools/parallel"
	_ "fedsim/internal/tools/rapidseed"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
	"fedsim/network"
	"fedsim/results"
)

var update = flag.Bool("update", false, "rewrite testdata")

// event is an event of a trace as a viewer reads it.
type event struct {
	Name, Ph string
	Pid, Tid int
	Ts, Dur  json.Number
	S        string
	Args     map[string]any
}

// nanoseconds reads microseconds as Perfetto does.
func nanoseconds(t testing.TB, n json.Number) int64 {
	t.Helper()
	f := expect.Value(n.Float64())(t)
	return int64(math.Round(f * 1000))
}

// parsed is a trace that has been read.
type parsed struct {
	OtherData   map[string]string
	TraceEvents []event
}

func parse(t testing.TB, text []byte) parsed {
	t.Helper()
	var p parsed
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	expect.NoError(t, d.Decode(&p))
	return p
}

// slice is a complete event in nanoseconds.
type slice struct {
	from, to int64
	event
}

// slicesOf returns the complete events of a trace, and checks that events come in
// the order of time, that slices of a track nest and never overlap, and that each
// track has a name.
func slicesOf(t testing.TB, p parsed) (all []slice) {
	t.Helper()
	type track struct{ pid, tid int }
	stacks, named := map[track][]slice{}, map[track]bool{}
	last := int64(math.MinInt64)
	for _, e := range p.TraceEvents {
		at := track{e.Pid, e.Tid}
		if e.Ph == "M" {
			named[at] = true
			continue
		}
		from := nanoseconds(t, e.Ts)
		expect.Must(t, from >= last, "%+v comes after %d ns", e, last)
		last = from
		expect.Must(t, (named[at] || e.Ph == "C") && named[track{e.Pid, 0}], "%+v is on a track without a name", e)
		if e.Ph != "X" {
			continue
		}
		s := slice{from, from + nanoseconds(t, e.Dur), e}
		expect.Must(t, s.to > s.from, "%+v has no length", e)
		stack := stacks[at]
		for len(stack) > 0 && stack[len(stack)-1].to <= s.from {
			stack = stack[:len(stack)-1]
		}
		if len(stack) > 0 && stack[len(stack)-1].to < s.to {
			t.Fatalf("%+v overlaps %+v", s, stack[len(stack)-1])
		}
		expect.Must(t, len(stack) <= 1, "%+v lies in %d others", s, len(stack))
		stacks[at] = append(stack, s)
		all = append(all, s)
	}
	return all
}

// problem returns a small problem on which n devices learn.
func problem(t testing.TB, n int) *mtl.Problem {
	t.Helper()
	const features = 4
	train := &data.Set{Name: "random", Features: features, Generated: true}
	test := &data.Set{Name: "random", Features: features, Generated: true}
	for k := range n {
		s := rng.New(1, rng.Synthetic, k, 0)
		one := func(rows int) data.Client {
			task := data.Client{Name: fmt.Sprint(k), X: data.NewMatrix(rows, features), Y: make([]float64, rows)}
			for i := range rows {
				for j := range features {
					task.X.Row(i)[j] = s.Normal()
				}
				task.Y[i] = math.Copysign(1, task.X.Row(i)[0])
			}
			return task
		}
		train.Clients = append(train.Clients, one(4+k%5))
		test.Clients = append(test.Clients, one(2))
	}
	p := expect.Value(mtl.NewProblem(mtl.Defaults(), data.Split{Train: train, Test: test}))(t)
	return p
}

// setup returns a run of a method in which devices take tenths of a second.
func setup(t testing.TB, p *mtl.Problem, method, protocol string) learning.Setup {
	t.Helper()
	factory, ok := algorithms.Lookup(method)
	expect.Must(t, ok, "no algorithm %q", method)
	s := learning.Setup{
		Setup: federation.Setup{
			System: clients.System{
				Devices: devices.Defaults(), Network: network.Defaults(), Faults: devices.DefaultFaults(), Seed: 5,
			},
			Config: federation.Defaults(), Pool: parallel.NewPool(2),
		},
		Schedule: learning.Schedule{Outer: 1, Rounds: 6, EvalEvery: 1, Optimum: math.NaN()},
		Problem:  p, Factory: factory, Options: factory.Options(),
	}
	s.Config.Protocol = protocol
	if o, ok := s.Options.(*algorithms.MOCHAOptions); ok && protocol == protocols.Deadline {
		o.Epochs = 0
	}
	s.Devices.ClockGHz, s.Devices.FlopsPerCycle, s.Devices.BatteryWh = 1e-6, 1, devices.Mains
	s.Devices.Charging = devices.WhenDepleted
	s.Network.DownlinkMbps, s.Network.UplinkMbps, s.Network.RTTms, s.Network.Jitter = 0.1, 0.02, 10, 0.5
	c := expect.Value(p.Regularizer.Start(s.Pool, p.Tasks()))(t)
	s.Coupling = c
	return s
}

// run runs a setup with a journal.
func run(t testing.TB, s learning.Setup, selection Selection) (*Timeline, *learning.Outcome) {
	t.Helper()
	r := NewJournal(selection, s.Problem.Clients())
	s.Journal = r
	events := 0
	s.Hooks = &engine.Hooks{Fired: func(e engine.Event) {
		if events++; events > 1_000_000 {
			panic(fmt.Sprintf("no end of events: %+v", e))
		}
	}}
	f := expect.Value(learning.New(s))(t)
	out := expect.Value(f.Run(t.Context(), nil))(t)
	line := expect.Value(r.Timeline())(t)
	return line, out
}

func chromeOf(t testing.TB, line *Timeline) []byte {
	t.Helper()
	var b bytes.Buffer
	expect.NoError(t, line.WriteChrome(&b, "all/mocha/seed=5"))
	return b.Bytes()
}

// coins are devices that come and go every 0.4 s, by chance.
type coins struct {
	seed  uint64
	share float64
}

func (c coins) Available(device int, at engine.Time) (bool, engine.Time) {
	const stretch = engine.Time(4e8)
	s := rng.New(c.seed, rng.Availability, device, int(at/stretch))
	return s.Float64() < c.share, at - at%stretch + stretch
}

// Whatever happens, slices nest, events come in order, and when all rounds and
// devices are shown, their slices add up to the rounds of the run.
func TestSlicesNestAndAddUp(t *testing.T) {
	p := problem(t, 9)
	rapid.Check(t, func(rt *rapid.T) {
		protocol := rapid.SampledFrom([]string{federation.WaitForAll, protocols.Deadline, protocols.Charged,
			protocols.First, protocols.Asynchronous}).Draw(rt, "protocol")
		method := "mocha"
		if protocol == protocols.Asynchronous {
			method = "async-mocha"
		}
		s := setup(t, p, method, protocol)
		s.Seed = rapid.Uint64Range(0, 1<<32).Draw(rt, "seed")
		s.Schedule.Outer, s.Schedule.Rounds = 2, 4
		s.Faults.DropProbability.All = 0.2
		s.Faults.DropPhase = rapid.SampledFrom([]string{devices.AtStart, devices.AtCompute, devices.AtUpload,
			devices.AtRandom}).Draw(rt, "strike")
		s.Faults.OnReturn = rapid.SampledFrom([]string{devices.Resume, devices.Discard}).Draw(rt, "on_return")
		s.Availability = coins{s.Seed, rapid.Float64Range(0.5, 1).Draw(rt, "present")}
		s.Network.LossProbability = 0.05
		hubs := protocol != protocols.Asynchronous && rapid.Bool().Draw(rt, "hubs")
		if hubs {
			s.Network.HubSize, s.Network.HubMbps, s.Network.HubRTTms = 3, 0.5, 2
		} else if rapid.Bool().Draw(rt, "shared") {
			s.Network.ServerDownMbps, s.Network.ServerUpMbps = 0.1, 0.05
		}
		if rapid.Bool().Draw(rt, "battery") {
			s.Devices.BatteryWh, s.Devices.ComputeW, s.Devices.IdleW, s.Devices.ChargeW, s.Devices.ReturnLevel =
				4.0/3600, 2, 0.5, 4, 0.5
		}
		switch protocol {
		case protocols.First:
			s.Config.Over, s.Config.Clients.Share = 1.5, 0.6
			s.Config.Late = rapid.SampledFrom([]string{federation.Drop, federation.Keep}).Draw(rt, "late")
		case protocols.Deadline:
			s.Config.DeadlineS, s.Config.Retries = 0.7, 1
			s.Config.Late = rapid.SampledFrom([]string{federation.Drop, federation.Keep}).Draw(rt, "late")
		case protocols.Charged:
			s.Options.(*algorithms.MOCHAOptions).Epochs = 0
		}
		if hubs {
			s.Config.Late = federation.Drop
		}
		first := rapid.IntRange(1, 3).Draw(rt, "first")
		last := rapid.IntRange(first, 8).Draw(rt, "last")
		keep := rapid.IntRange(1, 9).Draw(rt, "devices")
		part, _ := run(t, s, Selection{Devices: keep, First: first, Last: last})
		expect.Must(rt, len(part.Tracks) == keep, "%d tracks of %d", len(part.Tracks), keep)
		for _, x := range slicesOf(t, parse(t, chromeOf(t, part))) {
			expect.Must(rt, x.from >= int64(part.From) && x.to <= int64(part.To),
				"%+v lies beyond %v to %v", x, part.From, part.To)
		}
		whole, out := run(t, s, Selection{Devices: 9, First: 1, Last: 8})
		sum(rt, slicesOf(t, parse(t, chromeOf(t, whole))), whole, out, protocol == protocols.Charged, hubs)
	})
}

// sum compares what slices show with the rounds of a run.
func sum(t *rapid.T, all []slice, line *Timeline, out *learning.Outcome, charged, hubs bool) {
	amounts := map[string]float64{}
	seconds := map[string]float64{}
	for _, x := range all {
		seconds[x.Name] += float64(x.to-x.from) / 1e9
		for _, key := range []string{"bytes", "FLOPs"} {
			if n, ok := x.Args[key].(json.Number); ok {
				v, _ := n.Float64()
				amounts[x.Name] += v
			}
		}
	}
	var want results.Round
	for _, r := range out.Rounds[1:] {
		want.FLOPs += r.FLOPs
		want.BytesDown += r.BytesDown
		want.BytesUp += r.BytesUp
		want.TimeS = r.TimeS
		got := seconds[fmt.Sprintf("round %d", r.Round)]
		expect.Must(t, got != 0 || r.TimeS <= 0 || r.Participants <= 0, "round %d has no slice", r.Round)
	}
	near := func(what string, got, want float64) {
		expect.Must(t, math.Abs(got-want) <= 1e-9*math.Max(1, math.Abs(want)),
			"the slices' %s are %v, the rounds' %v", what, got, want)
	}
	for _, it := range line.Items {
		if it.Kind == Attempt && it.Open {
			return // its work is not recorded
		}
	}
	near("FLOPs", amounts["compute"], want.FLOPs)
	if !hubs { // otherwise the rounds' are the hubs'
		near("bytes down", amounts["downlink"], want.BytesDown)
		near("bytes up", amounts["uplink"], want.BytesUp)
	}
	near("end", line.To.Seconds(), want.TimeS)
	// A device does 1000 FLOP/s, and stretches are rounded to nanoseconds. Under the
	// charged protocol it is charged the same time whatever it does.
	over := seconds["compute"] - want.FLOPs/1000
	expect.Must(t, over >= -1e-6 && (over <= 1e-6 || charged),
		"%v s of computation, for %v FLOPs", seconds["compute"], want.FLOPs)
}

// Two hundred devices over fifty rounds make a valid trace of some megabytes, the
// same bytes every time.
func TestTwoHundredDevicesFiftyRounds(t *testing.T) {
	p := problem(t, 230)
	s := setup(t, p, "mocha", protocols.Deadline)
	s.Schedule.Rounds, s.Schedule.EvalEvery = 60, 60
	s.Config.DeadlineS = 0.8
	s.Faults.DropProbability.All = 0.1
	s.Devices.BatteryWh, s.Devices.ComputeW, s.Devices.IdleW, s.Devices.ChargeW, s.Devices.ReturnLevel = 10.0/3600, 2,
		0.5, 4, 0.5
	selection := Selection{Devices: 200, First: 1, Last: 50}
	line, _ := run(t, s, selection)
	text := chromeOf(t, line)
	got := parse(t, text)
	counts := map[string]int{}
	for _, x := range slicesOf(t, got) {
		counts[x.Name]++
	}
	for _, e := range got.TraceEvents {
		counts[e.Ph]++
		if e.Ph == "C" {
			v, err := e.Args["%"].(json.Number).Float64()
			expect.Must(t, err == nil && v >= 0 && v <= 100, "%+v: must be a percentage", e)
		}
	}
	if len(line.Tracks) != 200 || counts["compute"] < 5000 || counts["depleted"] == 0 || counts["i"] < 500 ||
		counts["C"] < 5000 {
		t.Errorf("%d tracks and %v", len(line.Tracks), counts)
	}
	expect.That(t, len(text) <= 12e6, "%d bytes", len(text))
	again, _ := run(t, s, selection)
	expect.That(t, bytes.Equal(chromeOf(t, again), text), "the same run makes other bytes")
}

// The bytes of a tiny run, which a person has looked at.
func TestGolden(t *testing.T) {
	s := setup(t, problem(t, 3), "mocha", protocols.Deadline)
	s.Schedule.Outer, s.Schedule.Rounds = 2, 2
	s.Config.ServerGFLOPS = 1e-6
	s.Config.DeadlineS, s.Config.Fit = 0.4, false
	s.Options.(*algorithms.MOCHAOptions).Epochs = 1
	s.Faults.DropProbability.All, s.Faults.DropPhase = 0.3, devices.AtUpload
	s.Availability = coins{8, 0.7}
	s.Faults.OnReturn = devices.Resume
	s.Devices.BatteryWh, s.Devices.ComputeW, s.Devices.IdleW, s.Devices.ChargeW, s.Devices.ReturnLevel = 0.5/3600, 2,
		0.5, 4, 0.5
	line, _ := run(t, s, Selection{Devices: 2, First: 1, Last: 3})
	got := chromeOf(t, line)
	slicesOf(t, parse(t, got))
	const golden = "testdata/tiny.json"
	if *update {
		filetest.Write(t, golden, got)
	}
	want := filetest.Read(t, golden)
	expect.That(t, bytes.Equal(got, want), "the trace differs from %s; -update if it is right:\n%s", golden, got)
}

// entry is short for an entry at an instant.
func entry(k federation.EntryKind, device, round int32, at engine.Time) federation.Entry {
	return federation.Entry{Kind: k, Device: device, Round: round, From: at, To: at}
}

// An absence in which an attempt ends is two slices; one that the range cuts keeps
// what lies in it; an attempt that is under way when the run ends says so.
func TestAbsencesAndEnds(t *testing.T) {
	r := NewJournal(Selection{Devices: 5, First: 2, Last: 9}, 1)
	failed := entry(federation.AttemptFailed, 0, 2, 30)
	failed.Why = clients.BecameUnavailable
	span := func(round int32, from, to engine.Time, a clients.Activity, amount float64) federation.Entry {
		return federation.Entry{Kind: federation.ActivitySpan, Round: round, Activity: a, Began: from, From: from,
			To: to, Amount: amount}
	}
	part := func(round int32, began, from, to engine.Time, a clients.Activity) federation.Entry {
		return federation.Entry{Kind: federation.ActivitySpan, Round: round, Activity: a, Cut: true, Began: began,
			From: from, To: to}
	}
	for _, e := range []federation.Entry{
		entry(federation.RoundStarted, engine.Server, 1, 0),
		part(1, 0, 0, 5, clients.Unavailable),
		entry(federation.RoundEnded, engine.Server, 1, 5),
		entry(federation.RoundStarted, engine.Server, 2, 10),
		{Kind: federation.ActivitySpan, Round: 2, Activity: clients.Unavailable, Began: 0, From: 5, To: 15},
		entry(federation.AttemptStarted, 0, 2, 15),
		span(2, 15, 17, clients.Waiting, 0),
		span(2, 17, 20, clients.Downlink, 7),
		failed,
		part(2, 20, 20, 40, clients.Unavailable),
		entry(federation.RoundLost, engine.Server, 2, 40),
		entry(federation.RoundEnded, engine.Server, 2, 40),
		entry(federation.CouplingUpdated, engine.Server, 3, 40),
		entry(federation.RoundStarted, engine.Server, 3, 45),
		{Kind: federation.ActivitySpan, Round: 3, Activity: clients.Unavailable, Began: 20, From: 40, To: 50},
		entry(federation.AttemptStarted, 0, 3, 50),
		{Kind: federation.ActivitySpan, Round: 3, Activity: clients.Downlink, Began: 52, From: 50, To: 60, Amount: 7},
		entry(federation.EnergyUsed, 0, 3, 70),
		part(3, 60, 60, 70, clients.Compute),
	} {
		r.Note(e)
	}
	line := expect.Value(r.Timeline())(t)
	want := []Item{
		{Kind: Round, Device: -1, Round: 2, Lost: true, From: 10, To: 40},
		{Kind: Unavailable, Round: 2, From: 10, To: 15},
		{Kind: Attempt, Why: clients.BecameUnavailable, Round: 2, Try: 1, From: 15, To: 30},
		{Kind: Poll, Round: 2, From: 15, To: 17},
		{Kind: Download, Round: 2, From: 17, To: 20, Amount: 7},
		{Kind: Unavailable, Round: 2, From: 20, To: 30},
		{Kind: Failure, Why: clients.BecameUnavailable, Round: 2, From: 30, To: 30},
		{Kind: Update, Device: -1, Round: 3, From: 40, To: 45},
		{Kind: Unavailable, Round: 3, From: 30, To: 50},
		{Kind: Round, Device: -1, Round: 3, From: 45, To: 70},
		{Kind: Attempt, Open: true, Round: 3, Try: 1, From: 50, To: 70},
		{Kind: Download, Round: 3, From: 52, To: 60, Amount: 7},
		{Kind: Compute, Open: true, Round: 3, From: 60, To: 70},
	}
	slices.SortStableFunc(want, order)
	expect.That(t, slices.Equal(line.Items, want), "got\n%+v\nwant\n%+v", line.Items, want)
	slow := Item{Kind: Compute, To: engine.FromSeconds(4), Amount: 7, Overhead: 0.25}
	got := slow.event().Args
	expect.That(t, got.Overhead == 1 && *got.FLOPs == 7, "a quarter of 4 s of computing is overheads: %+v", got)
	lost := slices.IndexFunc(line.Items, func(it Item) bool { return it.Lost })
	expect.That(t, lost >= 0 && line.Items[lost].name() == "round 2, lost", "the lost round is item %d", lost)
	expect.That(t, line.From == 10 && line.To == 70 && line.Last == 3,
		"rounds to %d, from %d to %d ns", line.Last, line.From, line.To)
}

// A range that the run does not reach has no timeline.
func TestNothingToShow(t *testing.T) {
	r := NewJournal(Selection{Devices: 5, First: 4, Last: 9}, 1)
	r.Note(entry(federation.RoundStarted, engine.Server, 3, 10))
	r.Note(entry(federation.RoundEnded, engine.Server, 3, 20))
	_, err := r.Timeline()
	expect.That(t, err != nil && err.Error() == "it is to begin with round 4, and the run ended after 3", "%v", err)
}

func TestSample(t *testing.T) {
	for _, c := range []struct {
		k, n        int
		asked, want []int32
	}{
		{3, 3, nil, []int32{0, 1, 2}},
		{9, 3, []int32{1}, []int32{0, 1, 2}},
		{2, 8, nil, []int32{0, 4}},
		{2, 8, []int32{1, 3, 5, 7}, []int32{1, 5}},
		{4, 8, []int32{1, 3}, []int32{0, 1, 3, 5}},
		{3, 8, []int32{6}, []int32{0, 3, 6}},
	} {
		got := sample(c.k, c.n, c.asked)
		expect.That(t, slices.Equal(got, c.want), "%d of %d, %v asked: %v, want %v", c.k, c.n, c.asked, got, c.want)
	}
}

// Devices that are not in the sample cost nothing.
func TestOthersTakeNoMemory(t *testing.T) {
	r := NewJournal(Selection{Devices: 1, First: 1, Last: 9}, 100)
	r.Note(entry(federation.RoundStarted, engine.Server, 1, 0))
	r.Note(entry(federation.AttemptStarted, 7, 1, 0))
	at := engine.Time(0)
	r.Note(federation.Entry{Kind: federation.ActivitySpan, Activity: clients.Downlink, Device: 9, Round: 1, To: 1})
	if n := testing.AllocsPerRun(1000, func() {
		at++
		r.Note(federation.Entry{Kind: federation.ActivitySpan, Activity: clients.Compute, Device: 9, Round: 1, From: at,
			To: at + 1})
	}); n != 0 {
		t.Errorf("%v allocations for an entry", n)
	}
}
