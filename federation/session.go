package federation

import (
	"context"
	"fmt"
	"math"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/engine"
	"fedsim/internal/parallel"
	"fedsim/mtl"
	"fedsim/results"
)

// Session is a federation whose server is another program, the driver: it sends messages
// to clients, waits in virtual time, and closes rounds. Protocols and selectors serve it
// as policies: [Session.Round] and [Session.Select].
//
// Only Wait, Round and Advance move the clock, Close if the server's work takes time, and
// Select if clients report to the selector. NewSession and Close also wait for
// federation.min_available clients, in which no client may ask for its work.
// A client is at one message at a time; further ones wait for their turn. Every message
// ends once: with a response, a failure, its expiry, or Cancel. The driver learns of a
// failure federation.detect_s after it.
//
// Errors are of type *SessionError. A call that returns one has changed nothing, unless the
// round is stalled or the call was interrupted: then the session is over. A Session is for
// one goroutine.
type Session struct {
	f      *Federation
	detect engine.Time
	policy bool // the protocol has rounds, which Round can play

	messages []errand // by place
	free     []int32  // places
	ids      map[int64]int32
	at       []int32 // by device, the place of the message that it is at; -1: none
	last     []int32 // by device, the place of the last message behind that one, or its own
	open     int     // messages that have not ended
	unsaid   int     // of those, the ones whose work is not known
	said     []int32 // places of messages that have ended since the last Close
	timers   []int32 // heap of places, by due
	group    int     // messages of the open group of hubs that have not ended
	dropped  []int32 // devices that messages of Send have marked as dropped

	started   bool    // round 0 was closed
	began     bool    // the open round has begun
	played    bool    // by Round
	playing   []int32 // places of messages of Round that have not ended, by device
	chosen    bool    // by Select, in the open round
	available int     // clients that could be asked when Select was called
	selected  []int32
	taken     []int64      // by the open round of Round
	answer    []int64      // by device, the id of its last response
	sizes     [][2]float64 // by device, the bytes down and up of the last message that was taken; 0: none
	order     []int32      // scratch: places
	asked     []int32      // scratch: clients of Round
	marks     []int        // scratch of checkOnce: by device, the last call that had it
	calls     int          // of checkOnce
	members   []int32      // scratch: clients of a group
	reached   []int32      // scratch of Nodes

	// Of the call that moves the clock:
	out     []Notice
	need    int         // ends that it waits for; below 1 it is over
	left    int         // messages that it has named and that have not ended
	any     bool        // of any message, not only of those named
	stopped bool        // it is over
	limit   engine.Time // until when the clients run at the moment
	again   bool        // they were stopped since limit became earlier
	asking  int         // clients that wait for Work
	inRound bool        // it is Round

	backlog []Notice // of Close, for the next call
}

// SessionSetup describes a session. Of its Setup, Problem, Coupling, Factory, Options,
// Plan, Pool, Checkpoint and Resume have no use.
type SessionSetup struct {
	Setup
	// StepFLOPs is the work of one step of the driver's method. Protocols that count
	// steps and selectors that expect times depend on it. 0: not known.
	StepFLOPs float64
	// Context ends a call that lasts; nil: nothing does.
	Context context.Context
}

// Message is what the driver sends to a client.
type Message struct {
	ID        int64 // chosen by the driver, not used before
	Device    int
	BytesDown float64
	FLOPs     float64 // of the client's work
	BytesUp   float64 // of its response
	// Undecided: FLOPs and BytesUp come with Work, when the client has the message.
	Undecided bool
	// Expires is when the driver takes no response any more; 0 or engine.Never: it
	// always does.
	Expires engine.Time
}

// Notice tells the driver what has become of a message.
type Notice struct {
	ID     int64
	Device int
	At     engine.Time
	Kind   NoticeKind
	Why    clients.Reason // of a NoticeFailure
}

// NoticeKind is the kind of a notice.
type NoticeKind uint8

const (
	NoticeResponse NoticeKind = iota // the response has arrived
	NoticeFailure                    // there will be no response
	NoticeExpired                    // the message has expired
	NoticeWork                       // the client has the message and waits for Work
)

// String returns the kind in a word.
func (k NoticeKind) String() string {
	return [...]string{"response", "failure", "expired", "work"}[k]
}

// Refusal is a message that was not sent.
type Refusal struct {
	ID   int64
	Why  clients.Reason // why the client is not available
	Busy bool           // the client is at another message
}

// String returns the reason in words.
func (r Refusal) String() string {
	if r.Busy {
		return "busy"
	}
	return r.Why.String()
}

