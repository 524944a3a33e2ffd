package clients

import (
	"errors"
	"fmt"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// Listener hears of the changes of clients. Functions that are nil hear nothing. They
// are called at the instant of the change and after it, and may start and cancel attempts
// and set timers.
type Listener struct {
	// Downloaded: the downlink transfer of an attempt is over, though the message may
	// be lost. It is the last moment for SetWork. The client computes when it returns
	// true, and fails for lack of time otherwise. nil: it computes.
	Downloaded func(client int) (compute bool)
	// Responded: the response has arrived.
	Responded func(client int)
	// Failed: the attempt has ended without a response.
	Failed func(client int, why Reason)

	// Available: the client can be started from now on, unless it is at work.
	Available func(client int)
	// Unavailable: the client cannot be reached, or refuses new work.
	Unavailable func(client int)
	// Depleted: the battery is empty. pending says whether it ended an attempt, of
	// which Failed has reported, or stopped the timer of one that had failed.
	Depleted func(client int, pending bool)
	// Recharged: there is enough in the battery again.
	Recharged func(client int)

	// Timer: the time of SetTimer has come; engine.Server for SetServerTimer.
	Timer func(client int)

	// Repeat: a message of a hub was lost for the n-th time. It is sent again when
	// Repeat returns true. nil: it always is.
	Repeat func(hub, n int) bool
	// Unreached: a hub no longer serves a client in the open group, since a message to or
	// from it was lost, or it is unavailable.
	Unreached func(client int, why Reason)

	// Gathered: no response to a hub is missing. It reports whether RepeatHub has let the
	// hub ask again; otherwise the hub sends the responses that it has. nil: it sends them.
	Gathered func(hub int) (again bool)

	// Watch is called once in WatchEvery events.
	Watch func()
}

// WatchEvery is how many events pass between two calls of Listener.Watch.
const WatchEvery = 1 << 10

// ensureDefaults replaces functions that are nil.
func (l *Listener) ensureDefaults() {
	ignore := func(f *func(int)) {
		if *f == nil {
			*f = func(int) {}
		}
	}
	for _, f := range [...]*func(int){&l.Responded, &l.Available, &l.Unavailable, &l.Recharged, &l.Timer} {
		ignore(f)
	}
	if l.Downloaded == nil {
		l.Downloaded = func(int) bool { return true }
	}
	if l.Failed == nil {
		l.Failed = func(int, Reason) {}
	}
	if l.Depleted == nil {
		l.Depleted = func(int, bool) {}
	}
	if l.Repeat == nil {
		l.Repeat = func(int, int) bool { return true }
	}
	if l.Unreached == nil {
		l.Unreached = func(int, Reason) {}
	}
	if l.Gathered == nil {
		l.Gathered = func(int) bool { return false }
	}
	if l.Watch == nil {
		l.Watch = func() {}
	}
}

// Clients is the simulated clients of a run and the virtual clock that they live by.
// It is for one goroutine, except where a method says otherwise.
type Clients struct {
	setup    Setup
	listener Listener

	clock     *engine.Engine
	handler   func(engine.Event) // handle, bound once
	fleet     *devices.Processors
	batteries *devices.Batteries
	drops     *devices.Drops
	links     *network.Links
	cost      cost
	traffic   *traffic // nil: the length of a transfer is known when it begins
	hubs      *hubs    // nil: there are none

	devices     []device
	bytesDown   float64       // of the message of an attempt; -1: there was none
	downs       []float64     // the same by client, once they differ; nil before
	addressed   bool          // SetBytesDownOf sets downs
	slower      []float64     // by client, see SetSlower; nil: none is
	due         []engine.Time // when the response to each attempt is expected; nil unless Setup.Due
	done        []float64     // share of each client's phase that was over when it began to work on it last; nil when clients are always available
	radios      []engine.Time // when the last activity of each ended; nil when radios have no states
	unavailable int           // clients that cannot be started
	traffics    Traffic       // work and bytes since Take
	serverTimer engine.Handle
	stops       int64 // calls of Stop
	events      int64 // handled so far
	fetched     float64
	spans       []span // by client; nil: there is no journal
}

// Traffic is the work and the bytes of clients.
type Traffic struct {
	FLOPs, BytesDown, BytesUp float64
}

// New returns clients that are idle. Begin begins the simulation.
func New(s Setup, l Listener) (*Clients, error) {
	n := s.Clients
	if n < 0 || n > MaxClients {
		return nil, fmt.Errorf("clients: %d of them: must be in [0, %d]", n, MaxClients)
	}
	s.Availability = s.Faults.WithOutage(s.Availability, n)
	if s.NoMessages {
		s.Network.LossProbability = 0
	}
	drops, err := devices.NewDrops(s.Faults, n, s.Seed)
	if err != nil {
		return nil, err
	}
	check := config.NewChecker()
	s.Validate(check)
	var problems []error
	for _, p := range check.Problems() {
		problems = append(problems, p)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	l.ensureDefaults()
	c := &Clients{setup: s, listener: l, drops: drops, devices: make([]device, n), bytesDown: -1}
	c.handler = c.handle
	c.newDevices()
	places := n // where events may be
	if c.hubs = c.newHubs(); c.hubs != nil {
		places += len(c.hubs.each)
	}
	c.clock = engine.New(places, engine.Options{Queue: s.Queue, Hooks: s.Hooks, Prefetch: c.fetch})
	c.startRadios(n)
	if s.Journal != nil {
		c.spans = make([]span, n)
	}
	if s.Due {
		c.due = make([]engine.Time, n)
	}
	if s.Availability != nil {
		c.done = make([]float64, n)
	}
	c.cost = c.newCost()
	c.traffic = c.newTraffic()
	if c.foretold() {
		c.batteries.SetNextPower(c.change)
	}
	return c, nil
}

// newDevices makes devices, batteries and links.
func (c *Clients) newDevices() {
	s, n := &c.setup, c.setup.Clients
	defer func() { c.links.AddRoundTrips(s.RoundTrips) }()
	switch {
	case s.Fleet != nil:
		machines, links := s.Fleet.Assemble(n, s.Rows, s.Seed)
		c.fleet = devices.NewMixedProcessors(s.Devices, machines)
		c.batteries = devices.NewMixedBatteries(s.Devices, machines, s.Seed, s.Charging)
		c.links = network.NewMixedLinks(s.Network, links, s.Seed)
		return
	case s.Charging != nil:
		c.batteries = devices.NewChargedBatteries(s.Devices, n, s.Seed, s.Charging)
	default:
		c.batteries = devices.NewBatteries(s.Devices, n, s.Seed)
	}
	c.fleet, c.links = devices.NewProcessors(s.Devices, n, s.Seed), network.NewLinks(s.Network.DeviceLinks(), n, s.Seed)
}

// Begin lets every client draw power and look at its availability trace. It is for
// once, at time 0.
func (c *Clients) Begin() {
	for t := range c.devices {
		c.draw(t, c.fleet.IdlePower(t))
		c.updateRefusal(t)
		c.NoteLevel(t)
	}
	c.beginAvailability()
	for t := range c.spans {
		c.noteActivity(t)
	}
	if c.traffic != nil && c.setup.Network.RushShare < 1 {
		c.setCapacity()
	}
}

// Now returns the virtual time.
func (c *Clients) Now() engine.Time { return c.clock.Now() }

// Step handles the next event. It reports whether there was one.
func (c *Clients) Step() bool { return c.clock.Step(c.handler) }

// Run handles events until Stop is called or none is left.
func (c *Clients) Run() { c.clock.Run(c.handler) }

// RunUntil handles events until Stop is called, or up to an instant and those at it.
func (c *Clients) RunUntil(limit engine.Time) { c.clock.RunUntil(limit, c.handler) }

// Stop ends Run and RunUntil behind the event that is being handled.
func (c *Clients) Stop() {
	c.stops++
	c.clock.Stop()
}

// Batch calls start, which starts many clients: their events are scheduled together,
// which is faster.
func (c *Clients) Batch(start func()) {
	c.clock.ScheduleBatch(func() {
		start()
		c.reschedule()
	})
}

// Flush schedules the ends of transfers that share links. It must be called after
// attempts were started or canceled elsewhere than in a Listener or in Batch.
func (c *Clients) Flush() { c.reschedule() }

// SetTimer calls Listener.Timer for a client that is idle or whose attempt has failed,
// at an instant. It has at most one timer.
func (c *Clients) SetTimer(t int, at engine.Time) {
	c.devices[t].next = c.clock.Schedule(max(at, c.clock.Now()), EventTimer, t).Seq()
}

// StopTimer stops the timer of a client whose attempt has failed. It reports whether
// there was one.
func (c *Clients) StopTimer(t int) bool {
	d := &c.devices[t]
	return d.phase == failed && c.clock.CancelSeq(t, d.next)
}

// SetServerTimer calls Listener.Timer for engine.Server at an instant, behind all else
// that happens then. There is at most one such timer.
func (c *Clients) SetServerTimer(at engine.Time) {
	c.serverTimer = c.clock.Schedule(at, EventServerTimer, engine.Server)
}

// StopServerTimer stops the server's timer, if there is one.
func (c *Clients) StopServerTimer() { c.clock.Cancel(c.serverTimer) }

// handle is the engine's handler.
func (c *Clients) handle(e engine.Event) {
	c.happen(e)
	c.reschedule()
	if c.events++; c.events%WatchEvery == 0 {
		c.listener.Watch()
	}
}

// happen does what an event does to its device.
func (c *Clients) happen(e engine.Event) {
	t := int(e.Device)
	if t >= len(c.devices) {
		c.hubEvent(e.Kind, t-len(c.devices))
		return
	}
	switch e.Kind {
	case EventDownlinkDone:
		c.leave(t, true)
		c.downloaded(t)
	case EventComputeDone:
		c.leave(t, true)
		c.enter(t, uplink)
	case EventUplinkDone:
		c.leave(t, true)
		c.uploaded(t)
	case EventDownlinkFlow:
		c.endFlows(&c.traffic.down, c.downloaded)
	case EventUplinkFlow:
		c.endFlows(&c.traffic.up, c.uploaded)
	case EventRateChange:
		c.updateRate(t)
	case EventDrop:
		c.leave(t, true)
		c.fail(t, DroppedOut)
	case EventAvailability:
		c.changeAvailability(t)
	case EventTimer, EventServerTimer:
		c.listener.Timer(t)
	case EventBatteryCheck:
		c.checkBattery(t)
	case EventRecharged:
		c.recharge(t)
	case EventCapacity:
		c.setCapacity()
	}
}

// Interrupted reports whether a loop over virtual time that has taken so many steps is
// to be ended.
func (c *Clients) interrupted(steps int) bool {
	const between = 1 << 20
	return steps%between == 0 && c.setup.GiveUp != nil && c.setup.GiveUp()
}
