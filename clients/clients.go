package clients

import (
	"fmt"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/tools/roster"
)

// Clients is the simulated clients of a run and the virtual clock that they live by.
// It is for one goroutine, except where a method says otherwise.
type Clients struct {
	setup    Setup
	listener Listener

	clock
	population
	hardware
	processors
	energy
	recorder
	waiting
	inbox
	*hubs // nil: there are none

	followed *roster.Column[bool] // whether the next look at a client's availability is scheduled; nil: always

	drops    *devices.Drops
	flows    *sharedLinks // nil: the length of a transfer is known when it begins
	timeouts *timeouts    // nil: no connection is given up
	limits   *limits      // nil: no try is given up

	traffic Traffic // work and bytes since Take

	computedS, respondedS float64 // seconds of computing, and of all phases, of attempts that led to a response
	changes               int     // changes of availability that somebody needed to know
	fetched               float64
}

// Traffic is the work and the bytes of clients.
type Traffic struct {
	FLOPs, BytesDown, BytesUp float64
}

// ComputeShare returns the share of computing in the time of attempts that led to a response, as if each client
// had its links to itself and its usual speed; NaN before the first.
func (c *Clients) ComputeShare() float64 { return c.computedS / c.respondedS }

// Changes returns how often a client became available or unavailable; in a lazy population, as far as somebody
// needed to know.
func (c *Clients) Changes() int { return c.changes }

// New returns clients that are idle. Begin begins the simulation.
func New(s Setup, l Listener) (*Clients, error) {
	n := s.Clients
	if n < 0 || n > MaxClients-s.Network.Hubs(max(0, n)) {
		return nil,
			fmt.Errorf("clients: %d of them, and %d hubs: must be in [0, %d] together", n, s.Network.Hubs(max(0, n)),
				MaxClients)
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
	if err := check.Err(); err != nil {
		return nil, err
	}
	l.ensureDefaults()
	c := &Clients{setup: s, listener: l, drops: drops, population: newPopulation(&s)}
	c.assemble()
	return c, nil
}

func (c *Clients) assemble() {
	s := &c.setup
	hardware, batteries := newHardware(s, c.roster)
	c.hardware = hardware
	places := s.Clients + s.Network.Hubs(s.Clients) // where events may be
	options := engine.Options{Queue: s.Queue, Hooks: s.Hooks}
	if s.Lazy {
		options.Lazy = c.roster
	} else {
		options.Prefetch = c.fetch
	}
	c.clock = clock{engine: engine.New(places, options), handler: c.handle, population: &c.population}
	c.processors = newProcessors(s, &c.population, &c.hardware, c.engine)
	c.energy = newEnergy(s, batteries, &c.population, &c.hardware, c.engine)
	c.processors.machines = newMachines(s, c.fleet, c.roster)
	c.energy.machines = c.processors.machines
	c.flows = newSharedLinks(s, c.links, c.engine)
	c.timeouts = newTimeouts(s, &c.population, c.engine)
	c.limits = newLimits(s, &c.population, c.engine)
	c.waiting = newWaiting(s)
	c.processors.radio, c.processors.waiting = &c.energy.radios, &c.waiting
	c.inbox = inbox{population: &c.population, clock: c.engine, responded: c.listener.Responded, period: c.serverPeriod}
	c.recorder = newRecorder(s, batteries, c.engine, c.processors.overheadShare)
	c.recorder.machines = c.processors.machines
	c.hubs = newHubs(s, c)
	if s.Lazy {
		c.followed = roster.NewColumn[bool](c.roster, nil)
	}
}

// Begin lets every client draw power and look at its availability trace. It is for
// once, at time 0.
func (c *Clients) Begin() {
	if c.setup.Lazy {
		c.batteries.SetRest(c.Now(), c.idle(0))
		return
	}
	for client := range c.Len() {
		c.draw(client, c.idle(client))
		c.updateRefusal(client)
		c.NoteLevel(client)
	}
	for client := range c.Len() {
		if c.setup.Availability == nil {
			break
		}
		if present, _ := c.lookUp(client); !present {
			d := c.at(client)
			if d.available() {
				c.unavailable++
			}
			d.set(unavailable, true)
		}
	}
	for client := range c.recorder.spans {
		c.recorder.activity(client, c.at(client))
	}
	if c.flows != nil && c.flows.capacity != nil {
		c.flows.setCapacity()
	}
}

// SendGroup sends the messages of a group of attempts, which have been prepared, to the
// clients that are available, and calls Poll. It returns when the last response is
// expected. With hubs the group is that of OpenGroup.
func (c *Clients) SendGroup(clients []int32) (end engine.Time) {
	c.Poll()
	c.Batch(func() {
		if c.hubs != nil {
			end = c.hubs.sendGroup()
			return
		}
		for _, client := range clients {
			if c.Available(int(client)) {
				end = max(end, c.Send(int(client)))
			}
		}
	})
	return end
}

// Batch calls start, which starts many clients: their events are scheduled together,
// which is faster.
func (c *Clients) Batch(start func()) {
	c.engine.ScheduleBatch(func() {
		start()
		c.Flush()
	})
}

// Run handles events until Stop is called or none is left.
func (c *Clients) Run() {
	c.Flush()
	c.clock.Run()
}

// RunUntil handles events until Stop is called, or up to an instant and those at it.
func (c *Clients) RunUntil(limit engine.Time) {
	c.Flush()
	c.clock.RunUntil(limit)
}

// Step handles the next event. It reports whether there was one.
func (c *Clients) Step() bool {
	c.Flush()
	return c.clock.Step()
}

// Flush schedules the ends of transfers that share links, after attempts were started or canceled elsewhere than
// in a Listener or in Batch. Run, RunUntil and Step begin with it; a program that handles events of Clock itself
// calls it.
func (c *Clients) Flush() {
	if c.flows != nil {
		c.flows.reschedule()
	}
}

// Take returns what clients have moved and computed since the last Take.
func (c *Clients) Take() Traffic {
	sum := c.traffic
	c.traffic = Traffic{}
	return sum
}

// Transfers returns how long the downlink of a prepared attempt takes when it begins
// now, and how long its uplink usually does, hubs included.
func (c *Clients) Transfers(client int, bytesUp float64) (down, up engine.Time) {
	down, up = c.hubs.transfers(client, bytesUp)
	return c.radios.promotion(client, c.Now()).Add(c.at(client).down).Add(down),
		c.ExpectedUplink(client, bytesUp).Add(up)
}
