package federation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"fedsim/algorithms"
	"fedsim/algorithms/privacy"
	"fedsim/clients"
	"fedsim/config"
	"fedsim/data"
	"fedsim/engine"
	"fedsim/internal/replay"
	"fedsim/mtl"
	"fedsim/results"
)

// Outcome is the result of a run.
type Outcome struct {
	Rounds    []results.Round
	Metrics   []results.NamedMetric // that the learner declares
	Status    results.Status
	Reason    string
	EventHash uint64
	ModelHash uint64
	AtOptimum *results.Round // the errors and metrics of Plan.Solution; nil without it
	Model     *data.Matrix   // the final W; nil without learning, or when the rounds were computed before
	ModelRows int            // that are stored, see mtl.Problem.StoredRows
	Events    int64
	Steps     int64  // coordinate steps and rows, also of updates that failed
	Limit     string // Factory.Limit
	MidRound  bool   // it was interrupted within a round, and has no checkpoint of it
	Capped    int64  // updates taken whose local work ended at that limit
	Warnings  []results.Warning
}

// Federation is one run: a server, its clients and the method they execute.
type Federation struct {
	setup    Setup
	method   *algorithms.Method
	failure  error                 // the first of the method; nil: none
	hash     uint64                // of the model at the last evaluation, of a method that evaluates itself
	named    []results.NamedMetric // that the method declares
	coupling mtl.Coupling          // the present one
	clients  *clients.Clients
	devices  []device
	budgets  []int32     // steps that each device may take; nil when the method decides
	sample   *mtl.Sample // tasks that a model is evaluated on; nil: all

	protocol Protocol
	traits   Traits
	limiter  Limiter // nil: the protocol does not limit work
	weigher  Weigher // nil: updates have no weights

	selection Selection
	selector  Selector // nil: a round asks all clients
	reports   *reports // nil: no plugin uses the history of clients
	wanted    int      // responses that a round is for
	late      lateUpdates
	workload  algorithms.Workload // of the method
	usual     int                 // numbers of a usual message, of a method that counts in them
	minRows   int                 // n_min, the number of rows of the smallest client

	round   int // rounds before this one, over all outer iterations
	outer   int
	stalled string // why the run cannot continue; empty: it can

	open    Round // the open round
	async   continuousServer
	part    *partialWork // nil: devices do all their epochs
	private *private     // nil: nothing protects updates
	tiers   *tiers       // nil: hubs have no rounds of their own
	tally   tally

	count   workCount
	updates []int32 // by client, those that the server took; nil: nobody asks
	energy  energyCount
	census  census
	// nonfinite has the devices whose update has NaN or an infinity.
	nonfinite nonfinite
	awaited   awaited
	watchdog  watchdog
	recorder  *replay.Recorder // nil: there are no checkpoints
	fetched   int64            // see fetch
}

// device is the state of a device on the server.
type device struct {
	steps     int32 // of its work for this response
	chosen    bool  // the server expects its response, to the open round or to an earlier one
	solved    bool  // its local work is done, tentatively
	responded bool  // the server has its response
	dropped   bool  // it has dropped in this round
}

// tally counts the devices of a round.
type tally struct {
	taken, dropped int
	cohort, asked  int // devices that were asked, and those that the server wanted to ask
	late           int // not responded when the round ended
	refused        int // responded with partial work, which the server drops
}

// workCount counts local work.
type workCount struct {
	steps  int64
	capped []bool // by device, whether its work ended at the method's limit; nil for a method without one
	taken  int    // updates of such work that the server took
}

// energyCount is the energy, in joules, that was counted before.
type energyCount struct {
	noted []float64 // by device, in the journal
	spent float64   // of all devices, in rounds
}

