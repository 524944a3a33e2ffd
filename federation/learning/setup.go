package learning

import (
	"math"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/federation"
	"fedsim/internal/rooms/newclients"
	"fedsim/mtl"
	"fedsim/results"
)

// Setup describes a federation: the server, its system, and the learning problem. Every table
// must have passed its Validate.
type Setup struct {
	federation.Setup // Problem sets Clients and Rows, if there is one

	Coding  *algorithms.Coding // of messages; nil: none
	Privacy algorithms.Privacy // nil: nothing protects updates

	Shape mtl.Shape // the shape of a task's model; set by Problem, if there is one
	// the number of devices that share each task, in the order of their numbers; 0: one. A Problem has its own
	PerTask int

	Schedule Schedule
	Problem  *mtl.Problem // nil: there is no learning, only the time of the work
	Coupling mtl.Coupling // of the first outer iteration; nil without a problem
	Factory  algorithms.Factory
	Options  algorithms.Options

	// Checkpoint is called after every round, and may Save the run. nil: there are no
	// checkpoints.
	Checkpoint func(*Federation) error
	Resume     *algorithms.Coder // the checkpoint that the run is resumed from; nil: none

	AnyDeadline bool // deadlines that no device can meet are accepted, to see that none does
}

// Schedule is the length of a run, its evaluations and its stop rules.
type Schedule struct {
	Outer         int      // W updates, with an Omega update between two of them
	Rounds        int      // rounds of a W update
	EvalEvery     int      // rounds from one evaluation to the next
	EvalClients   int      // clients whose data a model is evaluated on; 0: all
	ClientMetrics []string // results.ClientMetricNames to record by client, of a linear method
	// rounds from one record by client to the next, a multiple of EvalEvery; 0: only where the run ends
	ClientsEvery int
	ThetaEvery   int            // rounds from one measurement of all theta_t^h to the next; 0: none
	MaxTime      float64        // virtual seconds after which no round begins; 0: none
	StopAt       results.Target // the run ends when it is reached
	Real         bool           // errors by client are root mean square errors, as those of real targets are
	Optimum      float64        // P*; NaN when it is not known
	Constant     float64        // R(0) of the optimum's coupling: a sub-optimality is a share of |P* - R(0)|
	Solution     *data.Matrix   // W at the optimum, which the run evaluates at its end; nil: it is not known
}

// suboptimality returns (P - P*) / |P* - R(0)|. The scale has no
// terms in Omega alone: with them |P*| may be near zero.
func (s *Schedule) suboptimality(primal float64) float64 {
	return (primal - s.Optimum) / math.Abs(s.Optimum-s.Constant)
}

func (s *Setup) newMethod(c mtl.Coupling) (*algorithms.Method, error) {
	setup := algorithms.Setup{
		Rows: s.Rows, Shape: s.Shape, Seed: s.Seed,
		Problem: s.Problem, Coupling: c, Solution: s.Schedule.Solution, HubSize: s.Network.HubSize,
		Workers: s.Pool.Size(), Pool: s.Pool, Coding: s.Coding, ValueBytes: s.Network.PayloadBytesPerValue,
		Gathers: s.Config.Traits().Groups,
	}
	if s.Privacy != nil {
		cohort, _ := s.Config.Sizes(s.Clients)
		setup.Guard = s.Privacy.NewGuard(cohort, s.Seed)
	}
	return newclients.Start(s.Factory, setup, s.Options)
}
