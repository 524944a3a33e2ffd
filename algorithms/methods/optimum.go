package methods

import (
	"errors"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// optimum is the model at the reference optimum of the problem, which a central solver has
// found. It shows in tables and figures what methods for the same problem approach, and its
// settings, such as problem.lambda, are tuned as theirs are. Devices do nothing.
type optimum struct {
	algorithms.Described
	w *data.Matrix
}

// optimumOptions are the settings of optimum: there are none.
type optimumOptions struct{}

// Validate finds nothing wrong.
func (*optimumOptions) Validate(*config.Checker) {}

var _ algorithms.Stateful = (*optimum)(nil)

func init() {
	algorithms.Register(algorithms.Factory{
		Name:      "optimum",
		Summary:   "the optimum, by a central solver; before the rounds: a limit to compare methods with",
		Reference: "the solvers of docs/methods.md, \"The reference optimum\"",
		Options:   func() algorithms.Options { return &optimumOptions{} },
		Describe: func(_ algorithms.Options, shape mtl.Shape) algorithms.Description {
			return algorithms.Description{
				MinimizesP: true, State: algorithms.Yes,
				Needs: algorithms.Needs{Optimum: true}, Messages: algorithms.Messages{None: true},
				Work: algorithms.Workload{StepFLOPs: shape.StepFLOPs()}, // of a step that no device takes
			}
		},
		New: func(s algorithms.Setup, _ algorithms.Options) (algorithms.Algorithm, error) {
			if s.Solution == nil {
				return nil, errors.New("needs the reference optimum: problem.optimum.when must be \"auto\"")
			}
			return &optimum{algorithms.Described{About: s.Description}, s.Solution}, nil
		},
	})
}

// Model returns W at the optimum.
func (o *optimum) Model() algorithms.Model { return algorithms.Model{W: o.w} }

// Nothing is sent or computed, and nothing coded: the solution is stored with the problem.

func (*optimum) Begin() (algorithms.Sent, error)              { return algorithms.Sent{}, nil }
func (*optimum) Solve(algorithms.Request) algorithms.Response { return algorithms.Response{} }
func (*optimum) Commit(int, float64)                          {}
func (*optimum) Discard(int)                                  {}
func (*optimum) End() (float64, error)                        { return 0, nil }
func (*optimum) State(*state.Coder)                           {}
