package learning

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fedsim/algorithms"
	"fedsim/algorithms/methods"
	"fedsim/clients"
	"fedsim/config"
	"fedsim/data"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/protocols"
	_ "fedsim/federation/selectors"
	"fedsim/federation/servertest"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/rng"
	"fedsim/mtl"
	"fedsim/network"
	"fedsim/results"
)

// randomProblem makes a small classification problem with the given numbers of rows.
// Labels follow a direction that tasks share in part; one in ten is flipped.
func randomProblem(t testing.TB, features int, sizes ...int) *mtl.Problem {
	t.Helper()
	train := &data.Set{Name: "random", Features: features, Generated: true}
	test := &data.Set{Name: "random", Features: features, Generated: true}
	shared := rng.New(1, rng.Skew, -1, 0)
	common := make([]float64, features)
	for j := range common {
		common[j] = shared.Normal()
	}
	for k, n := range sizes {
		own := rng.New(1, rng.Skew, k, 0)
		w := make([]float64, features)
		for j := range w {
			w[j] = common[j] + own.Normal()
		}
		draw := rng.New(1, rng.Synthetic, k, 0)
		make := func(n int) data.Client {
			task := data.Client{Name: fmt.Sprint(k), X: data.NewMatrix(n, features), Y: make([]float64, n)}
			for i := range n {
				z := 0.0
				for j, x := 0, task.X.Row(i); j < features; j++ {
					x[j] = draw.Normal()
					z += x[j] * w[j]
				}
				task.Y[i] = math.Copysign(1, z)
				if draw.Float64() < 0.1 {
					task.Y[i] = -task.Y[i]
				}
			}
			return task
		}
		train.Clients = append(train.Clients, make(n))
		test.Clients = append(test.Clients, make(4))
	}
	cfg := mtl.Defaults()
	cfg.Regularizer, cfg.Lambda1, cfg.Lambda2 = mtl.RegMean, 0.1, 0.02
	return mustProblem(t, cfg, data.Split{Train: train, Test: test})
}

// The figures of the world of the tests. A device does 1000 FLOP/s, so that one
// coordinate step, 4 d + 8 = 32 FLOPs at d = 6, takes 32 ms; a message of
// 64 + 6 x 8 = 112 bytes takes 5 ms + 0.896 ms each way.
const (
	features    = 6
	stepFLOPs   = 4*features + 8
	rate        = 1000.0
	message     = 64 + 8*features
	latencyS    = 0.005
	transferS   = latencyS + 8*message/1e6
	idleW       = 0.5
	computeW    = 2.0
	testSeed    = 3
	noDevice    = -1
	batteryNone = devices.Mains
)

var sizes = []int{12, 31, 8, 20, 9, 40, 15}

// system returns a system with the default tables and without clients.
func system(seed uint64) clients.System {
	return clients.System{
		Devices: devices.Defaults(), Network: network.Defaults(), Faults: devices.DefaultFaults(), Seed: seed,
	}
}

