package experiment

import (
	"fmt"
	"math"

	"fedsim/experiment/scenario"
	"fedsim/federation/learning"
	"fedsim/internal/tools/lognormal"
	"fedsim/network"
)

// timeoutNote says which share of first connections a run is expected to give up by network.wire.timeout_s, each alone
// on its link at its usual rate; empty without the key. Rates that vary, shared links and idle timeouts come on top.
func timeoutNote(run *scenario.RunSpec, f *learning.Federation) string {
	net := &run.Settings.Network
	if net.TimeoutS == 0 {
		return ""
	}
	var given [2]float64 // by network.Direction
	jitter, c := lognormal.Of(net.Jitter), f.Clients()
	for client := range c.Len() {
		_, down, up := f.Usual(client)
		for way, bytes := range [...]float64{network.Down: down, network.Up: up} {
			length := c.Links().Expected(network.Direction(way), client, bytes).Seconds()
			given[way] += jitter.Above(net.TimeoutS/length) / float64(c.Len())
		}
	}
	return fmt.Sprintf("run %s: network.wire.timeout_s = %g gives up %s of the downlinks and %s of the uplinks on "+
		"their first connection, each alone on its link at its usual rate", run.ID, net.TimeoutS,
		percent(given[network.Down]), percent(given[network.Up]))
}

// percent returns a share with three digits.
func percent(share float64) string { return fmt.Sprintf("%.3g %%", math.Round(1e5*share)/1e3) }
