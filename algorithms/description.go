package algorithms

import (
	"fmt"

	"fedsim/config"
	"fedsim/mtl"
)

// Description lists the abilities and demands of a method. Factory.Describe returns it before a run, where
// something may be unknown; Describe of an instance is complete. The abilities of a method are
// read here, and none from its type: that of a decorator, or of a learner in another process,
// has methods that the instance may not support.
type Description struct {
	Name   string    // the name of the method, in errors
	Model  ModelKind // the models that clients are sent
	Needs  Needs     // demands on the problem and on the round protocol
	Learns Learns    // the problems that the method learns

	// MinimizesP is true when the method minimizes the objective P of its problem, whose optimum
	// the reference solver computes.
	MinimizesP bool
	Evaluated  Evaluator
	// Own is true when the learner does not train a model of Setup.Problem. Its
	// sub-optimality is not known: the reference optimum is that of the linear problem.
	Own     bool
	Metrics []NamedMetric // of a Reporter, beside those of the run; before a run nil with Own: not known

	Messages Messages
	Work     Workload
	// Gathers is true when the server of an Asynchronous can take one step on several responses: with Setup.Gathers
	// it takes its step in End.
	Gathers   bool
	HubRounds int // the number of averages of a hub of a Tiered before it reports; 0: the method knows no hubs
	// Obsolete returns, after Receive of an Asynchronous with Needs.Continuous, the devices that hold a message whose
	// responses the server would refuse, in increasing order. Those that are at work are stopped, which is Discard,
	// and asked again. The list is valid until the next call. nil: no device is stopped.
	Obsolete func() []int32

	Asynchronous Ability // the method works without rounds, too
	// Protocol is the round protocol that the method is made for, which it gets in a scenario that names
	// none; empty: those with rounds.
	Protocol  string
	Weights   Ability // Commit takes weights that are not 1
	State     Ability // the method is Stateful: it can be checkpointed
	Losses    Ability // a Batched reports losses; those of a model of the problem, the run evaluates
	Batched   bool    // one call does the work of several clients
	Inspected bool    // the method shows the tentative updates of clients
	Theta     bool    // Update.Theta is known
	Compared  bool    // Deviations may compare updates
	// Means is true when devices make local steps, and models are averaged as they are: then values
	// without a gradient (mtl.Sizes.Buffers) have a meaning.
	Means bool
}

// WithoutRounds is the protocol without rounds.
const WithoutRounds = "asynchronous"

// Ability is whether a method can do something. The zero value is No.
type Ability int8

// The values of an Ability.
const (
	No Ability = iota
	Yes
	NotKnown // before the start of a run: a learner in another process says it then
)

// Can returns Yes or No.
func Can(able bool) Ability {
	if able {
		return Yes
	}
	return No
}

// ModelKind is what model a device is sent.
type ModelKind int8

// The kinds of models.
const (
	TaskModels ModelKind = iota // each task has its own
	// one for all tasks, the same for every device of a round, so that hubs add up responses
	OneModel
	Versions       // one for all tasks, of which devices hold different versions
	PersonalModels // as OneModel, but a model of each device is evaluated
	DeviceModels   // each device has its own
	UnknownModel   // before the start of a run: a learner in another process says it then
)

// Count returns how many models the method has at least, for so many tasks.
func (k ModelKind) Count(tasks int) int {
	if k == OneModel || k == Versions || k == UnknownModel {
		return 1
	}
	return tasks
}

// Evaluator is who evaluates the model of a method.
type Evaluator int8

// The evaluators.
const (
	ByRun    Evaluator = iota // the run evaluates Algorithm.Model on the problem
	ByMethod                  // the method does, as a Reporter
	ByNobody                  // the run takes time alone: nothing is learned
)

// Needs are the demands of a method on the problem and on the round protocol.
type Needs struct {
	AllClients bool // every client must respond in every round: the method does not tolerate drops
	Budget     bool // the protocol must limit the steps: the method does not
	Smooth     bool // the loss must be smooth
	Alone      bool // tasks must not be coupled, and each have its own device
	Optimum    bool // the problem must have a reference optimum
	Linear     bool // the model must be linear, for a central solver
	Dual       bool // the loss must be of one score, with a conjugate
	Continuous bool // the protocol must have no rounds: the server stops devices, see Description.Obsolete
}

