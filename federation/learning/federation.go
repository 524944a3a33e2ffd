package learning

import (
	"fmt"
	"math"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/internal/rooms/replay"
	"fedsim/mtl"
	"fedsim/results"
)

// Federation is one run of a method on a server, which it drives.
type Federation struct {
	setup      Setup
	server     *federation.Server
	clients    *clients.Clients
	method     *algorithms.Method
	failure    error        // the first of the method; nil: none
	coupling   mtl.Coupling // the present one
	outer      int          // the number of outer iterations before the present one
	evaluation evaluation

	work    workload
	open    methodMessage
	late    lateUpdates
	private *private // nil: nothing protects updates
	count   workCount
	log     *replay.Log // nil: there are no checkpoints
	rounds  results.RoundCoder

	nonfinite nonfinite        // the updates that have NaN or an infinity
	halt      *algorithms.Halt // ends local work of an interrupted run
}

// methodMessage is the message of a method in the open round.
type methodMessage struct {
	sent  algorithms.Sent
	bytes float64 // of the message of the method
}

type workCount struct {
	steps  int64
	capped []bool // by device, whether its work ended at the method's limit; nil for a method without one
	taken  int    // updates of such work that the server took
}

// New prepares a run. The error joins a config.Problem for each setting that
// does not go with the others or with the number of devices.
func New(s Setup) (*Federation, error) {
	if p := s.Problem; p != nil {
		s.Clients, s.Rows, s.Shape, s.PerTask = p.Clients(), p.RowCounts(), p.Shape, 0
	}
	if err := s.CheckSizes(); err != nil {
		return nil, err
	}
	method, err := s.newMethod(s.Coupling)
	if err != nil {
		return nil, err
	}
	if s.Problem != nil && s.Problem.Err() != nil {
		return nil, fmt.Errorf("starting %s: %w", method.About.Name, s.Problem.Err())
	}
	if method.About.Own {
		s.Schedule.Optimum = math.NaN()
	}
	f := &Federation{setup: s, method: method, coupling: s.Coupling}
	f.evaluation = evaluation{f: f}
	if f.evaluation.named, err = s.named(&method.About); err != nil {
		return nil, err
	}
	_, asked := s.Config.Sizes(s.Clients)
	f.work = workload{f: f, Workload: method.About.Work}
	f.work.usual.down, f.work.usual.up = f.work.MessageValues(s.Shape.Values())
	f.private = s.newPrivate(asked, f.work.usual.up)
	f.evaluation.named = append(f.evaluation.named, f.private.metrics()...)
	c := config.NewChecker()
	f.check(c, asked)
	if err := c.Err(); err != nil {
		return nil, err
	}
	if f.server, err = federation.New(s.Setup, f.work.plan(), driver{f}); err != nil {
		return nil, err
	}
	f.clients = f.server.Clients()
	if f.work.Limit != "" {
		f.count.capped = make([]bool, s.Clients)
	}
	if err := f.evaluation.newSample(); err != nil {
		return nil, err
	}
	if err := f.record(); err != nil {
		return nil, err
	}
	if !s.AnyDeadline {
		err = f.server.CheckDeadline(f.work.leastBytes())
	}
	if err == nil {
		err = f.server.CheckTimeouts(f.work.leastBytes())
	}
	return f, err
}

// fail notes an error of the method: the run ends with the first one after the round.
func (f *Federation) fail(err error) {
	if f.failure == nil {
		f.failure = err
	}
}

// methodErr returns the error of a method, or of the program of its model, that has failed.
func (f *Federation) methodErr() error {
	if p := f.setup.Problem; p != nil {
		f.fail(p.Err())
	}
	if f.failure == nil {
		return nil
	}
	return fmt.Errorf("%s failed in round %d: %w", f.methodName(), f.server.Rounds(), f.failure)
}

func (f *Federation) methodName() string { return f.method.About.Name }

// learns reports whether the method learns; in timing mode it only takes the time.
func (f *Federation) learns() bool { return f.method.About.Evaluated != algorithms.ByNobody }

// Stateful reports whether checkpoints of the method can be saved.
func (f *Federation) Stateful() bool { return f.method.Stateful != nil }

// evaluates reports whether the run evaluates the model of the method.
func (f *Federation) evaluates() bool { return f.method.About.Evaluated == algorithms.ByRun }

// updateCoupling updates Omega from the present W and continues under the new
// coupling. A regularizer that learns nothing keeps its coupling.
func (f *Federation) updateCoupling() error {
	if !f.evaluates() {
		return nil
	}
	p := f.setup.Problem
	var next mtl.Coupling
	var err error
	updated := false
	f.log.Answer(func() {
		next, err = p.Regularizer.Update(f.setup.Pool, p.TaskModels(f.evaluation.model()), p.Config.Floor(f.outer))
		updated = err == nil
	}, func(c *algorithms.Coder) { c.Bool(&updated) })
	if err != nil && err != mtl.ErrFixed && f.setup.Config.NonFinite != federation.TakeUpdate { // of a diverged W
		return fmt.Errorf("updating Omega after round %d: %w", f.server.Rounds(), err)
	}
	if !updated {
		return nil
	}
	if next != nil { // not in a replay: the coupling is that of the checkpoint
		f.method.SetCoupling(next)
		f.coupling = next
	}
	f.server.Note(federation.CouplingUpdated, engine.Server, 0)
	f.server.Compute(p.Regularizer.UpdateFLOPs(p.Tasks(), p.Values()))
	return nil
}

// runRound runs one round and returns its results without metrics, unless the run has ended within it.
func (f *Federation) runRound() (r results.Round) {
	started := f.server.Start()
	available := started.Await()
	if f.server.Aborted() {
		return r
	}
	var ended federation.Ended
	var thetas []float64
	if f.setup.Config.Traits().Continuous {
		ended = started.PlayOn()
	} else {
		ended, thetas = f.playRound(started)
	}
	if f.server.Aborted() {
		return r
	}
	r = ended.Account()
	r.Outer, r.Available, r.Thetas = f.outer, available, thetas
	return r
}

// playRound asks the clients of the round, and takes their responses.
func (f *Federation) playRound(started federation.Started) (ended federation.Ended, thetas []float64) {
	f.begin()
	played, ok := started.Play(f.cohort(f.server.Select()), f.unmasks)
	if !ok {
		return ended, nil
	}
	thetas = f.thetas()
	f.late.weigh(f)
	ended = played.Close()
	flops, err := f.method.End()
	f.fail(err)
	f.server.Compute(flops + f.closePrivate())
	return ended, thetas
}

func (f *Federation) begin() {
	var err error
	f.open.sent, err = f.method.Begin()
	f.fail(err)
	f.open.bytes = f.work.messageBytes(f.open.sent.Size)
	f.clients.SetBytesDown(f.open.bytes)
}

// cohort prepares the messages to the clients that the round asks.
func (f *Federation) cohort(asked []int32) federation.Cohort {
	_, wanted := f.setup.Config.Sizes(f.setup.Clients)
	cohort := federation.Cohort{Clients: asked, Wanted: wanted}
	size := func(client int) float64 {
		return f.work.messageBytes(f.open.sent.To(client)) + f.work.exchangedDown()
	}
	switch {
	case !f.method.About.Messages.Differ:
	case f.setup.Config.Traits().Asks: // there may be further clients
		cohort.Bytes = size
	default:
		for _, client := range asked {
			f.clients.SetBytesDownOf(int(client), size(int(client)))
		}
	}
	f.openPrivate(asked)
	f.server.Partial().Draw(asked, int(f.work.Epochs))
	return cohort
}
