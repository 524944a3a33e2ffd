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

// Solve does the local work of clients, on all cores.
func (f driver) Solve(listed []int32) (done bool) {
	together := f.method.About.Batched
	if together {
		f.solveTogether(listed)
	} else {
		f.setup.Pool.For(len(listed), func(i, worker int) {
			if t := int(listed[i]); f.server.Solves(t) {
				f.setWork(t, f.method.Solve(f.request(t, worker)))
			}
		})
	}
	f.fail(f.nonfinite.err)
	if f.halt.Halted() {
		return false
	}
	for _, t := range listed {
		if f.server.Solves(int(t)) {
			f.count.steps += int64(f.server.Attempt(int(t)).Steps)
		}
	}
	return true
}

// solveTogether does the local work of clients in one call.
func (f *Federation) solveTogether(listed []int32) {
	var requests []algorithms.Request
	for _, t := range listed {
		if f.server.Solves(int(t)) {
			requests = append(requests, f.request(int(t), 0))
		}
	}
	if len(requests) == 0 {
		return
	}
	works := make([]algorithms.Work, len(requests))
	f.method.Batched.SolveAll(requests, works)
	for i := range works {
		f.setWork(requests[i].Device, works[i])
	}
}

func (f *Federation) request(t, worker int) algorithms.Request {
	steps := algorithms.NoLimit
	if budget, limited := f.server.Budget(t); limited {
		steps = budget
	}
	return algorithms.Request{
		Device: t, Round: f.server.LocalRound(t), Steps: f.work.within(t, steps), Worker: worker,
		Stream: rng.New(f.setup.Seed, rng.Solve, t, f.clients.Number(t)), Halt: f.halt,
	}
}

// setWork notes the local work of device t.
func (f *Federation) setWork(t int, work algorithms.Work) {
	f.examine(t, work.Err)
	f.server.SetWork(t, work.Steps, f.work.done(t, &work), f.work.responseBytes(work.Values))
	if f.count.capped != nil {
		f.count.capped[t] = work.Capped
	}
}

// Commit makes the work of a client final, with the weight that the protocol gives.
func (f driver) Commit(client int, weight float64) {
	f.refuseNonFinite(client)
	f.method.Commit(client, f.late.factorOf(f.Federation, client)*weight)
	f.countCapped(client)
}

// Discard forgets the work of a client.
func (f driver) Discard(client int) { f.method.Discard(client) }

// Send fixes the message to a client of a server without rounds.
func (f driver) Send(client int) (bytes float64) {
	size, err := f.method.Asynchronous.Send(client)
	f.fail(err)
	return f.work.messageBytes(size)
}

// Receive hands the response of a client to the server without rounds.
func (f driver) Receive(client int) (taken bool, flops float64) {
	taken, flops, err := f.method.Asynchronous.Receive(client)
	f.fail(err)
	if taken {
		f.refuseNonFinite(client)
		f.countCapped(client)
	}
	return taken, flops
}

// Obsolete returns the clients of whose work the method has no use any more.
func (f driver) Obsolete() []int32 {
	if f.method.About.Obsolete == nil {
		return nil
	}
	return f.method.About.Obsolete()
}

// Step takes the step of the server on the responses since the last.
func (f driver) Step() (flops float64) {
	if !f.method.About.Gathers {
		return 0
	}
	flops, err := f.method.End()
	f.fail(err)
	return flops
}

// Gather closes a round of a hub.
func (f driver) Gather(hub int) { f.method.Tiered.Gather(hub) }

// Withdraw forgets the open round of a hub.
func (f driver) Withdraw(hub int) { f.method.Tiered.Withdraw(hub) }

// countCapped counts an update of capped work that the server has taken.
func (f *Federation) countCapped(t int) {
	if f.count.capped != nil && f.count.capped[t] {
		f.count.taken++
	}
}
