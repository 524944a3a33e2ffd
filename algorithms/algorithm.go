package algorithms

import (
	"math"

	"fedsim/data"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/rng"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// NoLimit as the number of steps of a request leaves the amount of work to the
// algorithm.
const NoLimit = math.MaxInt

// Stream is a source of random numbers for one device in one round. Methods
// under the same seed are given the same streams.
type Stream = rng.Stream

// Coder writes the state of a method to a checkpoint, or reads it back into place;
// see Stateful.
type Coder = state.Coder

// Request asks a device for its local work in the open round.
type Request struct {
	Device int
	Round  int    // rounds before the one in which the device was asked; 0 in a run without rounds
	Steps  int    // most coordinate steps (or rows) it may take; NoLimit, or at least 1
	Stream Stream // the device's randomness in this round
	Halt   *Halt  // ends long work of an interrupted run; nil: never
	Worker int    // index of the worker that computes, below Setup.Workers: for scratch space
}

// Response describes a device's response: the cost of the local work and the size of the
// message.
type Response struct {
	Steps  int     // coordinate steps or rows
	FLOPs  float64 // one multiply or one add is one
	Values int     // numbers the device must upload; bytes with Messages.Bytes
	// Batches is how many mini-batches the steps make, and Traffic the bytes of memory that they
	// read and write; 0: those of Workload.Overheads.
	Batches int
	Traffic float64
	Capped  bool  // the work stopped at the limit of Workload.Limit before its accuracy
	Err     error // the error of a method in another process, which ends the run; nil otherwise

	vectors int // of the message so far, when it is compressed
}

// Sent is the messages of the server to devices in a round, in numbers; in bytes with
// Messages.Bytes.
type Sent struct {
	Size int // of each message
	// To returns the size of the message to a device, in place of Size, of a method with
	// Messages.Differ. Each device of the round is asked about once, after Begin. nil otherwise.
	To func(device int) int
}

// Model is the state that a run evaluates. Rows of W and V are tasks; see mtl.ModelRow. The zero
// Model is that of a method which the run does not evaluate.
type Model struct {
	W     *data.Matrix // the tasks' models, which devices are sent; one row: the model of every task
	V     *data.Matrix // of W = grad R*(V); nil for a primal method
	Duals [][]float64  // the dual variables by device; nil for a primal method
	Sent  *data.Matrix // with lossy codecs up: the server's copy of V, so that W = grad R*(Sent); nil: V itself

	// Personal makes a model of each device, as the rows of a matrix, which are evaluated in
	// place of W; nil: W is evaluated.
	Personal func() *data.Matrix
}

// Evaluated returns the models that are evaluated: Personal, or W.
func (m *Model) Evaluated() *data.Matrix {
	if m.Personal != nil {
		return m.Personal()
	}
	return m.W
}

// Algorithm is one run of a method: the state of its server and of all its
// devices. A round is Begin, then Solve for devices that work, then Commit or
// Discard for each of those, then End. A method may do more, by one of the six interfaces below;
// its Description says which of them may be used. After an error the run ends with it, when the
// round is over; until then the methods may return anything.
type Algorithm interface {
	// Describe returns the description of the instance. It is the same for the whole run.
	Describe() Description
	// Begin opens a round and returns the sizes of the messages to devices.
	Begin() (Sent, error)
	// Solve does a device's local work. Several goroutines call it at once, for
	// different devices. It may read the state that Begin has fixed and the
	// device's own state. Its result is tentative: before Commit, it changes
	// nothing that another call reads.
	Solve(Request) Response
	// Commit makes the device's work of this round final, on the device and on
	// the server. Calls come in device order. The server multiplies the device's change by the
	// weight, which is 1 for a method without Description.Weights.
	Commit(device int, weight float64)
	// Discard forgets the device's work of this round, on the device and on the
	// server.
	Discard(device int)
	// End closes the round: the server takes its step on the committed work. It
	// returns the FLOPs of that step.
	End() (flops float64, err error)
	// Model returns the present model, which is valid until the next End, Receive or SetCoupling;
	// the zero Model unless Description.Evaluated is ByRun.
	Model() Model
	// SetCoupling continues under another coupling, after an Omega update.
	SetCoupling(mtl.Coupling)
}

// Reporter is an Algorithm that evaluates its own model (Description.Evaluated is ByMethod), or
// has metrics beside those of the run (Description.Metrics).
type Reporter interface {
	Algorithm
	// Evaluate evaluates the present model. It costs no virtual time. The lists in the result are
	// valid until the next call.
	Evaluate() (Evaluation, error)
}

// Evaluation holds the metrics and the hash that a Reporter returns for its present model.
type Evaluation struct {
	Metrics Metrics // of a model that the method evaluates; ByRun: not read
	Hash    uint64  // of such a model, for the manifest; 0: none
	// Values are those of Description.Metrics. From (train, loss), (train, error), (test, error)
	// and accuracies, a run fills the figures that Metrics leaves unknown.
	Values  []NamedValue
	Clients []ClientMetric // values by client, if there are any
}

// NamedMetric is a metric of a Reporter.
type NamedMetric = mtl.NamedMetric

// NamedValue is a value of a NamedMetric; NaN stands for an unknown one.
type NamedValue struct {
	Split, Name string
	Value       float64
}

// ClientMetric is the values of a NamedMetric by client.
type ClientMetric struct {
	Split, Name string
	Clients     []int32   // in increasing order
	Values      []float64 // of each of them
}

// Metrics are the figures of the model that a round records: Primal is the objective
// or training loss, Dual and Gap its bounds, the rest are errors. NaN
// stands for an unknown figure; see Unknown.
type Metrics = mtl.Objective

// Unknown returns metrics that are all unknown.
func Unknown() Metrics {
	var m Metrics
	for _, x := range m.Fields() {
		*x = math.NaN()
	}
	return m
}

// Asynchronous is an Algorithm whose server can take every response when it arrives,
// without rounds. For a device the order is then Send, Solve, and Receive or
// Discard. Calls for different devices interleave; Begin and Commit are not
// called, and End only with Setup.Gathers. Solve works on the state that Send has fixed for its device, so that it may
// be called at any time between the two. With rounds, Begin is a Send to every device and Commit
// a Receive.
type Asynchronous interface {
	Algorithm
	// Send fixes the message to the device, and returns its size as Begin does.
	Send(device int) (size int, err error)
	// Receive hands the device's response to the server. taken is false when the
	// server refuses it as stale or useless; then nothing changes on either side.
	// flops is the server's work.
	Receive(device int) (taken bool, flops float64, err error)
}

// Stateful is an Algorithm that can be checkpointed between two rounds, or two
// responses, and resumed. All methods of this package are.
type Stateful interface {
	Algorithm
	// State codes all that a new instance on the same problem, under the present
	// coupling, needs to continue bit for bit, tentative work included.
	State(c *Coder)
}

// CodeRows codes a matrix.
func CodeRows(c *state.Coder, m *data.Matrix) {
	for i := range m.Rows {
		c.Float64s(m.Row(i))
	}
}

// Batched is an Algorithm that serves several devices in one call, such as a learner in another
// process.
type Batched interface {
	Algorithm
	// SolveAll is Solve for each of the requests, in their order. The devices differ.
	SolveAll(requests []Request, into []Response)
	// Losses writes the mean loss of the present global model on the training rows of each of the
	// devices. It changes nothing. It is called only with Description.Losses.
	Losses(devices []int32, into []float64) error
}

// Tiered is an Algorithm whose hubs average the work of their devices Description.HubRounds times
// in a round, before they report to the server. Devices g*Setup.HubSize up to the next hub's
// are those of hub g. Solve works on the model of the device's hub. The rounds of different
// hubs interleave. After each of them but the last, Commit or Discard of its devices and Gather
// are called; after the last one, Commit or Discard as in other methods, before End. A device
// may work in some rounds of its hub only.
type Tiered interface {
	Algorithm
	// Gather closes a round of a hub: its devices start the next one from the hub's new model.
	Gather(hub int)
	// Withdraw forgets the open round of a hub whose report the server does not take.
	Withdraw(hub int)
}

// Joining is an Algorithm that gives a model to a new client, which has taken no part in the training.
type Joining interface {
	Algorithm
	// Join writes the model of a new client, as a row of the models that are evaluated. Several goroutines call it at
	// once. It changes nothing.
	Join(n *mtl.Newcomer, into []float64) Joined
}

// Joined describes how a new client got its model.
type Joined struct {
	FLOPs      float64
	Values     int     // numbers that it was sent
	Gap        float64 // of the solution of an iterative solver, relative to the objective
	Uninformed bool    // nothing is known of it: the method has no model for a client without rows
}

// Pool spreads independent work over the cores. A nil pool has one worker.
type Pool = parallel.Pool

// Setup is what an algorithm is built on.
type Setup struct {
	Description Description // from Factory.Describe; Factory.Start sets it

	Rows     []int32      // training rows of each device
	Shape    mtl.Shape    // of a task's model
	Problem  *mtl.Problem // the linear learning problem, with the data of all devices; nil in a run without data
	Coupling mtl.Coupling // of the problem's tasks; nil without a problem
	Solution *data.Matrix // W at the reference optimum; nil: there is none
	HubSize  int          // consecutive devices behind a hub; 0: there are no hubs
	Workers  int          // most concurrent calls of Solve
	Pool     *Pool        // for the server's work; nil: one core
	Seed     uint64       // of the run: the model that a network starts with is drawn from it
	Guard    Guard        // of updates, of a method with Messages.Private; nil: nothing protects them
	Gathers  bool         // End says when the server of an Asynchronous takes its step; see Description.Gathers

	Coding     *Coding // of messages, for a method with Messages.Coded; nil: none
	ValueBytes int     // bytes of a number in a message: 4 or 8
}

// Branch returns randomness of the device in this round that is independent of its local
// steps, for one of several uses.
func (r Request) Branch(use int) Stream {
	return rng.New(r.Stream.Uint64(), rng.Solve, r.Device, use)
}
