package clients

import (
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// Obstacle is why a client can never respond.
type Obstacle uint8

const (
	NoObstacle    Obstacle = iota // it can, or nobody knows
	AwayForever                   // it is unavailable for the rest of the time
	NoRate                        // its link moves no bytes for the rest of the time
	NoSpeed                       // its processor stands still for the rest of the time
	NeverCharged                  // its battery is empty
	ObstacleCount                 // the number of obstacles, to count them by
)

// String describes one client with the obstacle, as in "client 3 is ...".
func (o Obstacle) String() string {
	return [...]string{
		"never responds", "is unavailable forever", "has a link of 0 Mbit/s forever", "has a speed of 0 forever",
		"has an empty battery and is never charged",
	}[o]
}

// Plural describes several clients with the obstacle, as in "3 clients are ...".
func (o Obstacle) Plural() string {
	return [...]string{
		"never respond", "are unavailable forever", "have links of 0 Mbit/s forever", "have a speed of 0 forever",
		"have empty batteries and are never charged",
	}[o]
}

// prospects knows what clients can never do.
type prospects struct {
	setup      *Setup
	clock      *engine.Engine
	population *population
	hardware   *hardware
	processors *processors
	energy     *energy
	presence   *presence
	flows      *sharedLinks // nil: the length of a transfer is known when it begins
	timeouts   *timeouts    // nil: no connection is given up
}

// Obstacle returns why a client can never respond. A battery that empties while a client waits in vain is not the
// cause: it comes last.
func (p *prospects) Obstacle(client int) Obstacle {
	now := p.clock.Now()
	if p.presence.gone(client) {
		return AwayForever
	}
	if p.flows != nil && (p.flows.stands(client, network.Down) || p.flows.stands(client, network.Up)) {
		return NoRate
	}
	m := p.processors.cursor(p.population.work(client), now)
	if factor, until := p.processors.factor(client, now, &m); factor == 0 && until == engine.Never {
		return NoSpeed
	}
	if empty, charged := p.energy.Depleted(client); empty && !charged {
		return NeverCharged
	}
	return NoObstacle
}

// CannotComplete reports whether the battery of a client, which was just recharged, is
// certain to be depleted before the client completes its last attempt again. It is
// recharged to the same level every time, and each try takes the same energy. With
// jitter, a speed that changes, or a charging plan, nothing is certain.
func (p *prospects) CannotComplete(client int) bool {
	s := p.setup
	m := p.processors.cursor(p.population.work(client), p.clock.Now())
	if _, until := p.processors.factor(client, p.clock.Now(), &m); until != engine.Never || m.of != nil ||
		s.Network.Jitter > 0 || s.Charging != nil || s.Devices.Charging == devices.Daily {
		return false
	}
	d := p.population.at(client)
	d.slow = p.energy.slow(client)
	down, up := p.population.message(client, network.Down), p.population.message(client, network.Up)
	for _, m := range [...]*message{&down, &up} {
		m.length = p.hardware.cost.Send(m.way, client, int(d.number), int(d.try), m.bytes).Duration
	}
	need, rounding := p.energy.attempt(down, up, p.processors.computeTime(client))
	return need > float64(p.energy.batteries.Left(client)*(1+1e-9))+rounding
}

// CanSend reports whether a transfer of a client can succeed, alone on its link and at its usual rate.
func (p *prospects) CanSend(way network.Direction, client int, bytes float64) bool {
	t := p.timeouts
	if t == nil || p.hardware.channel != nil {
		return true
	}
	length := p.hardware.cost.Expected(way, client, bytes)
	m := message{client: client, way: way, bytes: bytes, length: length}
	latency := p.hardware.latency(m)
	switch {
	case t.idle > 0 && latency >= t.idle:
		return false
	case t.whole == 0 || length <= t.whole:
		return true
	case latency >= t.whole:
		return false
	}
	each := float64(t.whole-latency) / float64(length-latency)
	return float64(float64(t.config.Resends)*t.keeps(m, each))+each >= 1
}

// stands reports whether the link of a client moves no bytes from now on.
func (l *sharedLinks) stands(client int, way network.Direction) bool {
	mbps, until := l.rate(client, way)
	return mbps == 0 && until == engine.Never
}
