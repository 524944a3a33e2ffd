package federation

import (
	"math"

	"fedsim/algorithms"
	"fedsim/algorithms/compress"
	"fedsim/algorithms/privacy"
	"fedsim/data"
	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/engine"
	"fedsim/mtl"
	"fedsim/network"
	"fedsim/results"
)

// Setup describes a federation. Every table must have passed its Validate.
type Setup struct {
	Config  Config
	Devices devices.Config
	Network network.Config
	Fleet   *fleets.Fleet // classes of devices and links; nil: as Devices and Network say
	Faults  devices.Faults
	Plan    Plan

	Availability devices.Availability     // nil: devices are always available
	Bandwidth    network.Bandwidth        // nil: links have their usual rates
	Charging     devices.ChargingSchedule // when chargers are plugged in; nil: as Devices says
	Speed        devices.Speed            // nil: processors have their usual speed
	TraceSpan    engine.Time              // length of the longest trace from a file; 0: none

	Problem  *mtl.Problem // nil: there is no learning, only the time of the work
	Size     Size         // set by Problem, if there is one
	Coupling mtl.Coupling // of the first outer iteration; nil without a problem
	Factory  algorithms.Factory
	Privacy  *privacy.Config // nil: nothing protects updates
	Options  algorithms.Options

	Compression *compress.Config // of messages; nil: none

	Seed  uint64
	Pool  *algorithms.Pool
	Queue string        // event queue, by name; empty: the engine's default
	Hooks *engine.Hooks // nil: none

	Journal Journal // nil: none

	// Checkpoint is called after every round, and may Save the run. nil: there are no
	// checkpoints.
	Checkpoint func(*Federation) error
	Resume     *algorithms.Coder // the checkpoint that the run is resumed from; nil: none

	anyDeadline bool     // deadlines that no device can meet are accepted, to see that none does
	session     *Session // another program drives this run; nil: the plan does
}

// Size is the size of a problem, on which times depend.
type Size struct {
	Devices int
	MinRows int       // n_min, the rows of the smallest device
	Rows    []int32   // of each device
	Shape   mtl.Shape // of a task's model
	PerTask int       // devices that share each task, in the order of their numbers; 0: one. A Problem has its own
}

// Plan is the length of a run.
type Plan struct {
	Outer         int            // W updates, with an Omega update between two of them
	Rounds        int            // rounds of a W update
	EvalEvery     int            // rounds from one evaluation to the next
	EvalTasks     int            // tasks that a model is evaluated on; 0: all
	ClientMetrics []string       // results.ClientMetricNames to record by client, of a linear method
	ClientsEvery  int            // rounds from one record by client to the next, a multiple of EvalEvery; 0: only where the run ends
	ThetaEvery    int            // rounds from one measurement of all theta_t^h to the next; 0: none
	MaxTime       float64        // virtual seconds after which no round begins; 0: none
	StopAt        results.Target // the run ends when it is reached
	Optimum       float64        // P*; NaN when it is not known
	Constant      float64        // R(0) of the optimum's coupling: a sub-optimality is a share of |P* - R(0)|
	Solution      *data.Matrix   // W at the optimum, which the run evaluates at its end; nil: it is not known
}

// suboptimality returns (P - P*) / |P* - R(0)|. The scale has no
// terms in Omega alone: with them |P*| may be near zero.
func (p *Plan) suboptimality(primal float64) float64 {
	return (primal - p.Optimum) / math.Abs(p.Optimum-p.Constant)
}