// world returns the setup of a method under a protocol without failures. change may be
// nil.
func world(t testing.TB, method, protocol string, change func(*Setup)) Setup {
	t.Helper()
	factory, ok := algorithms.Lookup(method)
	if !ok {
		t.Fatalf("%q is not registered", method)
	}
	s := Setup{
		Setup:    federation.Setup{System: system(testSeed), Config: federation.Defaults(), Pool: parallel.NewPool(2)},
		Schedule: Schedule{Outer: 1, Rounds: 10, EvalEvery: 1, Optimum: math.NaN()},
		Factory:  factory, Options: factory.Options(),
	}
	s.Config.Protocol = protocol
	if protocol == protocols.Deadline {
		s.Config.DeadlineS = 0.5
	}
	d := &s.Devices
	d.ClockGHz, d.FlopsPerCycle, d.IdleW, d.ComputeW, d.BatteryWh, d.Charging = 1e-6, 1, idleW, computeW, batteryNone,
		devices.WhenDepleted
	n := &s.Network
	n.DownlinkMbps, n.UplinkMbps, n.RTTms = 1, 1, 10
	if protocol != federation.WaitForAll {
		// The amount of work is the protocol's.
		switch o := s.Options.(type) {
		case *algorithms.MOCHAOptions:
			o.Epochs = 0
		case *algorithms.MbSDCAOptions:
			o.Batch = 0
		case *algorithms.MbSGDOptions:
			o.Batch = 0
		}
	}
	linearParts(&s)
	if change != nil {
		change(&s)
	}
	if d.ChargeW == 0 && d.Charging == devices.WhenDepleted {
		d.Charging = devices.Never // no charger unless a test gives one
	}
	if o, ok := s.Options.(*methods.FedCompassOptions); ok && protocol != protocols.Compass && o.Epochs == 0 {
		o.Epochs = 1
	} else if ok && s.Config.ProtocolOptions == nil { // little work, as others have
		s.Config.ProtocolOptions, o.Batch = compassOptions(t, 1, 4, 1.2), 4
	}
	if s.Problem == nil {
		s.Problem = randomProblem(t, features, sizes...)
	}
	about := factory.Describe(s.Options, mtl.Shape{})
	if about.Learns.Losses != nil && s.Problem.Config.Model == mtl.ModelLinear {
		cfg := s.Problem.Config
		cfg.Loss = mtl.LossLogistic
		s.Problem = withConfig(t, s.Problem, cfg)
	}
	if about.Messages.None {
		cfg := s.Problem.Config
		cfg.Regularizer = mtl.RegIndependent
		s.Problem = withConfig(t, s.Problem, cfg)
	}
	if s.Coupling == nil {
		c, err := s.Problem.Regularizer.Start(s.Pool, s.Problem.Tasks())
		if err != nil {
			t.Fatal(err)
		}
		s.Coupling = c
	}
	check := config.NewChecker()
	s.Config.Validate(check.In("federation"))
	s.Devices.Validate(check.In("devices"))
	s.Network.Validate(check.In("network"))
	s.Faults.Validate(check.In("faults"))
	s.Options.Validate(check.In("options"))
	if problems := check.Problems(); len(problems) > 0 {
		t.Fatal(problems)
	}
	return s
}

// linearParts makes methods whose clients keep a part of the model fit the linear models here: they keep a feature.
func linearParts(s *Setup) {
	if setOption(s.Options, "Personal", "features") {
		setOption(s.Options, "Features", []int{0})
	}
}

// allMethods returns the registered methods whose description is of some kind.
func allMethods(kind func(*algorithms.Description) bool) []string {
	return slices.DeleteFunc(algorithms.Names(), func(name string) bool {
		f, _ := algorithms.Lookup(name)
		about := f.Describe(f.Options(), mtl.Shape{})
		return !kind(&about)
	})
}

// withoutHubs returns the registered methods that need no hubs, and that send messages.
func withoutHubs() []string {
	return allMethods(func(d *algorithms.Description) bool { return d.HubRounds == 0 && !d.Messages.None })
}

// described changes the description of the method of a setup.
func described(s *Setup, change func(*algorithms.Description)) {
	describe := s.Factory.Describe
	s.Factory.Describe = func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
		d := describe(o, shape)
		change(&d)
		return d
	}
}

