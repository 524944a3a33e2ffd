package algorithms

import (
	"errors"

	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// optimum is the model at the reference optimum of the problem, which a central solver has
// found. It shows in tables and figures what methods for the same problem approach, and its
// settings, such as problem.lambda, are tuned as theirs are. Devices do nothing.
type optimum struct {
	Described
	w *data.Matrix
}

// OptimumOptions are the settings of optimum: there are none.
type OptimumOptions struct{}

// Validate finds nothing wrong.
func (*OptimumOptions) Validate(*config.Checker) {}

var _ Stateful = (*optimum)(nil)

func init() {
	Register(Factory{
		Name:      "optimum",
		Summary:   "the optimum, by a central solver; before the rounds: a limit to compare methods with",
		Reference: "the solvers of docs/methods.md, \"The reference optimum\"",
		Options:   func() Options { return &OptimumOptions{} },
		Describe: func(_ Options, shape mtl.Shape) Description {
			return Description{
				MinimizesP: true, Needs: Needs{Optimum: true}, Messages: Messages{None: true}, State: Yes,
				Work: Workload{StepFLOPs: shape.StepFLOPs()}, // of a step that no device takes
			}
		},
		New: func(s Setup, _ Options) (Algorithm, error) {
			if s.Solution == nil {
				return nil, errors.New("needs the reference optimum: problem.optimum.when must be \"auto\"")
			}
			return &optimum{Described{s.Description}, s.Solution}, nil
		},
	})
}

// Model returns W at the optimum.
func (o *optimum) Model() Model { return Model{W: o.w} }

// Nothing is sent or computed, and nothing coded: the solution is stored with the problem.

func (*optimum) Begin() (Sent, error)   { return Sent{}, nil }
func (*optimum) Solve(Request) Response { return Response{} }
func (*optimum) Commit(int, float64)    {}
func (*optimum) Discard(int)            {}
func (*optimum) End() (float64, error)  { return 0, nil }
func (*optimum) State(*state.Coder)     {}