// New prepares a run. The error joins a config.Problem for each setting that
// does not go with the others or with the number of devices.
func New(s Setup) (*Federation, error) {
	if p := s.Problem; p != nil {
		s.Clients, s.Rows, s.Shape, s.PerTask = p.Devices(), p.RowCounts(), p.Shape, 0
	}
	n := s.Clients
	if n > clients.MaxClients {
		return nil, config.Problem{Key: "data.synthetic.tasks", Value: n, Want: fmt.Sprintf("must be at most %d in all: the engine numbers devices and hubs in 26 bits", clients.MaxClients)}
	}
	if s.Config.Clients > n {
		return nil, config.Problem{Key: "federation.clients_per_round", Value: s.Config.Clients, Want: fmt.Sprintf("must be at most %d, the number of devices", n)}
	}
	if s.Config.MinAvailable > n {
		return nil, config.Problem{Key: "federation.min_available", Value: s.Config.MinAvailable, Want: fmt.Sprintf("must be at most %d, the number of devices", n)}
	}
	method, err := s.newMethod(s.Coupling)
	if err != nil {
		return nil, err
	}
	if method.About.Own {
		s.Plan.Optimum = math.NaN()
	}
	named, err := s.named(&method.About)
	if err != nil {
		return nil, err
	}
	f := &Federation{
		setup: s, method: method, named: named, coupling: s.Coupling,
		traits: s.Config.Traits(), minRows: s.MinRows(),
		devices: make([]device, n), workload: method.About.Work,
		watchdog: watchdog{ctx: context.Background()},
		open:     Round{ended: true},
	}
	f.usual = f.workload.MessageValues(s.Shape.Values())
	wanted, asked := s.Config.Sizes(n)
	f.private = s.newPrivate(asked)
	f.named = append(f.named, f.private.metrics()...)
	if len(f.named) > 0 || s.session != nil {
		f.updates = make([]int32, n)
	}
	listener := f.listener()
	if s.session != nil {
		listener = s.session.listener(f)
	}
	if f.clients, err = clients.New(f.clientsSetup(), listener); err != nil {
		return nil, err
	}
	if f.protocol, err = s.Config.newProtocol(); err != nil {
		return nil, err
	}
	f.wanted, f.selection = wanted, newSelection(f, s.Seed, asked, n)
	if f.traits.Weighs && f.learns() {
		f.weigher = f.protocol.(Weigher)
	}
	if f.traits.LimitsWork {
		f.limiter, f.budgets = f.protocol.(Limiter), make([]int32, n)
	}
	if f.workload.Limit != "" {
		f.count.capped = make([]bool, n)
	}
	if s.Problem != nil {
		if m := s.Problem.Tasks(); s.Plan.EvalTasks > m {
			return nil, config.Problem{Key: "run.eval_tasks", Value: s.Plan.EvalTasks, Want: fmt.Sprintf("must be at most %d, the number of tasks", m)}
		}
		f.sample = s.Problem.NewSample(s.Plan.EvalTasks, s.Seed)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	f.tiers = f.newTiers()
	if s.Config.PartialShare > 0 {
		f.part = newPartialWork(f)
	}
	if err := f.record(); err != nil {
		return nil, err
	}
	if f.continuous() {
		for t := range f.devices {
			f.clients.SetNumber(t, -1)
		}
	}
	if err := f.checkDeadline(); err != nil {
		return nil, err
	}
	if f.selector, err = s.newSelector(asked); err != nil {
		return nil, err
	}
	declared := SelectorFactory{}
	if f.selector != nil {
		declared, _, _ = s.Config.selector()
	}
	f.selection.declared = declared
	protocol, _ := LookupProtocol(s.Config.Protocol)
	if declared.History || protocol.History {
		f.reports = newReports(n, declared)
	}
	return f, nil
}

// clientsSetup returns the setup of the clients.
func (f *Federation) clientsSetup() clients.Setup {
	s := &f.setup
	c := clients.Setup{
		System: s.System,
		Cost:   s.Config.Cost, PassFLOPs: float64(f.minRows) * s.Shape.StepFLOPs(), LeastFLOPs: f.leastFLOPs(),
		Model: f.sentAs, Due: f.asksAgain(0), Ahead: f.fetch, GiveUp: f.interrupted,
	}
	c.HubRounds, c.NoMessages = f.method.About.HubRounds, f.method.About.Messages.None
	if s.Privacy.Secure() {
		c.RoundTrips = privacy.RoundTrips
	}
	if s.Journal != nil {
		c.Journal = clientsJournal{f}
	}
	return c
}

// listener returns the server's reactions to clients.
func (f *Federation) listener() clients.Listener {
	return clients.Listener{
		Downloaded: f.downloaded, Responded: f.responded, Failed: f.failed,
		Available: f.available, Depleted: f.depleted, Recharged: f.recharged,
		Gathered: f.gathered, Timer: f.timeout, Repeat: f.repeat, Unreached: f.unreached, Watch: f.watch,
	}
}

// check finds protocols that the method or the faults cannot live with.
func (f *Federation) check() error {
	about, protocol := &f.method.About, f.setup.Config.Protocol
	needs, name := &about.Needs, about.Name
	c := config.NewChecker()
	f.setup.Config.ValidateMethod(c.In("federation"), about)
	f.setup.Config.ValidateCompression(c, f.setup.Compression, f.setup.Privacy, f.setup.Network.HubSize, f.learns(), about)
	c.Require(!needs.AllClients || f.selection.asked == f.setup.Clients, "federation.clients_per_round", f.selection.asked,
		fmt.Sprintf("must be 0, and fraction 1: %s needs a response of every device", name))
	loss, model := "", mtl.ModelLinear
	if f.setup.Shape.Hidden != (mtl.Widths{}) {
		model = mtl.ModelMLP
	}
	if p := f.setup.Problem; p != nil {
		loss = p.Config.Loss
	}
	ValidateProblem(c, loss, model, about)
	if p := f.setup.Problem; p != nil {
		ValidateTasks(c, &p.Config, p.Tasks() < p.Devices(), about)
		c.Require(!needs.Smooth || p.Smooth(), "problem.loss", p.Config.Loss,
			fmt.Sprintf("must be one of %s: %s needs a smooth loss", strings.Join(mtl.SmoothLosses(), ", "), name))
	} else if !f.learns() {
		c.Require(f.setup.Config.ServerGFLOPS == 0, "federation.server_gflops", f.setup.Config.ServerGFLOPS,
			"must be 0 in a run without learning: the work of the server is not known")
	}
	if f.weigher != nil {
		c.Require(about.Weights == algorithms.Yes, "federation.protocol", protocol, fmt.Sprintf("must be another: %s cannot give updates weights, which this protocol does", name))
	}
	ValidatePrivacy(c, f.setup.Privacy, &f.setup.Config, f.setup.Network.HubSize, about)
	if f.private.secure() {
		fewest, fits := f.setup.Privacy.Fits(f.selection.asked)
		c.Require(fits, "privacy.ring_bits", f.setup.Privacy.RingBits, fmt.Sprintf("must be at least %d, and at most 64: the sum of %d values of privacy.value_bits = %d must fit", fewest, f.selection.asked, f.setup.Privacy.ValueBits))
	}
	f.checkContinuous(c)
	if f.setup.Network.HubSize > 0 {
		c.Require(!f.continuous(), "federation.protocol", protocol, "must be another with network.hub_size: a hub gathers the answers of a round")
		c.Require(!f.traits.Late, "federation.late", f.setup.Config.Late, "must be \"drop\" with network.hub_size: a hub gathers the answers of one round")
	}
	ValidateHubs(c, f.setup.Network.HubSize, about)
	f.checkSelection(c)
	f.checkLateWeights(c)
	if f.setup.session == nil {
		f.checkEndless(c)
	}
	var problems []error
	for _, p := range c.Problems() {
		problems = append(problems, p)
	}
	return errors.Join(problems...)
}

// checkEndless finds clients that never respond, for which the protocol would wait
// without end.
func (f *Federation) checkEndless(c *config.Checker) {
	f.setup.Config.ValidateFaults(c, &f.setup.Faults, &f.setup.Network)
	if never := f.setup.Faults.Never; f.traits.WaitsForAll && len(never) > 0 {
		c.Require(false, "faults.never", slices.Min(never), "must be empty"+endless(f.setup.Config.Protocol))
	}
}

// checkContinuous finds what does not go with a server that has no rounds.
func (f *Federation) checkContinuous(c *config.Checker) {
	if !f.continuous() {
		return
	}
	cfg := &f.setup.Config
	c.Require(cfg.Cost != Authors, "federation.cost", cfg.Cost, "must be \"physical\" or \"relative\": the authors' drivers have rounds")
	c.Require(f.setup.Plan.ThetaEvery == 0, "run.theta_every", f.setup.Plan.ThetaEvery, fmt.Sprintf("must be 0 under protocol %q: theta_t^h is defined for rounds", cfg.Protocol))
}

// Run goes through the rounds of the plan and calls observe, which may be nil,
// after each; round 0 is the state before the first. When ctx ends it stops after
// the round under way, or within it when that does not end soon.
func (f *Federation) Run(ctx context.Context, observe func(results.Round)) (*Outcome, error) {
	out := &Outcome{Status: results.Done, Metrics: f.named}
	f.watchdog.ctx = ctx
	f.watchdog.halt = algorithms.NewHalt(overtimeWork, func() bool { return ctx.Err() != nil })
	var err error
	f.clients.Begin()
	record := func(r results.Round) {
		if observe != nil {
			observe(r)
		}
		r.ClientMetrics, r.Client = nil, nil // they may exceed the memory
		out.Rounds = append(out.Rounds, r)
	}
	start := results.NewRound()
	err = f.answer(&start, func() (err error) {
		if start, err = f.evaluate(start); err == nil && f.clientsDue() {
			err = f.evaluateClients(&start)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	f.checkLoss(&start)
	record(start)
	plan := f.setup.Plan
	metric := f.metric(plan.StopAt)
loop:
	for f.outer = range plan.Outer {
		lastOuter := f.outer == plan.Outer-1
		for h := range plan.Rounds {
			if ctx.Err() != nil {
				out.Status = results.Interrupted
				break loop
			}
			if h == 0 && f.outer > 0 { // not earlier: a checkpoint between two rounds comes before it
				if err := f.updateCoupling(); err != nil {
					return nil, err
				}
			}
			var r results.Round
			if !f.aborted() {
				r = f.runRound()
			}
			if err := f.methodErr(); err != nil {
				return nil, err
			}
			if f.stalled != "" {
				out.Status, out.Reason = results.Stalled, f.stalled
				break loop
			}
			if f.aborted() {
				out.Status, out.MidRound = results.Interrupted, true
				break loop
			}
			last := h == plan.Rounds-1 && lastOuter
			over := plan.MaxTime > 0 && r.TimeS >= plan.MaxTime
			stops := func(r *results.Round) bool {
				return over || metric.Reached(metric.Of(r), plan.StopAt.Value) && (lastOuter || !metric.Couples)
			}
			evaluated := f.round%plan.EvalEvery == 0 || last || over
			err = f.answer(&r, func() (err error) {
				if !evaluated {
					return nil
				}
				if r, err = f.evaluate(r); err == nil && (last || f.clientsDue() || stops(&r)) {
					err = f.evaluateClients(&r)
				}
				return err
			})
			if err == nil {
				err = f.recorder.EndRound()
			}
			if err != nil {
				return nil, err
			}
			if evaluated {
				f.checkLoss(&r)
			}
			record(r)
			if f.setup.Checkpoint != nil && !f.Replaying() {
				if err := f.setup.Checkpoint(f); err != nil {
					return nil, err
				}
			}
			if stops(&r) {
				break loop
			}
		}
	}
	f.clients.CutSpans()
	if out.Status != results.Interrupted {
		out.Warnings = f.warnings()
		if about := &f.method.About; about.Own {
			out.Warnings = append(out.Warnings, results.Unreported(named(about.Metrics), out.Rounds)...)
		}
	}
	out.EventHash, out.Events, out.Steps = f.clients.Clock().Digest(), f.clients.Clock().Fired(), f.count.steps
	out.Limit, out.Capped = f.workload.Limit, int64(f.count.taken)
	out.ModelHash = f.modelHash()
	if out.AtOptimum, err = f.atOptimum(); err != nil {
		return nil, err
	}
	if f.evaluates() {
		out.Model = f.model()
		out.ModelRows = f.setup.Problem.StoredRows(out.Model)
	}
	return out, nil
}

// updateCoupling updates Omega from the present W and continues under the new
// coupling. A regularizer that learns nothing keeps its coupling.
func (f *Federation) updateCoupling() error {
	if !f.evaluates() {
		return nil
	}
	var next mtl.Coupling
	var err error
	updated := false
	f.recorder.Answer(func() {
		w := f.setup.Problem.TaskModels(f.model())
		next, err = f.setup.Problem.Regularizer.Update(f.setup.Pool, w, f.setup.Problem.Config.Floor(f.outer))
		updated = err == nil
	}, func(c *algorithms.Coder) { c.Bool(&updated) })
	if err != nil && err != mtl.ErrFixed {
		return fmt.Errorf("updating Omega after round %d: %w", f.round, err)
	}
	if !updated {
		return nil
	}
	if next != nil { // not in a replay: the coupling is that of the checkpoint
		f.method.SetCoupling(next)
		f.coupling = next
	}
	f.note(CouplingUpdated, engine.Server, 0)
	f.serverWork(f.setup.Problem.Regularizer.UpdateFLOPs(f.setup.Problem.Tasks(), f.setup.Problem.Values()))
	return nil
}

// serverWork lets the server compute for as long as the work takes it.
func (f *Federation) serverWork(flops float64) {
	speed := f.setup.Config.ServerGFLOPS * 1e9
	if speed == 0 {
		return
	}
	until := f.clients.Now().Add(engine.FromSeconds(flops / speed))
	if until == engine.Never {
		f.stalled = beyond("the work of the server (federation.server_gflops)")
		return
	}
	if s := f.setup.session; s != nil {
		s.run(until)
		return
	}
	f.clients.RunUntil(until)
}

// fail notes an error of the method: the run ends with the first one after the round.
func (f *Federation) fail(err error) {
	if f.failure == nil {
		f.failure = err
	}
}

// methodErr returns the error of a method that has failed.
func (f *Federation) methodErr() error {
	if f.failure == nil {
		return nil
	}
	return fmt.Errorf("%s failed in round %d: %w", f.methodName(), f.round, f.failure)
}

// methodName names the method in errors.
func (f *Federation) methodName() string { return f.method.About.Name }

// learns reports whether the method learns; in timing mode it only takes the time.
func (f *Federation) learns() bool { return f.method.About.Evaluated != algorithms.ByNobody }

// Stateful reports whether checkpoints of the method can be saved.
func (f *Federation) Stateful() bool { return f.method.Stateful != nil }

// Own reports whether the method has a model and metrics of its own.
func (f *Federation) Own() bool { return f.method.About.Own }

// evaluates reports whether the run evaluates the model of the method.
func (f *Federation) evaluates() bool { return f.method.About.Evaluated == algorithms.ByRun }

// flopsOf returns the FLOPs of so many steps of client t.
func (f *Federation) flopsOf(t, steps int) float64 {
	return f.workload.Of(int(f.setup.Rows[t]), steps)
}

// leastFLOPs returns the work whose time the protocol charges to every client: that of the
// steps that it charges, on the client where they take the most.
func (f *Federation) leastFLOPs() float64 {
	steps := f.traits.ChargedPasses * float64(f.minRows)
	if steps == 0 || f.workload.FLOPs == nil {
		return steps * f.workload.StepFLOPs
	}
	most := 0.0
	for t := range f.setup.Rows {
		most = max(most, f.flopsOf(t, max(1, int(steps))))
	}
	return most
}

// newMethod starts the method under a coupling.
func (s *Setup) newMethod(c mtl.Coupling) (*algorithms.Method, error) {
	cohort, _ := s.Config.Sizes(s.Clients)
	return s.Factory.Start(algorithms.Setup{
		Rows: s.Rows, Shape: s.Shape, Seed: s.Seed,
		Problem: s.Problem, Coupling: c, Solution: s.Plan.Solution, HubSize: s.Network.HubSize, Workers: s.Pool.Size(), Pool: s.Pool,
		Compression: s.Compression, ValueBytes: s.Network.PayloadBytesPerValue,
		Privacy: s.Privacy, Cohort: cohort,
	}, s.Options)
}