// WaitEnd is why a wait is over.
type WaitEnd uint8

const (
	EndedAll     WaitEnd = iota // all messages waited for have ended
	EndedCount                  // as many as were asked for
	EndedUntil                  // the time has come
	EndedWork                   // a client waits for Work
	EndedStalled                // nothing happens any more
)

// String returns the reason in a word.
func (e WaitEnd) String() string { return [...]string{"all", "count", "until", "work", "stalled"}[e] }

// SessionError is why a call was refused.
type SessionError struct {
	Code SessionCode
	ID   int64 // of the message, if there is one
	Text string
}

// SessionCode names the cause of an error.
type SessionCode string

const (
	CodePast        SessionCode = "past"         // an instant before now
	CodeUnknownID   SessionCode = "unknown-id"   // no message has the id, or a round has closed since it ended
	CodeDuplicateID SessionCode = "duplicate-id" // another message has the id
	CodeDevice      SessionCode = "device"       // there is no such client
	CodeValue       SessionCode = "value"        // bytes or FLOPs that are negative or not finite
	CodeRound       SessionCode = "round"        // not the open round, or one that was played
	CodeOpenWork    SessionCode = "open-work"    // the work of a message is not known
	CodePolicy      SessionCode = "policy"       // the protocol cannot play a round
	CodeStalled     SessionCode = "stalled"      // the round can never end
	CodeInterrupted SessionCode = "interrupted"  // by the context
)

func (e *SessionError) Error() string { return e.Text }

func refuse(code SessionCode, id int64, format string, args ...any) error {
	return &SessionError{code, id, fmt.Sprintf(format, args...)}
}

// errand is a message on its way.
type errand struct {
	Message
	due    engine.Time // when the driver learns of its failure or its expiry; Never: there is no such time
	timer  int32       // its place in the heap of timers; -1: it is not there
	next   int32       // place of the message that waits behind it; -1: none
	round  int32       // Federation.round when it was sent
	state  errandState
	why    clients.Reason // of a failure
	found  bool           // due is when the driver learns of the failure
	named  bool           // a Wait waits for it
	train  bool           // it asks for an update
	query  bool           // it asks for something else that the server may count
	policy bool           // of Round
	late   bool           // it was counted as late
	untold bool           // its end is in the backlog
}

type errandState uint8

const (
	queued    errandState = iota // behind another message to its device
	underWay                     // the device is at it
	asking                       // the device has it, and waits for Work
	lapsed                       // it has failed, and the driver has not learned of it
	responded                    // the response has arrived
	over                         // it has ended otherwise
)

// ended reports whether the message has ended.
func (m *errand) ended() bool { return m.state >= responded }

// NewSession prepares a session. Its errors are those of [New].
func NewSession(s SessionSetup) (*Session, error) {
	n := s.Clients
	ses := &Session{limit: engine.Never,
		detect: engine.FromSeconds(s.Config.DetectS), policy: !s.Config.Traits().Continuous,
		ids: map[int64]int32{}, at: make([]int32, n), last: make([]int32, n), answer: make([]int64, n), sizes: make([][2]float64, n),
	}
	for t := range n {
		ses.at[t] = -1
	}
	if !ses.policy { // the driver asks and takes as it likes
		s.Config.Protocol = First
	}
	s.Setup.session, s.anyDeadline = ses, true
	s.Pool = parallel.NewPool(1) // the bytes of messages are set one after the other
	s.Plan = Plan{Outer: 1, EvalEvery: 1, Optimum: math.NaN()}
	s.Problem, s.Coupling, s.Checkpoint, s.Resume, s.Options = nil, nil, nil, nil, nil
	s.Factory = algorithms.Factory{
		Name: "the driver",
		Describe: func(algorithms.Options, mtl.Shape) algorithms.Description {
			return algorithms.Description{
				Name: "the driver", Model: algorithms.OneModel, Own: true, Evaluated: algorithms.ByMethod,
				Work: algorithms.Workload{StepFLOPs: s.StepFLOPs, Epochs: 2}, // the driver says them: see SelectEpochs
			}
		},
		New: func(about algorithms.Setup, _ algorithms.Options) (algorithms.Algorithm, error) {
			return driven{&algorithms.Described{About: about.Description}, ses}, nil
		},
	}
	f, err := New(s.Setup)
	if err != nil {
		return nil, err
	}
	ses.f = f
	if s.StepFLOPs == 0 { // nobody can count steps
		f.limiter, f.budgets = nil, nil
	}
	if s.Context != nil {
		f.watchdog.ctx = s.Context
	}
	for t := range n {
		f.clients.SetNumber(t, -1)
	}
	f.clients.Begin()
	ses.awaitAvailable()
	return ses, nil
}

