package methods

import (
	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// AsyncMOCHAOptions are the settings of asynchronous MOCHA.
type AsyncMOCHAOptions struct {
	algorithms.MOCHAOptions
	// sigma in the curvature sigma M_tt of a client's subproblem; 1: as if no other client
	// responded meanwhile; "coupling": sigma'_t of the coupling, as if all did at once
	Sigma float64 `toml:"sigma" word:"0: coupling"`
	// responses that the server may take between sending a client its w_t and that client's
	// response; later it refuses the response
	MaxStaleness int `toml:"max_staleness" absent:"0: no limit"`

	undamped bool // the server scales no response: shows in tests what scaling is for
}

// Validate reports everything wrong with the options.
func (o *AsyncMOCHAOptions) Validate(c *config.Checker) {
	o.MOCHAOptions.Validate(c)
	c.Require(o.Sigma >= 0 && o.Sigma <= 1e6, "sigma", o.Sigma, "must be in [0, 1e6]")
	c.Require(o.MaxStaleness >= 0, "max_staleness", o.MaxStaleness, "must not be negative")
}

// asyncMOCHA is MOCHA without rounds: the server sends a device the present w_t of its
// task, and applies the device's response when it arrives, whatever it has taken from
// others meanwhile. The paper leaves this open (section 3.4, last paragraph); the
// damping is ours.
//
// A response is a change da of the device's dual variables. The device sends
// dv = c_t X^T da and the number
//
//	b = c_t sum_i loss*(-a_i - da_i) - loss*(-a_i).
//
// loss* is convex and R* smooth with respect to M, so that for 0 <= gamma <= 1
//
//	D(a + gamma da) <= D(a) + gamma (b + <w_t, dv>) + gamma^2/2 M_tt |dv|^2
//
// with w_t at the time of the response. The server takes the gamma that minimizes the
// right side, at most problem.gamma: the dual never gets worse, however stale the w_t
// was that da came from. For the hinge, whose conjugate is
// linear, and a quadratic R it is the exact line search. When no gamma > 0 helps,
// the server refuses the response. Without damping gamma is problem.gamma, and nothing
// is guaranteed.
//
// Devices that share a task each move its v_t. A response under way when the coupling
// changes is a change of dual variables under any coupling; the search then uses the
// new one. Under a protocol with rounds the server takes the responses in device order,
// each to the w_t of the start of the round.
type asyncMOCHA struct {
	algorithms.Dual
	opts      AsyncMOCHAOptions
	weights   mtl.IncrementalPrimal // of V: the present w_t
	version   int                   // responses taken
	sent      data.Matrix           // w_t that each device was sent, one row a device
	curvature []float64             // of the subproblem of each device when it was sent w_t
	since     []int                 // version that each device was sent; its complement when the device has solved
	change    []float64             // b of the tentative work, by device
	now       []float64             // w_t at a response
	served    float64               // FLOPs of the server in the open round
}

var _ algorithms.Asynchronous = (*asyncMOCHA)(nil)

func init() {
	algorithms.Register(algorithms.Factory{
		Name: "async-mocha",
		Summary: "MOCHA without rounds; the server applies each response when it arrives, scaled so that the " +
			"dual cannot get worse",
		Reference: "after Smith, Chiang, Sanjabi, Talwalkar: Federated Multi-Task Learning, NIPS 2017, section 3.4; " +
			"the damping is fedsim's own",
		Options: func() algorithms.Options {
			return &AsyncMOCHAOptions{MOCHAOptions: algorithms.MOCHAOptions{Epochs: 1}, Sigma: 1}
		},
		Describe: func(o algorithms.Options, shape mtl.Shape) algorithms.Description {
			d := o.(*AsyncMOCHAOptions).Describe(shape)
			d.Asynchronous, d.Protocol = algorithms.Yes, algorithms.WithoutRounds
			d.Work.StepFLOPs += float64(conjugateFLOPs * float64(shape.Outputs))
			d.Work.Extra, d.Work.AuthorUnits = 1, 0
			return d
		},
		New: func(s algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
			n, d := s.Problem.Clients(), s.Problem.Values()
			a := &asyncMOCHA{
				Dual: algorithms.NewDual(s), opts: *o.(*AsyncMOCHAOptions), sent: data.NewMatrix(n, d),
				curvature: make([]float64, n), since: make([]int, n), change: make([]float64, n),
				now: make([]float64, d),
			}
			a.weights = s.Coupling.Incremental(&a.Duals.V)
			return a, nil
		},
	})
}

// conjugateFLOPs is the cost of b for a dual variable that has changed: two
// conjugates, their difference and its sum.
const conjugateFLOPs = 4

// Curvature returns sigma M_tt of the device's task t, the quadratic term of its
// subproblem, under the present coupling.
func (a *asyncMOCHA) Curvature(device int) float64 {
	if a.opts.Sigma == 0 {
		return a.Dual.Curvature(device)
	}
	return a.opts.Sigma * a.Coupling.Diag(a.Problem.TaskOf(device))
}

// Send fixes the present w_t of the device's task and the curvature of its
// subproblem. It does not fail.
func (a *asyncMOCHA) Send(device int) (int, error) {
	a.weights.Task(a.sent.Row(device), a.Problem.TaskOf(device))
	a.curvature[device] = a.Curvature(device)
	a.since[device] = a.version
	if link := a.Link(); link != nil {
		return link.Show(a.sent.Row(device)), nil
	}
	return a.Problem.Values(), nil
}

// Solve runs SDCA on the subproblem at the w_t the device was sent, for the fewer
// of its epochs and the steps allowed. The device sends dv and b.
func (a *asyncMOCHA) Solve(r algorithms.Request) algorithms.Response {
	k := r.Device
	a.since[k] = ^a.sentVersion(k)
	steps := a.opts.Steps(a.RowsOf(k), r.Steps)
	w, curvature := a.sent.Row(k), a.curvature[k]
	s := a.StartSolve(r, w)
	flops := a.SDCA(r, s, curvature, steps)
	a.SetDelta(r, s, w, curvature)
	change, moved := a.Problem.ConjugateChange(k, a.Duals.Alpha[k], a.Next[k])
	a.change[k] = change
	flops += float64(conjugateFLOPs * float64(moved))
	return a.Leave(r, algorithms.Response{Steps: steps, FLOPs: flops, Values: a.Link().One()})
}

// sentVersion returns the version that the device was sent.
func (a *asyncMOCHA) sentVersion(device int) int { return max(a.since[device], ^a.since[device]) }

// Discard forgets the device's work.
func (a *asyncMOCHA) Discard(device int) {
	a.since[device] = a.sentVersion(device)
	a.Dual.Discard(device)
}

// Receive applies the share of the device's response that helps.
func (a *asyncMOCHA) Receive(device int) (taken bool, flops float64, err error) {
	a.since[device] = a.sentVersion(device)
	if a.opts.MaxStaleness > 0 && a.version-a.since[device] > a.opts.MaxStaleness {
		return false, 0, nil
	}
	t, dv := a.Problem.TaskOf(device), a.Delta.Row(device)
	task, add := a.weights.FLOPs()
	flops = task // of the w_t that will be sent next
	gamma := a.Problem.Config.Gamma
	if !a.opts.undamped {
		a.weights.Task(a.now, t)
		flops += task + float64(4*float64(len(dv)))
		slope := a.change[device] + kernel.Dot(a.now, dv)
		if !(slope < 0) {
			return false, flops, nil
		}
		gamma = min(gamma, -slope/float64(a.Coupling.Diag(t)*kernel.Dot(dv, dv)))
	}
	a.MoveBy(device, gamma)
	if gamma != 1 {
		for j := range dv {
			dv[j] *= gamma
		}
		flops += float64(len(dv))
	}
	a.weights.Add(t, dv)
	a.version++
	a.Link().Commit(device)
	return true, flops + add + a.Link().Take(), nil
}

// Begin opens a round: each device is sent its w_t, except those whose work of an earlier round
// is under way. Their responses will be late, and stale.
func (a *asyncMOCHA) Begin() (algorithms.Sent, error) {
	a.served = 0
	size := a.Problem.Values()
	for k, since := range a.since {
		if since >= 0 {
			size, _ = a.Send(k)
		}
	}
	return a.Link().Sent(size), nil
}

// Commit hands the device's response to the server.
func (a *asyncMOCHA) Commit(device int, _ float64) {
	_, flops, _ := a.Receive(device)
	a.served += flops
}

// End returns the server's FLOPs of the round's responses.
func (a *asyncMOCHA) End() (float64, error) { return a.served, nil }

// Model returns V, the dual variables, and W recomputed from V.
func (a *asyncMOCHA) Model() algorithms.Model {
	a.Coupling.Primal(&a.W, &a.Duals.V)
	return a.Dual.Model()
}

// State codes the state of a dual method, the messages to the devices, and the sums
// over V.
func (a *asyncMOCHA) State(c *state.Coder) {
	a.Dual.State(c)
	c.Int(&a.version)
	algorithms.CodeRows(c, &a.sent)
	c.Float64s(a.curvature)
	c.Ints(a.since)
	c.Float64s(a.change)
	a.weights.State(c)
}

// SetCoupling keeps the dual variables and recomputes V and W from them. It counts as
// a version; devices continue to work on the w_t that they were sent.
func (a *asyncMOCHA) SetCoupling(c mtl.Coupling) {
	a.Dual.SetCoupling(c)
	a.weights = c.Incremental(&a.Duals.V)
	a.version++
}

// Update is that of Dual, with the subproblem that the device was sent.
func (a *asyncMOCHA) Update(device int) algorithms.Update {
	u := a.Dual.Update(device)
	u.Weights, u.Curvature = a.sent.Row(device), a.curvature[device]
	return u
}
