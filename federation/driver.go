package federation

import (
	"math"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
)

// Driver is what stands behind a server: a method that learns (package learning), or another
// program (package session). The server decides which clients work, for how long, and whose
// responses count. It asks its driver for the work, and reports its result. A Driver
// may do more, by one of the interfaces below.
type Driver interface {
	// Work does the local work of clients, and writes in their order what was done. Their messages
	// are fixed, so the work can be done before its virtual time, of many clients at once. It is
	// tentative until Commit. Work reports whether it was done: false ends the run, as
	// interrupted.
	Work(due []Due, into []Done) (done bool)
	// Commit makes the work of a client final: the server takes the response, with a weight.
	// Calls come in the order of clients.
	Commit(client int, weight float64)
	// Discard forgets the work of a client: the server does not take the response.
	Discard(client int)
}

// Due is the local work of a client for the response that it was asked for.
type Due struct {
	Client int32
	Round  int32 // how often a client that takes part in everything has worked before; 0 without rounds
	Steps  int32 // how many the protocol allows; Unlimited: the driver decides
}

// Unlimited is a number of steps that leaves the amount of work to the driver.
const Unlimited = math.MaxInt32

// Done is local work that was done.
type Done struct {
	devices.Work
	Count   int     // of steps, as protocols and results count them
	BytesUp float64 // the size of the response
}

// Continuous is a Driver of a server without rounds, under a protocol with
// Traits.Continuous. For a client the order of calls is Send, Work, and Receive or Discard.
type Continuous interface {
	Driver
	// Send fixes the message to a client, and returns its bytes.
	Send(client int) (bytes float64)
	// Receive hands over the response of a client. It reports whether the server takes it,
	// and the FLOPs of the server's work.
	Receive(client int) (taken bool, flops float64)
	// Obsolete returns the clients of whose present message the server has no use any more, after
	// Receive. Those at work are stopped, and asked again. The list is valid until the next call.
	Obsolete() []int32
	// Step takes the step of the server on the responses since the last, under a protocol with
	// Traits.Groups, and returns its FLOPs.
	Step() (flops float64)
}

// Tiered is a Driver whose hubs have rounds of their own: Workload.HubRounds is positive.
type Tiered interface {
	Driver
	// Gather closes a round of a hub, after Commit or Discard of its clients.
	Gather(hub int)
	// Withdraw forgets the open round of a hub whose report the server does not take.
	Withdraw(hub int)
}

// Losses is a Driver whose clients report losses of its present model on their rows.
// Workload.NoLosses and Workload.NoRowLosses say which of them are not known.
type Losses interface {
	Driver
	// Losses writes the mean loss over the rows of each of the clients, in their order.
	Losses(clients []int32, into []float64)
	// RowLosses writes as well the root mean squares of the losses of rows.
	RowLosses(clients []int32, into, rms []float64)
	// SampledLosses writes mean losses over so many rows of each client, drawn from its stream.
	SampledLosses(clients []int32, rows int, stream func(client int32) Stream, into []float64)
}

// Messenger is a Driver that also sends messages outside of rounds, and stops the clock at
// instants that it chooses. It hears of every message. The server hears first of
// those of its rounds.
type Messenger interface {
	Driver
	Clock
	// Downloaded hears that the message of a client, which is not of a round, has arrived or
	// was lost on the way.
	Downloaded(client int)
	// Responded hears that a response has arrived.
	Responded(client int, ofRound bool)
	// Failed hears that an attempt brings no response.
	Failed(client int, why clients.Reason, ofRound bool)
	// Ended hears that a client does not work on the message of a round any more, and that
	// the server does not ask it again.
	Ended(client int)
}

// Clock lets virtual time pass.
type Clock interface {
	// RunUntil lets time pass until an instant, or until Stop.
	RunUntil(engine.Time)
	// Stop ends RunUntil behind the present event.
	Stop()
}

// Workload describes the work and the messages of a driver before the server asks
// for them. Protocols that limit work, and selectors, plan with it.
type Workload struct {
	Name string // the name of the method or of the program, in errors

	// the FLOPs of a pass over the rows of the smallest client, by which cost "relative" measures transfers
	PassFLOPs float64
	StepFLOPs float64 // the FLOPs of a step, the most where steps differ
	// FLOPs returns the FLOPs of so many steps of a client; nil: StepFLOPs for each.
	FLOPs func(client, steps int) float64
	// Overheads returns, for so many steps of a client, the steps and the traffic by which devices
	// have overheads (devices.Work); nil: as many steps, and no traffic.
	Overheads func(client, steps int) (batches int, traffic float64)
	// BatchSteps returns how many steps so many mini-batches of a client are; nil: as many.
	BatchSteps func(client, batches int) int
	// Within returns how many steps a client can do with so many FLOPs; nil: as StepFLOPs says.
	Within func(client int, flops float64) float64
	// MessageFLOPs is the FLOPs of a client for its messages, which Within takes off and FLOPs
	// does not have.
	MessageFLOPs float64
	// Usual returns the work of a client in a round that does not limit it, with all that it
	// does for its messages; nil: that of a step for each of its rows.
	Usual func(client int) devices.Work
	// Bytes returns the usual sizes of the messages to and from a client.
	Bytes func(client int) (down, up float64)
	// Model returns which of the models that the server sends is for a client; nil: there is one.
	Model func(client int) int

	Uncounted   bool   // steps cannot be counted: protocols do not limit them
	Weights     bool   // Driver.Commit takes weights that are not 1
	NoLosses    string // the reason why clients report no losses, in errors; empty: they report losses
	NoRowLosses string // the same for losses of single rows
	// NoSquaredLosses is the same for root mean squares of the losses of rows alone.
	NoSquaredLosses string

	Epochs      int     // the passes over its rows that a client makes in a round; 0: not defined
	AuthorUnits float64 // the cost of a step in the units of the authors' drivers; 0: not known
	AllClients  bool    // every client must respond in every round

	HubRounds    int  // the number of averages of a hub before it reports; 0: the driver knows no hubs
	NoMessages   bool // clients send and receive nothing
	RoundTrips   int  // the number of messages that an attempt takes besides one
	CountUpdates bool // the server counts the updates that it takes of each client
}
