package federation

import (
	"fmt"
	"slices"

	"fedsim/engine"
	"fedsim/internal/tools/rng"
)

// continuous is a server without rounds: it takes every response when it arrives, and asks
// another client.
type continuous struct {
	server    *Server
	driver    Continuous
	grouper   Grouper // nil: the server takes each response when it arrives
	started   bool
	free      int     // clients that the server may ask besides those at work
	unsolved  []int32 // clients that were sent a model and have not done their work
	draws     int     // of clients
	failures  int     // attempts that have failed since the last response
	busyUntil engine.Time
	replies   [][]int32 // clients that are asked together when the server has done its work
}

// open opens a round of a run without rounds: a part of it in the results.
func (c *continuous) open() {
	f := c.server
	f.open.reset()
	if c.started {
		return
	}
	c.started = true
	c.free = f.wanted
	asked := f.Select()
	f.reports.ask(asked, f.round, f.clients.Now())
	for _, t := range asked {
		c.askIfIdle(int(t))
	}
	f.clients.Flush()
}

// askIfIdle asks device t if the server may ask one more and t is available and idle.
func (c *continuous) askIfIdle(t int) {
	if c.free > 0 && c.askable(t) {
		c.free--
		c.ask(t, 0)
	}
}

// askable reports whether device t has no work, and no response that waits for its group.
func (c *continuous) askable(t int) bool {
	return c.server.clients.Idle(t) && !c.server.attempts.device(t).chosen
}

// ask sends device t the present model, behind a message of so many bytes.
func (c *continuous) ask(t int, before float64) {
	f := c.server
	d := f.attempts.device(t)
	d.chosen, d.solved, d.responded, d.dropped = true, false, false, false
	f.clients.SetBytesDown(before + c.driver.Send(t))
	f.clients.PrepareDownlink(t, f.clients.Number(t)+1, 0)
	f.attempts.limit(t)
	c.unsolved = append(c.unsolved, int32(t))
	if f.clients.DropsAnywhere(t) { // the phase depends on the work
		c.solvePending()
	}
	f.attempts.prepareUplink(t)
	f.clients.Send(t)
}

// solvePending does the local work of all devices that were sent a model and have not
// done it. The models are fixed, so the work of all is done on all cores when the first
// device must.
func (c *continuous) solvePending() {
	a := &c.server.attempts
	work := c.unsolved[:0]
	for _, t := range c.unsolved {
		if !c.server.clients.Failed(int(t)) {
			work = append(work, t)
		}
	}
	a.solve(work)
	for _, t := range work {
		a.prepareUplink(int(t))
	}
	c.unsolved = c.unsolved[:0]
}

// takeResponse takes the response of device t and asks another device afterwards.
func (c *continuous) takeResponse(t int) {
	c.failures = 0
	if c.grouper != nil {
		c.gather(t, false)
		return
	}
	flops := c.receive(t)
	if at := c.doneAt(flops); at > c.server.clients.Now() {
		c.server.clients.SetTimer(t, at)
	} else {
		c.askAnother(t)
		c.stopObsolete()
	}
	c.server.protocol.Responded(&c.server.open, t)
}

// receive hands the response of device t to the driver, and returns the FLOPs of the server's work.
func (c *continuous) receive(t int) (flops float64) {
	f := c.server
	taken, flops := c.driver.Receive(t)
	if taken {
		f.accounts.Take(t)
	} else {
		f.journal.note(UpdateRefused, t, 0)
		f.accounts.Late(t)
	}
	f.attempts.device(t).chosen = false
	f.open.received++
	return flops
}

// gather lets the protocol hear of device t, or of its instant, and takes the responses that it
// says.
func (c *continuous) gather(t int, failed bool) {
	f, flops := c.server, 0.0
	take, step := c.grouper.Gather(&f.open, t, failed)
	take = slices.Clone(take) // asking clients may lead to another call
	for _, t := range take {
		flops += c.receive(int(t))
	}
	if step {
		flops += c.driver.Step()
	}
	if len(take) == 0 {
		return
	}
	if at := c.doneAt(flops); at > f.clients.Now() {
		c.replies = append(c.replies, take)
		f.clients.SetTimer(int(take[0]), at)
	} else {
		c.askAll(take)
	}
	f.protocol.Responded(&f.open, int(take[0]))
}

