package clients

import (
	"fmt"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
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
	presence
	preparation
	prospects
	meter
	*hubs // nil: there are none

	prefetch prefetch
	flows    *sharedLinks // nil: the length of a transfer is known when it begins
	timeouts *timeouts    // nil: no connection is given up
	limits   *limits      // nil: no try is given up
}

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
	c := &Clients{setup: s, listener: l, population: newPopulation(&s)}
	c.assemble(drops)
	return c, nil
}

func (c *Clients) assemble(drops *devices.Drops) {
	s := &c.setup
	hardware, batteries := newHardware(s, c.roster)
	c.hardware = hardware
	places := s.Clients + s.Network.Hubs(s.Clients) // where events may be
	options := engine.Options{Queue: s.Queue, Hooks: s.Hooks}
	if s.Lazy {
		options.Lazy = c.roster
	} else {
		options.Prefetch = c.prefetch.fetch
	}
	c.clock = clock{engine: engine.New(places, options), handler: c.handle, population: &c.population}
	c.processors = newProcessors(s, &c.population, &c.hardware, c.engine)
	c.energy = newEnergy(s, batteries, &c.population, &c.hardware, c.engine)
	c.processors.machines = newMachines(s, c.fleet, c.roster)
	c.energy.machines = c.processors.machines
	c.flows = newSharedLinks(s, c.links, c.engine)
	c.clock.flows = c.flows
	c.timeouts = newTimeouts(s, &c.population, c.engine)
	c.limits = newLimits(s, &c.population, c.engine, &c.listener)
	c.waiting = newWaiting(s)
	c.processors.radio, c.processors.waiting = &c.energy.radios, &c.waiting
	c.inbox = inbox{population: &c.population, clock: c.engine, responded: c.listener.Responded, period: c.serverPeriod}
	c.recorder = newRecorder(s, batteries, c.engine, c.processors.overheadShare)
	c.recorder.machines = c.processors.machines
	c.presence = newPresence(s, &c.population, &c.energy, c.engine)
	c.meter = meter{population: &c.population, hardware: &c.hardware, energy: &c.energy}
	c.hubs = newHubs(s, c)
	c.preparation = preparation{drops: drops, clock: c.engine, population: &c.population, hardware: &c.hardware,
		processors: &c.processors, energy: &c.energy, waiting: &c.waiting, inbox: &c.inbox, hubs: c.hubs}
	c.prospects = prospects{setup: s, clock: c.engine, population: &c.population, hardware: &c.hardware,
		processors: &c.processors, energy: &c.energy, presence: &c.presence, flows: c.flows, timeouts: c.timeouts}
	c.prefetch = prefetch{population: &c.population, batteries: batteries, links: c.links, clock: c.engine,
		ahead: s.Ahead}
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
		if c.trace == nil {
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