func start(t testing.TB, s Setup) *Federation {
	t.Helper()
	f, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// run runs the whole plan.
func run(t testing.TB, s Setup) *Outcome { return finish(t, start(t, s)) }

// finish runs the whole plan of a federation.
func finish(t testing.TB, f *Federation) *Outcome {
	t.Helper()
	out, err := f.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// same compares values bit by bit, so that NaN equals NaN and 0 is not -0.
func same[T any](a, b T) error {
	exactly := cmp.Comparer(func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
	if diff := cmp.Diff(a, b, exactly, cmpopts.IgnoreFields(algorithms.Model{}, "Personal")); diff != "" {
		return errors.New(diff)
	}
	return nil
}

var near = servertest.Near

// nanosecond is the resolution of the clock: each length of a phase is rounded
// to it.
const nanosecond = 1e-9

// witness returns hooks that call seen before each event of a device, with the device's
// state then. The test sets f.
func witness(f **Federation, seen func(e engine.Event, d clients.State)) *engine.Hooks {
	return &engine.Hooks{Fired: func(e engine.Event) {
		if e.Device >= 0 && int(e.Device) < (*f).setup.Clients {
			seen(e, (*f).clients.State(int(e.Device)))
		}
	}}
}

// learning returns a problem whose coupling is learned, starting at the identity.
func learning(t testing.TB) *mtl.Problem {
	t.Helper()
	return withConfig(t, randomProblem(t, features, sizes...), mtl.Defaults())
}

// playRound does round h of a method with all devices, without a federation.
func playRound(a algorithms.Algorithm, s Setup, h int) {
	a.Begin()
	for k := range s.Problem.Tasks() {
		a.Solve(algorithms.Request{Device: k, Steps: algorithms.NoLimit, Stream: rng.New(s.Seed, rng.Solve, k, h)})
		a.Commit(k, 1)
	}
	a.End()
}

// sharing returns a problem of three tasks whose rows lie on the seven devices,
// with updates that are scaled by gamma.
func sharing(t testing.TB) *mtl.Problem {
	t.Helper()
	p := randomProblem(t, features, sizes...)
	train, test := *p.Train, *p.Test
	train.Owner = []int{0, 1, 0, 2, 1, 0, 2}
	test.Clients = test.Clients[:3]
	cfg := p.Config
	cfg.Gamma = 0.7
	return mustProblem(t, cfg, data.Split{Train: &train, Test: &test})
}

// withConfig returns the problem under another configuration.
func withConfig(t testing.TB, p *mtl.Problem, cfg mtl.Config) *mtl.Problem {
	t.Helper()
	return mustProblem(t, cfg, data.Split{Train: p.Train, Test: p.Test})
}

func mustProblem(t testing.TB, cfg mtl.Config, split data.Split) *mtl.Problem {
	t.Helper()
	p, err := mtl.NewProblem(cfg, split)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fixedScale is a regularizer whose coupling does not depend on the number of tasks.
type fixedScale struct{ scale float64 }

func (f fixedScale) Start(_ *parallel.Pool, m int) (mtl.Coupling, error) {
	return mtl.Identity{M: m, Scale: f.scale}, nil
}

func (fixedScale) Update(*parallel.Pool, *data.Matrix, float64) (mtl.Coupling, error) {
	return nil, mtl.ErrFixed
}

func (fixedScale) UpdateFLOPs(int, int) float64 { return 0 }

// budget returns how many steps the protocol allows a device.
func (f *Federation) budget(client int) int32 {
	return int32(f.server.Attempt(client).Limit)
}

// workOf returns the local work of a device in the open round.
func (f *Federation) workOf(client int) algorithms.Response {
	work, bytes := f.clients.Work(client)
	header := f.clients.MessageBytes(0)
	return algorithms.Response{Steps: int(f.server.Attempt(int(client)).Steps), FLOPs: work.FLOPs,
		Values: int((bytes - header) / (f.clients.MessageBytes(1) - header))}
}

// draw returns whether and where a device drops in an attempt.
func (f *Federation) draw(client, round, try int) devices.Drop {
	drops, err := devices.NewDrops(f.setup.Faults, f.setup.Clients, f.setup.Seed)
	if err != nil {
		panic(err)
	}
	return drops.Draw(client, round, try)
}

// evaluated returns a round with the metrics of the present model.
func evaluated(t testing.TB, f *Federation, r results.Round) results.Round {
	t.Helper()
	r, err := f.evaluation.evaluate(r)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// unevaluated returns a round without its metrics.
func unevaluated(r results.Round) results.Round {
	for i := range results.RoundColumns {
		if c := &results.RoundColumns[i]; !c.Kind.Measured() {
			c.Set(&r, results.Unknown(c.Type()))
		}
	}
	return r
}

// expectedResponse returns how long selectors expect the response of a device to take.
func expectedResponse(f *Federation, client int) engine.Time {
	down, up := f.work.usualBytes(client)
	work := devices.Work{FLOPs: f.work.flops(client, int(f.setup.Rows[client]))}
	return f.clients.ExpectedResponse(client, down, work, up)
}

// papersSelectors returns the selectors of papers.
func papersSelectors() []string {
	names := slices.DeleteFunc(federation.SelectorNames(), func(name string) bool {
		f, _ := federation.LookupSelector(name)
		return f.Reference == ""
	})
	return append(names, paperOort)
}

const paperOort = servertest.PaperOort

// selectBy sets a selector with options for the world of the tests.
func selectBy(s *Setup, name string, clients, candidates int) {
	servertest.SelectBy(&s.Config, name, clients, candidates)
}

// selectorOption sets an option of the selector.
func selectorOption(s *Setup, key string, value any) {
	servertest.Set(s.Config.SelectionOptions, key, value)
}

// optionsOf returns the default options of a selector; nil: it has none.
func optionsOf(name string) config.Options {
	if f, _ := federation.LookupSelector(name); f.Options != nil {
		return f.Options()
	}
	return nil
}

// entries is a journal that stores all entries.
type entries []federation.Entry

func (en *entries) Note(e federation.Entry) { *en = append(*en, e) }
