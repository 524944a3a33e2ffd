package clients

import "fedsim/engine"

// The kinds of events, in the order in which simultaneous ones happen: a response
// that arrives at the deadline is in time, and a battery that is depleted, or a client
// that becomes unavailable, with the last bit of a response has sent it. A drop comes
// before the end of its phase, also of one that takes no time.
const (
	EventRecharged    engine.Kind = iota // a depleted battery is full enough
	EventDrop                            // the client drops
	EventDownlinkDone                    // the server's message has arrived
	EventComputeDone                     // the local work is done
	EventUplinkDone                      // the response has arrived
	EventDownlinkFlow                    // downlinks on shared links end
	EventUplinkFlow                      // uplinks on shared links end
	EventBatteryCheck                    // check whether the battery is empty
	EventRateChange                      // the rate of a link changes while it is in use
	EventAvailability                    // the client becomes available or unavailable
	EventTimer                           // a client or the server polls, a timer of a client, or a hub sends again
	EventCapacity                        // the capacity of shared links changes
	EventServerTimer                     // the server's timer
)

// ends has the event that ends each phase of work.
var ends = [...]engine.Kind{downlink: EventDownlinkDone, compute: EventComputeDone, uplink: EventUplinkDone}

// clock is the virtual time that clients live by, and its timers.
type clock struct {
	engine      *engine.Engine
	handler     func(engine.Event)
	flows       *sharedLinks // transfers whose ends are scheduled behind each change; nil: there are none
	population  *population
	serverTimer engine.Handle
	stops       int64 // calls of Stop
	events      int64 // handled so far
}

// Clock returns the engine.
func (c *clock) Clock() *engine.Engine { return c.engine }

// Events returns how many events have happened.
func (c *clock) Events() int64 { return c.events }

// Now returns the virtual time.
func (c *clock) Now() engine.Time { return c.engine.Now() }

// Batch calls start, which starts many clients: their events are scheduled together,
// which is faster.
func (c *clock) Batch(start func()) {
	c.engine.ScheduleBatch(func() {
		start()
		c.Flush()
	})
}

// Run handles events until Stop is called or none is left.
func (c *clock) Run() {
	c.Flush()
	c.engine.Run(c.handler)
}

// RunUntil handles events until Stop is called, or up to an instant and those at it.
func (c *clock) RunUntil(limit engine.Time) {
	c.Flush()
	c.engine.RunUntil(limit, c.handler)
}

// Step handles the next event. It reports whether there was one.
func (c *clock) Step() bool {
	c.Flush()
	return c.engine.Step(c.handler)
}

// Flush schedules the ends of transfers that share links, after attempts were started or canceled elsewhere than
// in a Listener or in Batch. Run, RunUntil and Step begin with it; a program that handles events of Clock itself
// calls it.
func (c *clock) Flush() {
	if c.flows != nil {
		c.flows.reschedule()
	}
}

// Stop ends Run and RunUntil behind the event that is being handled.
func (c *clock) Stop() {
	c.stops++
	c.engine.Stop()
}

// SetTimer calls Listener.Timer for a client that is idle or whose attempt has failed,
// at an instant. It has at most one timer.
func (c *clock) SetTimer(client int, at engine.Time) {
	c.population.at(client).next = c.engine.Schedule(max(at, c.Now()), EventTimer, client).Seq()
}

// StopTimer stops the timer of a client whose attempt has failed. It reports whether
// there was one.
func (c *clock) StopTimer(client int) bool {
	d := c.population.at(client)
	return d.failed() && c.engine.CancelSeq(client, d.next)
}

// Release lets a client whose attempt has failed be idle again, without a timer.
func (c *clock) Release(client int) {
	c.StopTimer(client)
	switch d := c.population.at(client); d.phase {
	case failed:
		d.phase = idle
	case drained:
		d.phase = depleted
	}
}

// SetServerTimer calls Listener.Timer for engine.Server at an instant, behind all else
// that happens then. There is at most one such timer.
func (c *clock) SetServerTimer(at engine.Time) {
	c.serverTimer = c.engine.Schedule(at, EventServerTimer, engine.Server)
}

// StopServerTimer stops the server's timer, if there is one.
func (c *clock) StopServerTimer() { c.engine.Cancel(c.serverTimer) }
