package replay

import (
	"fedsim/algorithms"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// Log is a method that logs the answers of another one, or gives logged ones again. Those of
// several devices are logged in the order of the requests. A nil Log logs nothing: then only
// Answer, EndRound and Replaying are called.
type Log struct {
	answers
	of     *algorithms.Method
	pool   *algorithms.Pool
	round  int // rounds that have ended
	rounds int // of the log
}

var (
	_ algorithms.Asynchronous = (*Log)(nil)
	_ algorithms.Batched      = (*Log)(nil)
	_ algorithms.Inspected    = (*Log)(nil)
	_ algorithms.Reporter     = (*Log)(nil)
	_ algorithms.Tiered       = (*Log)(nil)
)

// Record returns a log of a method, whose local work is done on the pool.
func Record(of *algorithms.Method, pool *algorithms.Pool) *Log {
	return &Log{of: of, pool: pool}
}

// Method returns the log as a method with the abilities of the one that it records.
func (l *Log) Method() *algorithms.Method {
	m := *l.of
	m.Algorithm, m.About = l, l.Describe()
	m.Batched = l
	if m.Asynchronous != nil {
		m.Asynchronous = l
	}
	if m.Tiered != nil {
		m.Tiered = l
	}
	if m.Inspected != nil {
		m.Inspected = l
	}
	if m.Reporter != nil {
		m.Reporter = l
	}
	return &m
}

// Replaying reports whether answers come from the log of a checkpoint.
func (l *Log) Replaying() bool { return l != nil && l.reads }

// Err returns the error of a log that cannot be replayed.
func (l *Log) Err() error { return l.err }

// EndRound ends a round. After the last round of the log that is replayed, the method answers. It
// fails with ErrMismatch if the log is not that of this run.
func (l *Log) EndRound() error {
	if l == nil {
		return nil
	}
	if l.round++; !l.reads {
		l.rounds = l.round
	} else if l.round == l.rounds {
		if !l.over() {
			l.mismatch()
		}
		l.reads = false
	}
	return l.err
}

// State codes the log, and the rounds that it is of. After reading, it is replayed.
func (l *Log) State(c *algorithms.Coder) {
	c.Int(&l.rounds)
	if c.Bytes(&l.log); c.Reads() {
		l.reads = true
		if c.Err() == nil && l.rounds < 1 {
			c.Fail(ErrMismatch)
		}
	}
}

// Resume makes the method answer after the replay; it has the state of the checkpoint.
func (l *Log) Resume(of *algorithms.Method) { l.of = of }

// Answer makes an answer about the method's model, such as a loss or an evaluation, and logs it;
// or it gives a logged one again. code passes the answer to a coder.
func (l *Log) Answer(ask func(), code func(*state.Coder)) {
	if l == nil {
		ask()
		return
	}
	if !l.reads {
		ask()
	}
	l.code(code)
}

// Describe returns the description of the method. The work of several devices is one call, so
// that their answers have an order.
func (l *Log) Describe() algorithms.Description {
	about := l.of.About
	about.Batched = true
	if about.Obsolete != nil {
		about.Obsolete = l.obsolete
	}
	return about
}

// Begin opens a round.
func (l *Log) Begin() (sent algorithms.Sent, err error) {
	if !l.reads {
		sent, err = l.of.Begin()
	}
	l.count(&sent.Size)
	if to := sent.To; l.of.About.Messages.Differ {
		sent.To = func(device int) (size int) {
			if !l.reads {
				size = to(device)
			}
			l.count(&size)
			return size
		}
	}
	return sent, err
}

// Solve does the local work of one device.
func (l *Log) Solve(q algorithms.Request) algorithms.Response {
	var work [1]algorithms.Response
	l.SolveAll([]algorithms.Request{q}, work[:])
	return work[0]
}

// SolveAll does the local work of devices.
func (l *Log) SolveAll(requests []algorithms.Request, into []algorithms.Response) {
	switch {
	case l.reads:
	case l.of.Batched != nil && l.of.About.Batched:
		l.of.Batched.SolveAll(requests, into)
	default:
		l.pool.For(len(requests), func(i, worker int) {
			q := requests[i]
			q.Worker = worker
			into[i] = l.of.Solve(q)
		})
	}
	for i := range requests {
		l.response(&into[i])
	}
}

// Losses evaluates the present global model on the rows of devices; see Answer.
func (l *Log) Losses(devices []int32, into []float64) error {
	if l.reads {
		return nil
	}
	return l.of.Batched.Losses(devices, into)
}

// Commit makes the device's work final.
func (l *Log) Commit(device int, weight float64) {
	if !l.reads {
		l.of.Commit(device, weight)
	}
}

// Discard forgets the device's work.
func (l *Log) Discard(device int) {
	if !l.reads {
		l.of.Discard(device)
	}
}

// End closes the round.
func (l *Log) End() (flops float64, err error) {
	if !l.reads {
		flops, err = l.of.End()
	}
	l.amount(&flops)
	return flops, err
}

// Model returns the present model; in a replay, that of the checkpoint.
func (l *Log) Model() algorithms.Model { return l.of.Model() }

// SetCoupling continues under another coupling. In a replay it does nothing: the state of the
// method is under the coupling of the checkpoint.
func (l *Log) SetCoupling(c mtl.Coupling) {
	if !l.reads {
		l.of.SetCoupling(c)
	}
}

// Evaluate evaluates the present model; see Answer.
func (l *Log) Evaluate() (algorithms.Evaluation, error) {
	if l.reads {
		return algorithms.Evaluation{Metrics: algorithms.Unknown()}, nil
	}
	return l.of.Reporter.Evaluate()
}

// Send fixes the message to the device.
func (l *Log) Send(device int) (size int, err error) {
	if !l.reads {
		size, err = l.of.Asynchronous.Send(device)
	}
	l.count(&size)
	return size, err
}

// Receive hands the device's response to the server.
func (l *Log) Receive(device int) (taken bool, flops float64, err error) {
	if !l.reads {
		taken, flops, err = l.of.Asynchronous.Receive(device)
	}
	l.flag(&taken)
	l.amount(&flops)
	return taken, flops, err
}

// obsolete returns the devices that the server stops.
func (l *Log) obsolete() (devices []int32) {
	if !l.reads {
		devices = l.of.About.Obsolete()
	}
	n := len(devices)
	l.count(&n)
	for i := 0; i < n && l.err == nil; i++ {
		device := 0
		if !l.reads {
			device = int(devices[i])
		}
		if l.count(&device); l.reads {
			devices = append(devices, int32(device))
		}
	}
	return devices
}

// Gather closes a round of a hub.
func (l *Log) Gather(hub int) {
	if !l.reads {
		l.of.Tiered.Gather(hub)
	}
}

// Withdraw forgets the open round of a hub.
func (l *Log) Withdraw(hub int) {
	if !l.reads {
		l.of.Tiered.Withdraw(hub)
	}
}

// Update returns the tentative update of a device; in a replay one without numbers.
func (l *Log) Update(device int) algorithms.Update {
	if l.reads {
		return algorithms.Update{}
	}
	return l.of.Inspected.Update(device)
}
