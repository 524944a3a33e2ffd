package algorithms

import (
	"math"

	"fedsim/algorithms/compress"
	"fedsim/algorithms/privacy"
	"fedsim/data"
	"fedsim/internal/parallel"
	"fedsim/internal/rng"
	"fedsim/internal/state"
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

// Work describes a device's response: the cost of the local work and the size of the
// message.
type Work struct {
	Steps  int     // coordinate steps or rows
	FLOPs  float64 // one multiply or one add is one
	Values int     // numbers the device must upload; of a Sized algorithm, or one with a Link, bytes
	Capped bool    // it stopped at the limit of Factory.Limit before it reached its accuracy

	// NonFinite names an array of the update that has NaN or an infinity; empty: none has.
	// It is set by Inspect.
	NonFinite string

	vectors int // of the message so far, when it is compressed
}

// Model is the state that a run evaluates. Rows of W and V are tasks; see mtl.ModelRow.
type Model struct {
	W     *data.Matrix // the tasks' models; one row: the model of every task
	V     *data.Matrix // of W = grad R*(V); nil for a primal method
	Duals [][]float64  // the dual variables by device; nil for a primal method
	Sent  *data.Matrix // with lossy codecs up: the server's copy of V, so that W = grad R*(Sent); nil: V itself
}

// Needs are the demands of a method on the round protocol.
type Needs struct {
	AllClients bool // every client must respond in every round: the method does not tolerate drops
	Budget     bool // the protocol must limit the steps: the method does not
	Smooth     bool // the loss must be smooth
	Alone      bool // tasks must not be coupled, and each have its own device
	Optimum    bool // the problem must have a reference optimum
	Dual       bool // the loss must be of one score, with a conjugate
}

// Algorithm is one run of a method: the state of its server and of all its
// devices. A round is Begin, then Solve for devices that work, then Commit or
// Discard for each of those, then End.
type Algorithm interface {
	// StepFLOPs returns the FLOPs of one step on a device, the most where steps differ.
	// Device controllers plan with it, and with Workload.FLOPs where the factory has it.
	StepFLOPs() float64
	// Begin opens a round and returns how many numbers the server sends to each
	// device.
	Begin() (values int)
	// Solve does a device's local work. Several goroutines call it at once, for
	// different devices. It may read the state that Begin has fixed and the
	// device's own state. Its result is tentative: before Commit, it changes
	// nothing that another call reads.
	Solve(Request) Work
	// Commit makes the device's work of this round final, on the device and on
	// the server. Calls come in device order.
	Commit(device int)
	// Discard forgets the device's work of this round, on the device and on the
	// server.
	Discard(device int)
	// End closes the round: the server takes its step on the committed work. It
	// returns the FLOPs of that step.
	End() (flops float64)
}

// Linear is an Algorithm that learns a linear model for each task of Setup.Problem. A
// run evaluates the model on the problem.
type Linear interface {
	Algorithm
	// Model returns the present model. It is valid until the next End or
	// SetCoupling.
	Model() Model
	// SetCoupling continues under another coupling, after an Omega update.
	SetCoupling(mtl.Coupling)
}

// Personal is a Linear whose devices are all sent one model, but which may evaluate a model
// of each device. Then Model has a row for each, and no two share a task.
type Personal interface {
	Linear
	// SentModel returns the present model that devices are sent, as one row.
	SentModel() *data.Matrix
}

// Reporter is an Algorithm that evaluates its own model. A learner that is not a linear
// model is one; its rounds record the metrics that it reports. An algorithm is Linear or a Reporter.
type Reporter interface {
	Algorithm
	// Metrics evaluates the present model. It costs no virtual time.
	Metrics() Metrics
	// Hash returns a hash of the present model, which the manifest records; 0 for none.
	Hash() uint64
}

// NamedReporter is a Reporter with further metrics, which it names, such as an accuracy on
// test rows.
type NamedReporter interface {
	Reporter
	Named
}

// Named is an Algorithm with further metrics. They are stored, and targets, figures and
// comparisons can use them.
type Named interface {
	Algorithm
	// Named returns the metrics that the learner may report. They are the same for the
	// whole run.
	Named() []NamedMetric
	// Values returns the values for the model that the last call of Metrics evaluated, and
	// the values by client, if there are any. They are valid until the next call of Metrics.
	// From (train, loss), (train, error), (test, error) and accuracies, a run fills the
	// figures that Metrics left unknown.
	Values() ([]NamedValue, []ClientMetric)
}

// NamedMetric is a metric of a Named algorithm. Its full name, by which scenarios call it, is
// "split_name", or "name" with an empty split.
type NamedMetric struct {
	Split  string // "train", "validation", "test", or empty
	Name   string // letters, digits, "_", "-" and "."
	Better string // "higher", "lower", or empty
	Unit   string // of its values; empty: none
}

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

// Fallible is an Algorithm that can fail, such as one in another process. After a failure
// its methods may return anything; the run ends with the error after the round.
type Fallible interface {
	Algorithm
	// Err returns the first error; nil for none.
	Err() error
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
// Discard. Calls for different devices interleave; Begin, Commit and End are not
// called. Solve works on the state that Send has fixed for its device, so that it may
// be called at any time between the two. A Linear one's Model is valid until the next
// Receive or SetCoupling. With rounds, Begin is a Send to every device and Commit a Receive.
type Asynchronous interface {
	Algorithm
	// Send fixes the message to the device, and returns how many numbers it has.
	Send(device int) (values int)
	// Receive hands the device's response to the server. taken is false when the
	// server refuses it as stale or useless; then nothing changes on either side.
	// flops is the server's work.
	Receive(device int) (taken bool, flops float64)
}

// Stateful is an Algorithm that can be checkpointed between two rounds, or two
// responses, and resumed. All methods of this package are.
type Stateful interface {
	Algorithm
	// State codes all that a new instance on the same problem, under the present
	// coupling, needs to continue bit for bit, tentative work included.
	State(c *Coder)
}

// rows codes a matrix.
func rows(c *state.Coder, m *data.Matrix) {
	for i := range m.Rows {
		c.Float64s(m.Row(i))
	}
}

// Measurer is an Algorithm that measures how well a device has solved its
// subproblem. Every method built on Dual is one.
type Measurer interface {
	// Theta returns theta_t^h of the device's work of this round (eq.
	// localSolutionQuality2a): 0 exact, 1 no progress. It is valid between the
	// device's Solve and its Commit or Discard, changes nothing, and may be called
	// for several devices at once.
	Theta(device int) float64
}

// LossReporter is an Algorithm that evaluates its own global model on the rows of a
// device. Selectors that ask for losses need it of a learner that is not a linear
// model.
type LossReporter interface {
	// Loss returns the mean loss of the present global model on the device's training
	// rows. It changes nothing, and may be called for several devices at once.
	Loss(device int) float64
}

// Batched is an Algorithm that does the local work of several devices in one call, such as
// a learner in another process.
type Batched interface {
	Algorithm
	// SolveAll is Solve for each of the requests, in their order. The devices differ.
	SolveAll(requests []Request, into []Work)
	// Losses is LossReporter.Loss for each of the devices. An instance that is no
	// LossReporter is never asked.
	Losses(devices []int32, into []float64)
}

// Sized is an Algorithm that counts its messages in bytes: Work.Values and the results of
// Begin and Send are bytes, without the header that each message has.
type Sized interface {
	Algorithm
	// UsualBytes returns the usual sizes of the server's message and of a response.
	// Device controllers plan with them.
	UsualBytes() (down, up int)
}

// Addressed is an Algorithm whose messages to the devices of a round differ in size.
type Addressed interface {
	Algorithm
	// Sent returns how many numbers the message of the open round to a device has, in place
	// of the result of Begin. Each device of the round is asked about once, after Begin. Of a
	// Sized algorithm they are bytes.
	Sent(device int) (values int)
}

// Planned is an Algorithm whose messages usually have another size than a model.
type Planned interface {
	Algorithm
	// Usual returns how many numbers the messages to and from a device usually have. It is
	// the same for the whole run. Device controllers and selectors plan with it.
	Usual(device int) (down, up int)
}

// Tiered is an Algorithm whose hubs average the work of their devices Factory.HubRounds times
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

// Shared is an Algorithm of which the instance says what Factory.OneModel says of others.
type Shared interface {
	Algorithm
	// OneModel reports whether every device is sent the same model, and hubs can add up
	// the responses. Otherwise each device has its own model.
	OneModel() bool
}

// Partial is an Algorithm whose type has methods that the instance need not support, such
// as a learner in another process. [As] asks it.
type Partial interface {
	Algorithm
	// Name names the instance in errors.
	Name() string
	// Supports reports whether the instance supports an interface, given as a nil pointer
	// to it: *Weighted, *LossReporter, *Asynchronous or *Stateful.
	Supports(extension any) bool
}

// As returns a method as an Algorithm with more methods, such as Weighted. ok is false if
// its type does not have them, or the instance does not support them.
func As[I any](method Algorithm) (extended I, ok bool) {
	if p, is := method.(Partial); is && !p.Supports((*I)(nil)) {
		return extended, false
	}
	extended, ok = method.(I)
	return extended, ok
}

// Pool spreads independent work over the cores. A nil pool has one worker.
type Pool = parallel.Pool

// Setup is what an algorithm is built on.
type Setup struct {
	Rows     []int32         // training rows of each device
	Features int             // of each row
	Problem  *mtl.Problem    // the linear learning problem, with the data of all devices; nil in a run without data
	Coupling mtl.Coupling    // of the problem's tasks; nil without a problem
	Solution *data.Matrix    // W at the reference optimum; nil: there is none
	HubSize  int             // consecutive devices behind a hub; 0: there are no hubs
	Workers  int             // most concurrent calls of Solve
	Pool     *Pool           // for the server's work; nil: one core
	Seed     uint64          // of the run: the model that a network starts with is drawn from it
	Privacy  *privacy.Config // what protects updates, of a method that is Private; nil: nothing
	Cohort   int             // responses that a round is for

	Compression *compress.Config // of messages, for a method with Factory.Compresses; nil: none
	ValueBytes  int              // bytes of a number in a message: 4 or 8
}
