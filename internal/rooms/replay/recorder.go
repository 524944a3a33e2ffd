package replay

import (
	"fedsim/algorithms"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// Recorder is a method that logs the answers of another one, or gives logged ones again. Those of
// several devices are logged in the order of the requests. A nil Recorder logs nothing: then only
// Answer, EndRound and Replaying are called.
type Recorder struct {
	tape
	of     *algorithms.Method
	pool   *algorithms.Pool
	round  int // rounds that have ended
	rounds int // of the log
}

var (
	_ algorithms.Asynchronous = (*Recorder)(nil)
	_ algorithms.Batched      = (*Recorder)(nil)
	_ algorithms.Inspected    = (*Recorder)(nil)
	_ algorithms.Reporter     = (*Recorder)(nil)
	_ algorithms.Tiered       = (*Recorder)(nil)
)

// Record returns a recorder of a method, whose local work is done on the pool.
func Record(of *algorithms.Method, pool *algorithms.Pool) *Recorder {
	return &Recorder{of: of, pool: pool}
}

// Method returns the recorder as a method with the abilities of the one that it records.
func (r *Recorder) Method() *algorithms.Method {
	m := *r.of
	m.Algorithm, m.About = r, r.Describe()
	m.Batched = r
	if m.Asynchronous != nil {
		m.Asynchronous = r
	}
	if m.Tiered != nil {
		m.Tiered = r
	}
	if m.Inspected != nil {
		m.Inspected = r
	}
	if m.Reporter != nil {
		m.Reporter = r
	}
	return &m
}

// Replaying reports whether answers come from the log of a checkpoint.
func (r *Recorder) Replaying() bool { return r != nil && r.reads }

// Err returns the error of a log that cannot be replayed.
func (r *Recorder) Err() error { return r.err }

// EndRound ends a round. After the last round of the log that is replayed, the method answers. It
// fails with ErrMismatch if the log is not that of this run.
func (r *Recorder) EndRound() error {
	if r == nil {
		return nil
	}
	if r.round++; !r.reads {
		r.rounds = r.round
	} else if r.round == r.rounds {
		if !r.over() {
			r.mismatch()
		}
		r.reads = false
	}
	return r.err
}

// State codes the log, and the rounds that it is of. After reading, it is replayed.
func (r *Recorder) State(c *algorithms.Coder) {
	c.Int(&r.rounds)
	if c.Bytes(&r.log); c.Reads() {
		r.reads = true
		if c.Err() == nil && r.rounds < 1 {
			c.Fail(ErrMismatch)
		}
	}
}

// Resume makes the method answer after the replay; it has the state of the checkpoint.
func (r *Recorder) Resume(of *algorithms.Method) { r.of = of }

// Answer makes an answer about the method's model, such as a loss or an evaluation, and logs it;
// or it gives a logged one again. code passes the answer to a coder.
func (r *Recorder) Answer(ask func(), code func(*state.Coder)) {
	if r == nil {
		ask()
		return
	}
	if !r.reads {
		ask()
	}
	r.code(code)
}

// Describe returns the description of the method. The work of several devices is one call, so
// that their answers have an order.
func (r *Recorder) Describe() algorithms.Description {
	about := r.of.About
	about.Batched = true
	if about.Obsolete != nil {
		about.Obsolete = r.obsolete
	}
	return about
}

// Begin opens a round.
func (r *Recorder) Begin() (sent algorithms.Sent, err error) {
	if !r.reads {
		sent, err = r.of.Begin()
	}
	r.count(&sent.Size)
	if to := sent.To; r.of.About.Messages.Differ {
		sent.To = func(device int) (size int) {
			if !r.reads {
				size = to(device)
			}
			r.count(&size)
			return size
		}
	}
	return sent, err
}

// Solve does the local work of one device.
func (r *Recorder) Solve(q algorithms.Request) algorithms.Work {
	var work [1]algorithms.Work
	r.SolveAll([]algorithms.Request{q}, work[:])
	return work[0]
}

// SolveAll does the local work of devices.
func (r *Recorder) SolveAll(requests []algorithms.Request, into []algorithms.Work) {
	switch {
	case r.reads:
	case r.of.Batched != nil && r.of.About.Batched:
		r.of.Batched.SolveAll(requests, into)
	default:
		r.pool.For(len(requests), func(i, worker int) {
			q := requests[i]
			q.Worker = worker
			into[i] = r.of.Solve(q)
		})
	}
	for i := range requests {
		r.work(&into[i])
	}
}

// Losses evaluates the present global model on the rows of devices; see Answer.
func (r *Recorder) Losses(devices []int32, into []float64) error {
	if r.reads {
		return nil
	}
	return r.of.Batched.Losses(devices, into)
}

// Commit makes the device's work final.
func (r *Recorder) Commit(device int, weight float64) {
	if !r.reads {
		r.of.Commit(device, weight)
	}
}

// Discard forgets the device's work.
func (r *Recorder) Discard(device int) {
	if !r.reads {
		r.of.Discard(device)
	}
}

// End closes the round.
func (r *Recorder) End() (flops float64, err error) {
	if !r.reads {
		flops, err = r.of.End()
	}
	r.amount(&flops)
	return flops, err
}

// Model returns the present model; in a replay, that of the checkpoint.
func (r *Recorder) Model() algorithms.Model { return r.of.Model() }

// SetCoupling continues under another coupling. In a replay it does nothing: the state of the
// method is under the coupling of the checkpoint.
func (r *Recorder) SetCoupling(c mtl.Coupling) {
	if !r.reads {
		r.of.SetCoupling(c)
	}
}

// Evaluate evaluates the present model; see Answer.
func (r *Recorder) Evaluate() (algorithms.Evaluation, error) {
	if r.reads {
		return algorithms.Evaluation{Metrics: algorithms.Unknown()}, nil
	}
	return r.of.Reporter.Evaluate()
}

// Send fixes the message to the device.
func (r *Recorder) Send(device int) (size int, err error) {
	if !r.reads {
		size, err = r.of.Asynchronous.Send(device)
	}
	r.count(&size)
	return size, err
}

// Receive hands the device's response to the server.
func (r *Recorder) Receive(device int) (taken bool, flops float64, err error) {
	if !r.reads {
		taken, flops, err = r.of.Asynchronous.Receive(device)
	}
	r.flag(&taken)
	r.amount(&flops)
	return taken, flops, err
}

// obsolete returns the devices that the server stops.
func (r *Recorder) obsolete() (devices []int32) {
	if !r.reads {
		devices = r.of.About.Obsolete()
	}
	n := len(devices)
	r.count(&n)
	for i := 0; i < n && r.err == nil; i++ {
		device := 0
		if !r.reads {
			device = int(devices[i])
		}
		if r.count(&device); r.reads {
			devices = append(devices, int32(device))
		}
	}
	return devices
}

// Gather closes a round of a hub.
func (r *Recorder) Gather(hub int) {
	if !r.reads {
		r.of.Tiered.Gather(hub)
	}
}

// Withdraw forgets the open round of a hub.
func (r *Recorder) Withdraw(hub int) {
	if !r.reads {
		r.of.Tiered.Withdraw(hub)
	}
}

// Update returns the tentative update of a device; in a replay one without numbers.
func (r *Recorder) Update(device int) algorithms.Update {
	if r.reads {
		return algorithms.Update{}
	}
	return r.of.Inspected.Update(device)
}
