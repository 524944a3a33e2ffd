package federation

import (
	"fmt"
	"slices"

	"fedsim/engine"
	"fedsim/internal/tools/rng"
	"fedsim/internal/tools/roster"
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
	router    Router    // nil: clients at work get no tasks
	queues    [][]int64 // by client, the updates before each task that waits there
}

func newContinuous(f *Server) *continuous {
	c := &continuous{server: f, driver: f.driver.(Continuous)}
	f.accounts.before = roster.NewColumn[int64](f.clients.Roster(), nil)
	if f.traits.Queues {
		c.router, c.queues = f.protocol.(Router), make([][]int64, f.setup.Clients)
	}
	if f.traits.Groups {
		c.grouper = f.protocol.(Grouper)
	}
	if !f.setup.Lazy { // otherwise choose does
		for client := range f.setup.Clients {
			f.clients.SetNumber(client, -1)
		}
	}
	return c
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
	if c.router != nil {
		for c.free > 0 {
			c.route()
		}
		f.clients.Flush()
		return
	}
	asked := f.Select()
	f.accounts.reports.ask(asked, f.round, f.clients.Now())
	for _, client := range asked {
		c.askIfIdle(int(client))
	}
	f.clients.Flush()
}

// route draws the device of a task, which waits there while the device is at work.
func (c *continuous) route() {
	f := c.server
	c.free--
	c.draws++
	client := c.router.Route(f.setup.Clients, rng.New(f.setup.Seed, rng.Selection, -1, c.draws))
	c.queues[client] = append(c.queues[client], f.accounts.used)
	c.askIfIdle(client)
}

// askIfIdle asks a device if the server may ask one more and the device is available and idle. One with a queue is
// asked for its next task.
func (c *continuous) askIfIdle(client int) {
	if c.router != nil {
		if queue := c.queues[client]; len(queue) > 0 && c.askable(client) {
			before := queue[0]
			c.queues[client] = append(queue[:0], queue[1:]...)
			c.ask(client, 0)
			*c.server.accounts.before.At(client) = before
		}
		return
	}
	if c.free > 0 && c.askable(client) {
		c.free--
		c.ask(client, 0)
	}
}

// askable reports whether a device has no work, and no response that waits for its group.
func (c *continuous) askable(client int) bool {
	return c.server.clients.Idle(client) && !c.server.attempts.device(client).chosen
}

// ask sends a device the present model, behind a message of so many bytes.
func (c *continuous) ask(client int, before float64) {
	f := c.server
	d := f.attempts.device(client)
	d.chosen, d.solved, d.responded, d.dropped = true, false, false, false
	*f.accounts.before.At(client) = f.accounts.used
	f.clients.SetBytesDown(before + c.driver.Send(client))
	f.clients.PrepareDownlink(client, f.clients.Number(client)+1, 0)
	f.attempts.limit(client)
	c.unsolved = append(c.unsolved, int32(client))
	if f.clients.DropsAnywhere(client) { // the phase depends on the work
		c.solvePending()
	}
	f.attempts.prepareUplink(client)
	f.clients.Send(client)
}

// solvePending does the local work of all devices that were sent a model and have not
// done it. The models are fixed, so the work of all is done on all cores when the first
// device must.
func (c *continuous) solvePending() {
	a := &c.server.attempts
	work := c.unsolved[:0]
	for _, client := range c.unsolved {
		if !c.server.clients.Failed(int(client)) {
			work = append(work, client)
		}
	}
	a.solve(work)
	for _, client := range work {
		a.prepareUplink(int(client))
	}
	c.unsolved = c.unsolved[:0]
}

// takeResponse takes the response of a device and asks another device afterwards.
func (c *continuous) takeResponse(client int) {
	c.failures = 0
	if c.grouper != nil {
		c.gather(client, false)
		return
	}
	flops := c.receive(client)
	if at := c.doneAt(flops); at > c.server.clients.Now() {
		c.server.clients.SetTimer(client, at)
	} else {
		c.askAnother(client)
		c.stopObsolete()
	}
	c.server.protocol.Responded(&c.server.open, client)
}

