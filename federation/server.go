package federation

import (
	"context"
	"slices"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/engine"
	"fedsim/internal/tools/roster"
)

// Server is the server of a simulated federated system: it asks clients for work, in rounds or
// without, by a protocol and a selector. Its driver knows the work.
//
// Begin starts the clients. Then a round is Start, Await, Select, Play, Close, Compute and
// Account, most of which return the value whose method is next. A driver may leave out Await, Select
// and Compute.
type Server struct {
	setup   Setup
	work    Workload
	driver  Driver
	outside Messenger // the driver, if it is a Messenger; nil otherwise

	clients *clients.Clients
	clock   Clock // lets time pass: the clients, or the driver
	minRows int   // n_min, the number of rows of the smallest client

	protocol  Protocol
	traits    Traits
	selection Selection
	selector  Selector // nil: a round asks all clients
	wanted    int      // the number of responses that a round is for

	round int       // the number of rounds before this one
	open  OpenRound // the open round

	attempts   attempts
	continuous *continuous // nil: there are rounds
	tiers      *tiers      // nil: hubs have no rounds of their own
	estimates  estimates
	accounts   Accounts
	journal    journal
	supervisor supervisor
	fetched    int64 // see fetch
}

// New prepares a server with its clients. The error is a config.Problem, or joins one for each
// setting that does not go with the others or with the number of clients.
func New(s Setup, work Workload, d Driver) (*Server, error) {
	if err := s.CheckSizes(); err != nil {
		return nil, err
	}
	if factory, _ := LookupProtocol(s.Config.InForce()); !slices.Contains(factory.Keys, "min_reports") {
		s.Config.MinReports = 0 // the scenario sets it for methods with another protocol
	}
	n := s.Clients
	f := &Server{
		setup: s, work: work, driver: d, minRows: s.MinRows(), traits: s.Config.Traits(),
		open: OpenRound{ended: true, ends: engine.Never, wakes: engine.Never},
	}
	f.open.server = f
	f.outside, _ = d.(Messenger)
	f.newParts()
	if work.CountUpdates {
		f.accounts.updates = make([]int32, n)
	}
	var err error
	if f.clients, err = clients.New(f.clientsSetup(), f.listener()); err != nil {
		return nil, err
	}
	f.estimates.clients, f.journal.clients, f.attempts.clients = f.clients, f.clients, f.clients
	f.accounts.clients, f.supervisor.clients = f.clients, f.clients
	for _, o := range f.clients.Observers() {
		if o, both := o.(Observer); both {
			f.accounts.observers = append(f.accounts.observers, o)
		}
	}
	f.attempts.devices = roster.NewColumn[device](f.clients.Roster(), nil)
	if f.clock = f.clients; f.outside != nil {
		f.clock = f.outside
	}
	f.supervisor.clock = f.clock
	if err := f.newPolicies(); err != nil {
		return nil, err
	}
	f.estimates.rounds = 1
	if f.tiers = newTiers(f); f.tiers != nil {
		f.attempts.tiers, f.estimates.rounds = f.tiers, f.tiers.rounds
	}
	if s.Config.PartialShare > 0 {
		f.attempts.partial = newPartial(f)
	}
	if f.traits.Continuous {
		f.continuous = newContinuous(f)
	}
	return f, nil
}

// newParts makes the parts of a server that need no clients yet.
func (s *Server) newParts() {
	s.estimates = estimates{setup: &s.setup, work: &s.work, traits: s.traits, minRows: s.minRows}
	s.journal = journal{to: s.setup.Journal, round: &s.round}
	s.supervisor = supervisor{setup: &s.setup, attempts: &s.attempts, open: &s.open, ctx: context.Background()}
	s.accounts = Accounts{setup: &s.setup, attempts: &s.attempts, journal: &s.journal, open: &s.open}
	s.attempts = attempts{estimates: &s.estimates, open: &s.open, driver: s.driver, traits: s.traits,
		interrupt: s.supervisor.discard}
	s.attempts.losses, _ = s.driver.(Losses)
}

