package clients

import (
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

// Obstacle returns why a client can never respond. A battery that empties while a client waits in vain is not the
// cause: it comes last.
func (c *Clients) Obstacle(client int) Obstacle {
	now := c.Now()
	if c.at(client).is(unavailable) {
		if present, until := c.setup.Availability.Available(client, now); !present && until == engine.Never {
			return AwayForever
		}
	}
	if c.flows != nil && (c.flows.stands(client, network.Down) || c.flows.stands(client, network.Up)) {
		return NoRate
	}
	m := c.cursor(c.work(client), now)
	if factor, until := c.factor(client, now, &m); factor == 0 && until == engine.Never {
		return NoSpeed
	}
	if empty, charged := c.Depleted(client); empty && !charged {
		return NeverCharged
	}
	return NoObstacle
}

// stands reports whether the link of a client moves no bytes from now on.
func (l *sharedLinks) stands(client int, way network.Direction) bool {
	mbps, until := l.rate(client, way)
	return mbps == 0 && until == engine.Never
}