// Now returns the virtual time.
func (s *Session) Now() engine.Time { return s.f.clients.Now() }

// DetectAfter returns how long after a failure the driver learns of it.
func (s *Session) DetectAfter() engine.Time { return s.detect }

// Client returns what is known of a client besides its metrics.
func (s *Session) Client(t int) results.ClientFacts { return s.f.client(t) }

// Nodes returns the clients that are available, in ascending order, and the next instant
// at which a trace or a charged battery may change that. The slice is valid until the
// next call.
func (s *Session) Nodes() (available []int32, next engine.Time) {
	c := s.f.clients
	s.reached, next = s.reached[:0], engine.Never
	for t := range s.at {
		if c.Available(t) {
			s.reached = append(s.reached, int32(t))
		}
		next = min(next, c.NextChange(t))
	}
	return s.reached, next
}

// Select returns the clients that the scenario asks in the open round, by its selection,
// in ascending order. It asks nobody. The slice is valid until Round or the next Select.
func (s *Session) Select(round int) ([]int32, error) {
	if err := s.checkRound(round); err != nil {
		return nil, err
	}
	if !s.chosen {
		s.chosen = true
		s.available = s.f.canBeAsked()
		s.f.selectClients()
		s.selected = append(s.selected[:0], s.f.open.asked...)
		s.awaitReports()
	}
	return s.selected, s.aborted()
}

// awaitReports lets the time pass that reports of clients take. It takes none while a message
// waits for its work: no client may ask for it then.
func (s *Session) awaitReports() {
	if s.f.selection.inquiry > 0 && s.unsaid == 0 {
		s.begin()
		s.between(s.f.awaitReports)
	}
}

// BatteryReport is a client's report of its battery.
type BatteryReport struct {
	Client   int32
	Battery  float64 // state of charge as a share of full; NaN: it has none
	Charging bool    // it is plugged in, or has no battery
}

// Batteries requests a report of the battery of every available client, and returns them in
// the order of clients. Request and report have so many bytes each, which count with their
// energy and take the time until the last report.
func (s *Session) Batteries(round int, bytes float64) ([]BatteryReport, error) {
	if err := s.checkRound(round); err != nil {
		return nil, err
	}
	var all []BatteryReport
	for t := range s.at {
		if s.f.clients.Available(t) {
			r := BatteryReport{Client: int32(t)}
			var took engine.Time
			r.Battery, r.Charging, took = s.f.readBattery(t, bytes)
			s.f.selection.inquiry = max(s.f.selection.inquiry, took)
			all = append(all, r)
		}
	}
	s.awaitReports()
	return all, s.aborted()
}

// between lets time pass outside of the driver's waits. It hears of what happens in its next
// call that moves the clock.
func (s *Session) between(pass func()) {
	s.need, s.out = math.MaxInt, s.backlog
	pass()
	s.backlog, s.out = s.out, nil
	for _, n := range s.backlog {
		s.messages[s.ids[n.ID]].untold = true
	}
}

// checkRound refuses a round that is not open.
func (s *Session) checkRound(round int) error {
	if s.f.stalled != "" {
		return s.aborted()
	}
	if open := s.f.round + 1; round != open {
		return refuse(CodeRound, 0, "round %d: round %d is open", round, open)
	}
	return nil
}

// begin begins the open round, unless it has begun.
func (s *Session) begin() {
	if !s.began {
		s.began = true
		s.f.open.began = s.Now()
		s.f.note(RoundStarted, engine.Server, 0)
	}
}

// Finish ends the session.
func (s *Session) Finish() *Outcome {
	s.f.clients.CutSpans()
	clock := s.f.clients.Clock()
	return &Outcome{Status: results.Done, EventHash: clock.Digest(), Events: clock.Fired(), Warnings: s.f.warnings()}
}

// driven is the method of a session: the driver knows it.
type driven struct {
	*algorithms.Described
	s *Session
}

var _ algorithms.Reporter = driven{}

func (d driven) Begin() (algorithms.Sent, error)          { return algorithms.Sent{}, nil }
func (d driven) Solve(algorithms.Request) algorithms.Work { return algorithms.Work{} }
func (d driven) Commit(t int, _ float64)                  { d.s.take(t) }
func (d driven) Discard(int)                              {}
func (d driven) End() (float64, error)                    { return 0, nil }
func (d driven) Evaluate() (algorithms.Evaluation, error) {
	return algorithms.Evaluation{Metrics: algorithms.Unknown()}, nil
}
