package methods

import (
	"context"
	"slices"
	"sync"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// central is the models of a central solver that has the rows of all clients: it alternates W and Omega steps from
// Omega = I/m. The first client that is asked waits for the solver. Devices do nothing, and the solver takes no time.
type central struct {
	algorithms.Described
	*centralOptions
	problem *mtl.Problem
	pool    *algorithms.Pool
	w       data.Matrix

	solver sync.Once
	solved *data.Matrix // nil: not yet
	err    error
}

// centralOptions are the settings of central.
type centralOptions struct {
	// updates of Omega; each follows a W step, and one more W step ends the alternation. A
	// regularizer with a fixed Omega has none
	OmegaUpdates int `toml:"omega_updates"`
	// relative duality gap of the last W step; the others use 0.1, or this gap if it is larger
	Gap float64 `toml:"gap"`
	// gap in the trials of a tuning on folds (experiment.tuning.folds)
	TrialGap float64 `toml:"trial_gap"`
	// maximum passes over all rows in one W step
	Sweeps int `toml:"sweeps"`
	// values of problem.lambda; those above that of the run are solved before it, the largest
	// first, and the dual variables of each, scaled, are the start for the next
	Path []float64 `toml:"path"`
}

// Validate reports all wrong options.
func (o *centralOptions) Validate(c *config.Checker) {
	c.Require(o.OmegaUpdates >= 0 && o.OmegaUpdates <= 1000, "omega_updates", o.OmegaUpdates, "must be in [0, 1000]")
	c.Require(o.Gap >= 1e-9 && o.Gap <= 1, "gap", o.Gap, "must be in [1e-9, 1]")
	c.Require(o.TrialGap >= 1e-9 && o.TrialGap <= 1, "trial_gap", o.TrialGap, "must be in [1e-9, 1]")
	c.Require(o.Sweeps >= 1, "sweeps", o.Sweeps, "must be at least 1")
	for _, lambda := range o.Path {
		c.Require(lambda >= 1e-12 && lambda <= 1e12, "path", o.Path, "must have values in [1e-12, 1e12]")
	}
}

// Rough returns the options of a trial.
func (o *centralOptions) Rough() algorithms.Options {
	rough := *o
	rough.Gap = o.TrialGap
	return &rough
}

var _ algorithms.Stateful = (*central)(nil)

func init() {
	algorithms.Register(algorithms.Factory{
		Name:      "central",
		Summary:   "a central solver that has the rows of all clients; with a learned coupling",
		Reference: "Smith, Chiang, Sanjabi, Talwalkar: Federated Multi-Task Learning, NIPS 2017, sections 3 and 5.2",
		Options: func() algorithms.Options {
			return &centralOptions{OmegaUpdates: 10, Gap: 1e-2, TrialGap: 0.1, Sweeps: 3000}
		},
		Describe: func(_ algorithms.Options, shape mtl.Shape) algorithms.Description {
			return algorithms.Description{
				Needs: algorithms.Needs{Linear: true}, Messages: algorithms.Messages{None: true}, State: algorithms.Yes,
				Work: algorithms.Workload{StepFLOPs: shape.StepFLOPs()}, // of a step that no device takes
			}
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			return &central{
				Described: algorithms.Described{About: s.Description}, centralOptions: o.(*centralOptions),
				problem: s.Problem, pool: s.Pool, w: s.Problem.NewWeights(),
			}, nil
		},
	})
}

// Model returns W: zero before the end of the first round.
func (c *central) Model() algorithms.Model { return algorithms.Model{W: &c.w} }

// Nothing is sent.

func (*central) Begin() (algorithms.Sent, error) { return algorithms.Sent{}, nil }
func (*central) Commit(int, float64)             {}
func (*central) Discard(int)                     {}

// Solve waits for the solver.
func (c *central) Solve(r algorithms.Request) algorithms.Response {
	c.solver.Do(func() {
		ctx := haltContext{context.Background(), r.Halt, c.problem.Train.Rows(), c.problem.Values()}
		if c.solved, c.err = c.solve(ctx); r.Halt.Halted() {
			c.err = nil // the round is discarded
		}
	})
	return algorithms.Response{Err: c.err}
}

// End takes the solution.
func (c *central) End() (float64, error) {
	if c.solved != nil {
		c.w = *c.solved
	}
	return 0, c.err
}

// State codes W.
func (c *central) State(to *state.Coder) {
	solved := c.solved != nil
	if to.Bool(&solved); solved && to.Reads() {
		c.solved = &c.w
		c.solver.Do(func() {})
	}
	algorithms.CodeRows(to, &c.w)
}

// haltContext ends with a halt. Its steps are counted whenever it is asked.
type haltContext struct {
	context.Context
	halt          *algorithms.Halt
	steps, values int
}

// Err returns an error after the halt.
func (h haltContext) Err() error {
	if h.halt.After(h.steps, h.values) {
		return context.Canceled
	}
	return nil
}

// solve solves the problem for all lambdas of the path down to its own.
func (c *central) solve(ctx context.Context) (w *data.Matrix, err error) {
	own := c.problem.Config.Lambda
	path := slices.DeleteFunc(slices.Clone(c.Path), func(lambda float64) bool { return lambda <= own })
	slices.Sort(path)
	slices.Reverse(path)
	var start warmStart
	for _, lambda := range append(path, own) {
		if w, err = c.solveAt(ctx, lambda, &start, lambda == own); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// warmStart is the dual variables of the first W step under a larger lambda.
type warmStart struct {
	lambda float64
	alpha  [][]float64 // nil: none
}

// scaled copies the dual variables for another lambda into blocks. The coupling is proportional to 1/lambda, so
// alpha lambda/s.lambda gives the same W; the factor is below 1, which keeps the dual variables feasible.
func (s *warmStart) scaled(into [][]float64, lambda float64) *mtl.Duals {
	for k, alpha := range s.alpha {
		for i := range alpha {
			into[k][i] = alpha[i] * (lambda / s.lambda)
		}
	}
	return &mtl.Duals{Alpha: into}
}

// looseGap is the relative gap of the W steps before an Omega update. On the human-activity data, ten updates give
// the same test errors for 0.1 as for 0.01 in a third of the time.
const looseGap = 0.1

// solveAt returns W for a lambda, or only its first W step, which is the next start.
func (c *central) solveAt(ctx context.Context, lambda float64, start *warmStart, whole bool) (*data.Matrix, error) {
	problem, err := c.problem.Central(lambda)
	if err != nil {
		return nil, err
	}
	coupling, err := problem.Regularizer.Start(c.pool, problem.Tasks())
	if err != nil {
		return nil, err
	}
	var from *mtl.Duals
	if start.alpha != nil {
		from = start.scaled(problem.NewBlocks(), lambda)
	}
	updates := 0
	if problem.Config.LearnsOmega() {
		updates = c.OmegaUpdates
	}
	for i := 0; ; i++ {
		gap := c.Gap
		if i < updates {
			gap = max(gap, looseGap)
		}
		o := problem.Solver(c.pool, gap, c.Sweeps).Optimize(ctx, coupling, from)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i == 0 {
			*start = warmStart{lambda, o.Duals.Alpha}
		}
		if i == updates || !whole {
			return &o.W, nil
		}
		if coupling, err = problem.Regularizer.Update(c.pool, &o.W, problem.Config.Floor(i+1)); err != nil {
			return nil, err
		}
		from = o.Duals
	}
}
