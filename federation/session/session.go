package session

import (
	"fmt"
	"math"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/results"
)

// Session is a federation whose server is another program, the driver: it sends messages
// to clients, waits in virtual time, and closes rounds. Protocols and selectors serve it
// as policies: [Session.PlayRound] and [Session.Select].
//
// Only Wait, Round and Advance move the clock, Close if the server's work takes time, and
// Select and Batteries if clients report or none is available. New and Close also wait for
// federation.min_available clients, in which no client may ask for its work.
// A client is at one message at a time; further ones wait for their turn. Every message
// ends once: with a response, a failure, its expiry, or Cancel. The driver learns of a
// failure engine.detect_s after it.
//
// Errors are of type *Error. A call that returns one has changed nothing, unless the
// round is stalled or the call was interrupted: then the session is over. A Session is for
// one goroutine.
type Session struct {
	server  *federation.Server
	clients *clients.Clients
	setup   federation.Setup

	detect      engine.Time
	policy      bool // the protocol has rounds, which Round can play
	waitsForAll bool // the protocol does
	hubs        bool // clients are behind hubs

	queue  queue
	timers timers
	call   call
	once   once
	group  int // the number of messages of the open group of hubs that have not ended

	started   bool // round 0 was closed
	began     bool // the open round has begun
	round     federation.Started
	ended     federation.Ended // the open round, if its messages were played or are all the driver's own
	played    bool             // by Round
	playing   []int32          // the places of messages of Round that have not ended, by device
	chosen    bool             // by Select, in the open round
	available int              // the number of clients that could be asked when Select was called
	selected  []int32          // the clients of Select
	dropped   []int32          // the clients that messages of Send have marked as dropped
	taken     []int64          // the ids of messages that the open round of Round took
	answer    []int64          // by device, the id of its last response
	sizes     [][2]float64     // by device, the bytes down and up of the last message that was taken; 0: none
	asked     []int32          // scratch: the clients of Round
	members   []int32          // scratch: the clients of a group
	reached   []int32          // scratch of Available
}

// Message is a message of the driver to a client.
type Message struct {
	ID           int64 // chosen by the driver, not used before
	Client       int
	BytesDown    float64
	devices.Work         // of the client; without Steps, no step has an overhead
	BytesUp      float64 // of its response
	// Undecided: Work and BytesUp come with Work, when the client has the message.
	Undecided bool
	// Expires is when the driver takes no response any more; 0 or engine.Never: it
	// always does.
	Expires engine.Time
}