// newPolicies makes the protocol and the selector.
func (s *Server) newPolicies() (err error) {
	setup, n := &s.setup, s.setup.Clients
	if s.protocol, err = setup.Config.newProtocol(); err != nil {
		return err
	}
	wanted, asked := setup.Config.Sizes(n)
	s.wanted, s.selection = wanted, newSelection(s, setup.Seed, asked, n)
	if s.traits.Weighs && s.work.Weights {
		s.attempts.weigher = s.protocol.(Weigher)
	}
	if s.traits.LimitsWork && !s.work.Uncounted {
		s.attempts.limiter, s.attempts.budgets = s.protocol.(Limiter), roster.NewColumn[int32](s.clients.Roster(), nil)
	}
	c := config.NewChecker()
	if setup.Check(c); c.Err() != nil {
		return c.Err()
	}
	if s.selector, err = setup.newSelector(asked); err != nil {
		return err
	}
	declared := SelectorFactory{}
	if s.selector != nil {
		declared, _, _ = setup.Config.selector()
	}
	s.selection.declared = declared
	if protocol, _ := LookupProtocol(setup.Config.Protocol); declared.History || protocol.History {
		s.accounts.reports = newReports(n, declared)
		s.attempts.reports = s.accounts.reports
	}
	return nil
}

func (s *Server) clientsSetup() clients.Setup {
	setup := &s.setup
	c := clients.Setup{
		System: setup.System,
		Cost:   setup.Config.Cost, PassFLOPs: s.work.PassFLOPs, Least: s.estimates.least(),
		Model: s.work.Model, Ahead: s.fetch, GiveUp: s.supervisor.interrupted,
		HubRounds: s.work.HubRounds, NoMessages: s.work.NoMessages, RoundTrips: s.work.RoundTrips,
	}
	s.attempts.waits = s.attempts.mustWait(c.Sharing())
	c.Due, c.AnswerTimeout = s.attempts.waits, setup.Config.answerTimeout()
	if setup.Journal != nil {
		c.Journal, s.journal.joules = &s.journal, make([]float64, setup.Clients)
	}
	return c
}

// listener returns the server's reactions to clients.
func (s *Server) listener() clients.Listener {
	a := reactions{s}
	return clients.Listener{
		Downloaded: a.downloaded, Responded: a.responded, Failed: a.failed, Unreached: a.unreached,
		Available: a.available, Depleted: a.depleted, Recharged: a.recharged,
		Gathered: func(hub int) bool { return s.tiers.gathered(hub) }, Timer: a.timeout, Repeat: a.repeat,
		Watch: s.supervisor.watch, Needed: s.attempts.expects,
	}
}

// Clients returns the clients, for their state and for messages of the driver's own.
func (s *Server) Clients() *clients.Clients { return s.clients }

// Watch makes the end of a context interrupt the run: its round is then discarded, unless it
// ends soon.
func (s *Server) Watch(ctx context.Context) { s.supervisor.ctx = ctx }

// Stalled returns why the run cannot continue; empty: it can.
func (s *Server) Stalled() string { return s.supervisor.stalled }

// Stall ends the run: it can never be completed.
func (s *Server) Stall(why string) { s.supervisor.stall(why) }

// Aborted reports whether the run has ended within a round: it stalled, or was interrupted.
func (s *Server) Aborted() bool { return s.supervisor.aborted() }

// Rounds returns the number of rounds that have ended.
func (s *Server) Rounds() int { return s.round }

// Note makes an entry of a client, or of the server (engine.Server), at this instant.
func (s *Server) Note(k EntryKind, client int, amount float64) { s.journal.note(k, client, amount) }

// Compute lets the server compute for as long as the work takes it.
func (s *Server) Compute(flops float64) {
	speed := s.setup.Config.ServerGFLOPS * 1e9
	if speed == 0 {
		return
	}
	until := s.clients.Now().Add(engine.FromSeconds(flops / speed))
	if until == engine.Never {
		s.supervisor.stalled = beyond(serverWork)
		return
	}
	from := s.clients.Now()
	s.clock.RunUntil(until)
	for _, o := range s.accounts.observers {
		o.Computed(from, s.clients.Now())
	}
}

// serverWork names what Compute takes the time of, in errors.
const serverWork = "the work of the server (federation.server_gflops)"

// fetch reads the state of devices whose events come next into caches.
func (s *Server) fetch(soon []int32) {
	read := int64(0)
	for _, client := range soon {
		if int(client) < s.setup.Clients {
			read += int64(s.attempts.device(int(client)).steps) + int64(s.attempts.budget(int(client)))
		}
	}
	s.fetched = read // the compiler removes reads without a use
}
