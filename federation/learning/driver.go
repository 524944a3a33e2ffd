package learning

import (
	"fedsim/algorithms"
	"fedsim/federation"
	"fedsim/internal/tools/rng"
)

// driver is a federation as the server sees it.
type driver struct{ *Federation }

var (
	_ federation.Continuous = driver{}
	_ federation.Tiered     = driver{}
	_ federation.Losses     = driver{}
)

// Work does the local work of clients, on all cores.
func (d driver) Work(due []federation.Due, into []federation.Done) (done bool) {
	if d.method.About.Batched {
		d.solveTogether(due, into)
	} else {
		d.setup.Pool.For(len(due), func(i, worker int) {
			response := d.method.Solve(d.request(&due[i], worker))
			into[i] = d.done(int(due[i].Client), &response)
		})
	}
	d.fail(d.nonfinite.err)
	if d.halt.Halted() {
		return false
	}
	for i := range into {
		d.count.steps += int64(into[i].Count)
	}
	return true
}

// solveTogether does the local work of clients in one call.
func (f *Federation) solveTogether(due []federation.Due, into []federation.Done) {
	if len(due) == 0 {
		return
	}
	requests, responses := make([]algorithms.Request, len(due)), make([]algorithms.Response, len(due))
	for i := range due {
		requests[i] = f.request(&due[i], 0)
	}
	f.method.Batched.SolveAll(requests, responses)
	for i := range responses {
		into[i] = f.done(requests[i].Device, &responses[i])
	}
}

func (f *Federation) request(due *federation.Due, worker int) algorithms.Request {
	client, steps := int(due.Client), algorithms.NoLimit
	if due.Steps != federation.Unlimited {
		steps = int(due.Steps)
	}
	return algorithms.Request{
		Device: client, Round: int(due.Round), Steps: f.work.within(client, steps), Worker: worker,
		Stream: rng.New(f.setup.Seed, rng.Solve, client, f.clients.Number(client)), Halt: f.halt,
	}
}

// done returns the local work of a device, and notes what else the method says of it.
func (f *Federation) done(client int, response *algorithms.Response) federation.Done {
	f.examine(client, response.Err)
	if f.count.capped != nil {
		f.count.capped[client] = response.Capped
	}
	return federation.Done{
		Work: f.work.done(client, response), Count: response.Steps, BytesUp: f.work.responseBytes(response.Values),
	}
}

// Commit makes the work of a client final, with the weight that the protocol gives.
func (d driver) Commit(client int, weight float64) {
	d.refuseNonFinite(client)
	d.method.Commit(client, d.late.factorOf(d.Federation, client)*weight)
	d.countCapped(client)
}

// Discard forgets the work of a client.
func (d driver) Discard(client int) { d.method.Discard(client) }

// Send fixes the message to a client of a server without rounds.
func (d driver) Send(client int) (bytes float64) {
	size, err := d.method.Asynchronous.Send(client)
	d.fail(err)
	return d.work.messageBytes(size)
}

// Receive hands the response of a client to the server without rounds.
func (d driver) Receive(client int) (taken bool, flops float64) {
	taken, flops, err := d.method.Asynchronous.Receive(client)
	d.fail(err)
	if taken {
		d.refuseNonFinite(client)
		d.countCapped(client)
	}
	return taken, flops
}

// Obsolete returns the clients of whose work the method has no use any more.
func (d driver) Obsolete() []int32 {
	if d.method.About.Obsolete == nil {
		return nil
	}
	return d.method.About.Obsolete()
}

// Step takes the step of the server on the responses since the last.
func (d driver) Step() (flops float64) {
	if !d.method.About.Gathers {
		return 0
	}
	flops, err := d.method.End()
	d.fail(err)
	return flops
}

// Gather closes a round of a hub.
func (d driver) Gather(hub int) { d.method.Tiered.Gather(hub) }

// Withdraw forgets the open round of a hub.
func (d driver) Withdraw(hub int) { d.method.Tiered.Withdraw(hub) }

// countCapped counts an update of capped work that the server has taken.
func (f *Federation) countCapped(client int) {
	if f.count.capped != nil && f.count.capped[client] {
		f.count.taken++
	}
}
