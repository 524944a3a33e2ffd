package experiment

import (
	"fmt"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/network"
)

// modelChannel lets a link model that is a network.Channel set latency and losses of links, after the traces of a run.
func modelChannel(s *clients.System, c *network.Config, model any, start func() (any, error)) {
	if m, ok := model.(network.Channel); ok {
		s.Channel = combinedChannel{m, s.Channel, newWatch(fmt.Sprintf("link model %q", c.Model), s.Clients, start)}
	}
}

type combinedChannel struct {
	of, other network.Channel
	seen      *watch
}

func (cc combinedChannel) Channel(device int, d network.Direction, rttMs, loss float64, at engine.Time) (rtt,
	lost float64) {
	if cc.other != nil {
		rttMs, loss = cc.other.Channel(device, d, rttMs, loss, at)
	}
	rtt, lost = cc.of.Channel(device, d, rttMs, loss, at)
	if !(rtt >= 0 && rtt <= 1e9 && lost >= 0 && lost <= 1) {
		panic(fmt.Sprintf("model %s: channel of device %d at %v is %g ms, %g lost: must be in [0, 1e9] and [0, 1]",
			cc.seen.model, device, at, rtt, lost))
	}
	cc.seen.note(device, call{method: "Channel", at: at, usual: rttMs, state: devices.State{loss, float64(d)},
		value: rtt, other: lost, until: engine.Never})
	return rtt, lost
}

func (cc combinedChannel) checkAgain() error {
	return cc.seen.check(true, func(of any, device int, c *call) {
		d := network.Direction(c.state[1])
		c.value, c.other = of.(network.Channel).Channel(device, d, c.usual, c.state[0], c.at)
	})
}