// Learns are the problems that a method learns.
type Learns struct {
	// Models are the models (problem.model); nil: all. Because ends the error of others.
	Models   []string
	Because  string
	Losses   []string // the losses (problem.loss); nil: all
	Mixtures bool     // models are mixtures: of an external one, losses and weights of single rows must be known
	OwnTasks bool     // clients must not share tasks: the method evaluates models of clients alone
	Clients  int      // the least number of clients, which is that of the option AtLeast; 0: any
	AtLeast  string
}

// Fewer returns an error for a number of clients that is too small; nil: any number will do.
func (l *Learns) Fewer(clients int) error {
	if clients >= l.Clients {
		return nil
	}
	return config.Problem{Key: "options." + l.AtLeast, Value: l.Clients,
		Want: fmt.Sprintf("must be at most %d, the number of clients", clients)}
}

// Messages describes the messages between devices and the server.
type Messages struct {
	None   bool // the method sends no messages
	Bytes  bool // sizes are bytes, without the header of a message; false: numbers
	Differ bool // the messages to the clients of a round differ in size: see Sent.To
	// Usual returns the usual sizes of the messages to and from a device, with which device
	// controllers and selectors plan; nil: those of Workload.MessageValues.
	Usual func(device int) (down, up int)
	FLOPs float64 // work of a device on the codes of its messages, beside Workload
	Coded bool    // Setup.Coding applies to them
	// Single is true when the server of one model needs each response by itself, which hubs would add up.
	Single bool
	// Private is true when updates may be protected as Setup.Guard does: the server needs only
	// their sum. Unequal is true when updates have different weights in it, which privacy
	// refuses.
	Private, Unequal bool
}

// Described has methods of an Algorithm, to be embedded: Describe, and those of a method without a
// model that the run evaluates, or whose objective does not depend on the coupling.
type Described struct{ About Description }

// Describe returns the description.
func (d *Described) Describe() Description { return d.About }

// Model returns none.
func (d *Described) Model() Model { return Model{} }

// SetCoupling changes nothing.
func (d *Described) SetCoupling(mtl.Coupling) {}

// Method is an Algorithm with its description, and with those of its other interfaces that the
// description says may be used; the others are nil.
type Method struct {
	Algorithm
	About        Description
	Asynchronous Asynchronous
	Tiered       Tiered
	Reporter     Reporter
	Stateful     Stateful
	Batched      Batched
	Inspected    Inspected
}

// Start starts a run of the method.
func (f Factory) Start(s Setup, o Options) (*Method, error) {
	s.Description = f.Describe(o, s.Shape)
	const unevaluated = "starting %s: it has no model of the run's problem to evaluate: Description.Evaluated must " +
		"be another"
	if s.Description.Evaluated == ByRun && s.Problem == nil {
		return nil, fmt.Errorf(unevaluated, f.Name)
	}
	a, err := f.New(s, o)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", f.Name, err)
	}
	m := &Method{Algorithm: a, About: a.Describe()}
	d := &m.About
	if d.Evaluated == ByRun && (s.Problem == nil || a.Model().W == nil) {
		return nil, fmt.Errorf(unevaluated, f.Name)
	}
	for _, x := range []struct {
		used bool
		name string
		as   func() bool
	}{
		{d.Asynchronous == Yes, "Asynchronous", as(a, &m.Asynchronous)},
		{d.HubRounds > 0, "Tiered", as(a, &m.Tiered)},
		{d.Evaluated == ByMethod || len(d.Metrics) > 0, "Reporter", as(a, &m.Reporter)},
		{d.State == Yes, "Stateful", as(a, &m.Stateful)},
		{d.Batched || d.Losses == Yes, "Batched", as(a, &m.Batched)},
		{d.Inspected, "Inspected", as(a, &m.Inspected)},
	} {
		if x.used && !x.as() {
			return nil,
				fmt.Errorf("starting %s: its description needs algorithms.%s, which %T is not", f.Name, x.name, a)
		}
	}
	return m, nil
}

// as returns a function that sets into to a method with the methods of another interface, if it
// has them.
func as[I any](a Algorithm, into *I) func() (ok bool) {
	return func() (ok bool) {
		*into, ok = a.(I)
		return ok
	}
}