// Notice reports the fate of a message to the driver.
type Notice struct {
	ID     int64
	Client int
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

// Error is why a call was refused.
type Error struct {
	Code Code
	ID   int64 // of the message, if there is one
	Text string
}

// Code names the cause of an error.
type Code string

const (
	CodePast        Code = "past"         // an instant before now
	CodeUnknownID   Code = "unknown-id"   // no message has the id, or a round has closed since it ended
	CodeDuplicateID Code = "duplicate-id" // another message has the id
	CodeClient      Code = "client"       // there is no such client
	CodeValue       Code = "value"        // bytes, steps or FLOPs that are negative or not finite
	CodeRound       Code = "round"        // not the open round, or one that was played
	CodeOpenWork    Code = "open-work"    // the work of a message is not known
	CodePolicy      Code = "policy"       // the protocol cannot play a round
	CodeStalled     Code = "stalled"      // the round can never end
	CodeInterrupted Code = "interrupted"  // by the context
)

func (e *Error) Error() string { return e.Text }

func refuse(code Code, id int64, format string, args ...any) error {
	return &Error{code, id, fmt.Sprintf(format, args...)}
}

// New prepares a session. Its errors are those of federation.New.
func New(s Setup) (*Session, error) {
	traits := s.Config.Traits()
	policy := !traits.Continuous
	if !policy && !traits.Groups { // the driver asks and takes as it likes
		s.Config.Protocol = protocols.First
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	ses := &Session{
		detect: engine.FromSeconds(s.Config.DetectS), policy: policy, hubs: s.Network.HubSize > 0,
		waitsForAll: s.Config.Traits().WaitsForAll, setup: s.Setup, queue: newQueue(s.Clients),
		call: call{limit: engine.Never}, answer: make([]int64, s.Clients), sizes: make([][2]float64, s.Clients),
	}
	ses.timers.queue, ses.once.marks = &ses.queue, make([]int, s.Clients)
	var err error
	if ses.server, err = federation.New(s.Setup, s.workload(ses), driver{ses}); err != nil {
		return nil, err
	}
	ses.clients = ses.server.Clients()
	if s.Context != nil {
		ses.server.Watch(s.Context)
	}
	for client := range s.Clients {
		ses.clients.SetNumber(client, -1)
	}
	ses.server.Begin()
	ses.awaitAvailable()
	return ses, nil
}

// Now returns the virtual time.
func (s *Session) Now() engine.Time { return s.clients.Now() }

// DetectAfter returns how long after a failure the driver learns of it.
func (s *Session) DetectAfter() engine.Time { return s.detect }

// SetPoll sets when a client that is at no message polls for messages next, at or after now. Later
// polls follow by overhead.client_poll_s.
func (s *Session) SetPoll(client int, at engine.Time) { s.clients.SetPoll(client, at) }

// Client returns the facts of a client besides its metrics.
func (s *Session) Client(client int) results.ClientFacts {
	return s.server.Facts(client, s.sizes[client][0], s.sizes[client][1])
}

// Available returns the clients that are available, in ascending order, and the next instant
// at which a trace or a charged battery may change that. The slice is valid until the
// next call.
func (s *Session) Available() (available []int32, next engine.Time) {
	c := s.clients
	s.reached, next = s.reached[:0], engine.Never
	for client := range s.queue.current {
		if c.Available(client) {
			s.reached = append(s.reached, int32(client))
		}
		next = min(next, c.NextChange(client))
	}
	return s.reached, next
}

// Select returns the clients that the scenario asks in the open round, by its selection,
// in ascending order. It asks nobody. If no client is available and no message is open, time
// passes until one is, as in a run. The slice is valid until Round or the next Select.
func (s *Session) Select(round int) ([]int32, error) {
	if err := s.checkRound(round); err != nil {
		return nil, err
	}
	if !s.chosen {
		if s.awaitFirst(); s.server.Aborted() {
			return nil, s.aborted()
		}
		s.chosen = true
		s.available = s.server.Askable()
		s.selected = append(s.selected[:0], s.server.Choose()...)
		s.awaitReports()
	}
	return s.selected, s.aborted()
}

// awaitFirst lets the time pass until a client is available, unless messages of the driver are open.
func (s *Session) awaitFirst() {
	if s.policy && s.queue.open == 0 && s.server.NoneAvailable() {
		s.begin()
		s.between(s.server.AwaitFirst)
	}
}

// awaitReports lets the time pass that reports of clients take. It takes none while a message
// waits for its work: no client may ask for it then.
func (s *Session) awaitReports() {
	if s.server.Reports() && s.queue.undecided == 0 {
		s.begin()
		s.between(s.server.AwaitReports)
	}
}

// BatteryReport is a client's report of its battery.
type BatteryReport struct {
	Client   int32
	Battery  float64 // state of charge as a share of full; NaN: no battery
	Charging bool    // the charger is plugged in, or the device has no battery
}

// Batteries requests a report of the battery of every available client, and returns them in
// the order of clients. Request and report have so many bytes each, which count with their
// energy and take the time until the last report.
func (s *Session) Batteries(round int, bytes float64) ([]BatteryReport, error) {
	if err := s.checkRound(round); err != nil {
		return nil, err
	}
	if s.awaitFirst(); s.server.Aborted() {
		return nil, s.aborted()
	}
	var all []BatteryReport
	for client := range s.queue.current {
		if s.clients.Available(client) {
			r := BatteryReport{Client: int32(client)}
			r.Battery, r.Charging = s.server.ReadBattery(client, bytes)
			all = append(all, r)
		}
	}
	s.awaitReports()
	return all, s.aborted()
}

// between lets time pass outside of the driver's waits. It hears of what happens in its next
// call that moves the clock.
func (s *Session) between(pass func()) {
	c := &s.call
	c.need, c.out = math.MaxInt, c.backlog
	pass()
	c.backlog, c.out = c.out, nil
	for _, n := range c.backlog {
		s.queue.withID(n.ID).unread = true
	}
}

func (s *Session) checkRound(round int) error {
	if s.server.Stalled() != "" {
		return s.aborted()
	}
	if open := s.server.Rounds() + 1; round != open {
		return refuse(CodeRound, 0, "round %d: round %d is open", round, open)
	}
	return nil
}

// begin begins the open round, unless it has begun.
func (s *Session) begin() {
	if !s.began {
		s.began = true
		s.round = s.server.Start()
		s.ended = s.round.Unplayed()
	}
}

// Outcome is the result of a session.
type Outcome struct {
	EventHash uint64
	Events    int64 // the number of events
	Warnings  []results.Warning
}

// Finish ends the session.
func (s *Session) Finish() Outcome {
	s.clients.CutSpans()
	clock := s.clients.Clock()
	return Outcome{EventHash: clock.Digest(), Events: clock.Fired(), Warnings: s.server.Accounts().Warnings()}
}