// receive hands the response of a device to the driver, and returns the FLOPs of the server's work.
func (c *continuous) receive(client int) (flops float64) {
	f := c.server
	taken, flops := c.driver.Receive(client)
	if taken {
		f.accounts.Take(client)
	} else {
		f.journal.note(UpdateRefused, client, 0)
		f.accounts.Late(client)
	}
	f.attempts.device(client).chosen = false
	f.open.received++
	return flops
}

// gather lets the protocol hear of a device, or of its instant, and takes the responses that it
// says.
func (c *continuous) gather(client int, failed bool) {
	f, flops := c.server, 0.0
	take, step := c.grouper.Gather(&f.open, client, failed)
	take = slices.Clone(take) // asking clients may lead to another call
	for _, client := range take {
		flops += c.receive(int(client))
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
	for _, client := range listed {
		c.askAnother(int(client))
	}
}

// served hears that the server has done its work on the response of a device, and on those that
// it took with it.
func (c *continuous) served(client int) {
	i := slices.IndexFunc(c.replies, func(listed []int32) bool { return int(listed[0]) == client })
	if i < 0 {
		c.askAnother(client)
		c.stopObsolete()
		return
	}
	listed := c.replies[i]
	c.replies = slices.Delete(c.replies, i, i+1)
	c.askAll(listed)
}

// stopObsolete stops the devices of whose work the server has no use any more.
func (c *continuous) stopObsolete() {
	for _, client := range c.driver.Obsolete() {
		if c.server.attempts.expects(int(client)) {
			c.stop(int(client))
		}
	}
}

// stop ends the attempt of a device, and asks it again at once: a message without values, which stops it, is before
// the model. A device that cannot be asked now gets none.
func (c *continuous) stop(client int) {
	f := c.server
	c.unsolved = slices.DeleteFunc(c.unsolved, func(of int32) bool { return int(of) == client })
	reactions{f}.end(client, true)
	f.clients.Release(client)
	f.attempts.device(client).chosen = false
	if c.askable(client) {
		c.ask(client, f.clients.MessageBytes(0))
	} else {
		c.askAnother(client)
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

// discardAttempt discards the attempt of a device, which has failed, and asks another
// device.
func (c *continuous) discardAttempt(client int) {
	f := c.server
	d := f.attempts.device(client)
	if d.solved {
		f.driver.Discard(client)
	} else if i := slices.Index(c.unsolved, int32(client)); i >= 0 {
		c.unsolved = slices.Delete(c.unsolved, i, i+1)
	}
	f.clients.Release(client)
	d.chosen = false
	if c.failures++; int64(c.failures) > 1000*int64(f.setup.Clients)+100_000 {
		f.Stall(fmt.Sprintf("no response has arrived in %d attempts", c.failures))
		return
	}
	if c.grouper != nil {
		c.gather(client, true)
	}
	c.askAnother(client)
}

// askAnother asks a device in place of another: that one itself when all devices are asked at a time,
// or one drawn from the idle ones.
func (c *continuous) askAnother(client int) {
	f, n := c.server, c.server.setup.Clients
	c.free++
	if c.router != nil {
		c.askIfIdle(client)
		c.route()
		return
	}
	if f.wanted == n {
		c.askIfIdle(client)
		return
	}
	c.draws++
	s := rng.New(f.setup.Seed, rng.Selection, -1, c.draws)
	if f.selection.declared.Unlisted {
		c.askChosen(s)
		return
	}
	client = s.IntN(n)
	// One of the first draws is usually idle; otherwise it is the next one after the last.
	for range 32 {
		if c.askable(client) {
			break
		}
		client = s.IntN(n)
	}
	for range n {
		if c.askable(client) {
			c.askIfIdle(client)
			return
		}
		client = (client + 1) % n
	}
}

// askChosen asks clients in all places that are free, which the selector chooses with a stream.
func (c *continuous) askChosen(stream Stream) {
	s := &c.server.selection
	s.open(c.server.round, false, s.available[:0])
	s.Size, s.stream = c.free, stream
	for _, client := range c.server.choose() {
		c.askIfIdle(int(client))
	}
}
