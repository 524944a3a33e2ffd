package clients

import (
	"fedsim/engine"
	"fedsim/network"
)

// waiting is what messages and responses wait for that is neither a transfer nor work: polls
// of clients, of their launchers and of the server. A period of 0 means that nothing waits.
//
// A client polls from a phase on until its first reply, and then each period after the end of
// its last one. A poll takes nothing, and a message that is there at the instant of a poll is
// polled. The wait of a client is a phase of its attempt. That of a response is not: it lies
// at the server while its client is idle.
type waiting struct {
	config                                   *network.RuntimeConfig
	seed                                     uint64
	clientPeriod, launchPeriod, serverPeriod engine.Time

	firstPoll []engine.Time // by client, one of its polls: later ones follow by periods; nil: there are none
}

func newWaiting(s *Setup) waiting {
	if s.NoMessages {
		return waiting{}
	}
	r := s.Network.InForce()
	w := waiting{
		config: &s.Network.RuntimeConfig, seed: s.Seed,
		clientPeriod: engine.FromSeconds(r.ClientPollS), launchPeriod: engine.FromSeconds(r.LaunchPollS),
		serverPeriod: engine.FromSeconds(r.ServerPollS),
	}
	if w.clientPeriod > 0 {
		w.firstPoll = make([]engine.Time, s.Clients)
		for client := range w.firstPoll {
			w.firstPoll[client] = w.config.FirstPoll(network.MessagePoller, w.seed, client, w.clientPeriod)
		}
	}
	return w
}

// nextPoll returns the first poll that ends a phase of waiting of a client, at or after an
// instant: that instant if nothing waits.
func (w *waiting) nextPoll(client int, p phase, at engine.Time) engine.Time {
	switch {
	case p == polling && w.clientPeriod > 0:
		return network.NextPoll(w.firstPoll[client], w.clientPeriod, at)
	case p == launching && w.launchPeriod > 0:
		return network.NextPoll(w.config.FirstPoll(network.LaunchPoller, w.seed, client, w.launchPeriod),
			w.launchPeriod, at)
	default:
		return at
	}
}

// restart lets a client, which has sent a reply at an instant, poll again a period later.
func (w *waiting) restart(client int, now engine.Time) {
	if w.clientPeriod > 0 {
		w.firstPoll[client] = now.Add(w.clientPeriod)
	}
}

// SetPoll sets when a client polls for messages next, at or after now: later polls follow by
// periods. It does nothing where messages wait for no poll.
func (w *waiting) SetPoll(client int, at engine.Time) {
	if w.clientPeriod > 0 {
		w.firstPoll[client] = at
	}
}

// MeanLaunchWait returns how long a message waits on its client on average: half a period.
func (w *waiting) MeanLaunchWait() engine.Time { return w.launchPeriod / 2 }

// MeanPollWait returns how long a message and its response together lie at the server on
// average until they are polled for: half a period each.
func (w *waiting) MeanPollWait() engine.Time { return (w.clientPeriod / 2).Add(w.serverPeriod / 2) }

// SeenAfter returns when the server sees a response that arrives so long after the messages
// of its round were sent: at a poll.
func (w *waiting) SeenAfter(span engine.Time) engine.Time {
	if w.serverPeriod == 0 {
		return span
	}
	return network.NextPoll(0, w.serverPeriod, span)
}

// await lets a client begin a phase of waiting, unless its poll is now.
func (c *Clients) await(client int, p phase) {
	now := c.Now()
	switch {
	case c.nextPoll(client, p, now) > now:
		c.enter(client, p)
	case p == polling:
		c.enter(client, downlink)
	default:
		c.compute(client, now)
	}
}

// wait lets a client wait for the next poll of its phase.
func (c *Clients) wait(client int) {
	d, now := c.at(client), c.Now()
	d.began = now
	c.draw(client, c.idle(client))
	at := c.nextPoll(client, d.phase, now)
	if d.phase.redials() {
		at = max(now, c.timeouts.each.At(client).redial)
	}
	d.next = c.engine.Schedule(at, EventTimer, client).Seq()
}

// leaveWait ends the wait of a client; complete is true at its poll.
func (c *Clients) leaveWait(client int, complete bool) {
	d := c.at(client)
	if !complete {
		c.engine.CancelSeq(client, d.next)
	}
	if c.recorder.written() {
		c.recorder.endWork(client, d.began, Entry{})
	}
}

// timer hears that the time of a client has come: its poll, or that of SetTimer, which the client may have been asked
// again since; or the server's poll.
func (c *Clients) timer(client int, seq uint32) {
	if client == engine.Server {
		c.inbox.see()
		return
	}
	d := c.at(client)
	switch p := d.phase; {
	case c.limits.fires(client, seq):
		c.giveUp(client)
	case c.timeouts.fires(client, seq):
		c.timeOut(client)
	case p.waits() && d.next != seq:
		c.listener.Timer(client)
	case p.redials():
		c.leave(client, true)
		c.redialed(client)
	case p == polling:
		c.leave(client, true)
		c.enter(client, downlink)
	case p == launching:
		c.leave(client, true)
		c.compute(client, d.began)
	default:
		c.listener.Timer(client)
	}
}