// askAll asks devices in place of those listed.
func (c *continuous) askAll(listed []int32) {
	for _, t := range listed {
		c.askAnother(int(t))
	}
}

// served hears that the server has done its work on the response of device t, and on those that
// it took with it.
func (c *continuous) served(t int) {
	i := slices.IndexFunc(c.replies, func(listed []int32) bool { return int(listed[0]) == t })
	if i < 0 {
		c.askAnother(t)
		c.stopObsolete()
		return
	}
	listed := c.replies[i]
	c.replies = slices.Delete(c.replies, i, i+1)
	c.askAll(listed)
}

// stopObsolete stops the devices of whose work the server has no use any more.
func (c *continuous) stopObsolete() {
	for _, t := range c.driver.Obsolete() {
		if c.server.attempts.expects(int(t)) {
			c.stop(int(t))
		}
	}
}

// stop ends the attempt of device t, and asks it again at once: a message without values, which stops it, is before
// the model. A device that cannot be asked now gets none.
func (c *continuous) stop(t int) {
	f := c.server
	c.unsolved = slices.DeleteFunc(c.unsolved, func(of int32) bool { return int(of) == t })
	f.attempts.end(t, true)
	f.clients.Release(t)
	f.attempts.device(t).chosen = false
	if c.askable(t) {
		c.ask(t, f.clients.MessageBytes(0))
	} else {
		c.askAnother(t)
	}
}

// doneAt returns when the server has done some work. It works in order of arrival.
func (c *continuous) doneAt(flops float64) engine.Time {
	f := c.server
	if speed := f.setup.Config.ServerGFLOPS * 1e9; speed > 0 {
		c.busyUntil = max(c.busyUntil, f.clients.Now()).Add(engine.FromSeconds(flops / speed))
		if c.busyUntil == engine.Never {
			f.Stall(beyond(serverWork))
		}
	}
	return c.busyUntil
}

// discardAttempt discards the attempt of device t, which has failed, and asks another
// device.
func (c *continuous) discardAttempt(t int) {
	f := c.server
	d := f.attempts.device(t)
	if d.solved {
		f.driver.Discard(t)
	} else if i := slices.Index(c.unsolved, int32(t)); i >= 0 {
		c.unsolved = slices.Delete(c.unsolved, i, i+1)
	}
	f.clients.Release(t)
	d.chosen = false
	if c.failures++; int64(c.failures) > 1000*int64(f.setup.Clients)+100_000 {
		f.Stall(fmt.Sprintf("no response has arrived in %d attempts", c.failures))
		return
	}
	if c.grouper != nil {
		c.gather(t, true)
	}
	c.askAnother(t)
}

// askAnother asks a device in place of t: t itself when all devices are asked at a time,
// or one drawn from the idle ones.
func (c *continuous) askAnother(t int) {
	f, n := c.server, c.server.setup.Clients
	c.free++
	if f.wanted == n {
		c.askIfIdle(t)
		return
	}
	c.draws++
	s := rng.New(f.setup.Seed, rng.Selection, -1, c.draws)
	if f.selection.declared.Unlisted {
		c.askChosen(s)
		return
	}
	t = s.IntN(n)
	// One of the first draws is usually idle; otherwise it is the next one after the last.
	for range 32 {
		if c.askable(t) {
			break
		}
		t = s.IntN(n)
	}
	for range n {
		if c.askable(t) {
			c.askIfIdle(t)
			return
		}
		t = (t + 1) % n
	}
}

// askChosen asks clients in all places that are free, which the selector chooses with a stream.
func (c *continuous) askChosen(stream Stream) {
	s := &c.server.selection
	s.open(c.server.round, false, s.available[:0])
	s.Size, s.stream = c.free, stream
	for _, t := range c.server.choose() {
		c.askIfIdle(int(t))
	}
}
