package experiment

import (
	"fmt"
	"math"
	"strings"

	"fedsim/experiment/scenario"
	"fedsim/federation/learning"
	"fedsim/internal/tools/lognormal"
	"fedsim/network"
)

// timeoutNote says which share of first connections a run is expected to give up by network.wire.timeout_s, each alone
// on its link at its usual rate, and which share of first tries by the answer timeout of its protocol; empty without
// these keys. Rates that vary, shared links and idle timeouts come on top.
func timeoutNote(run *scenario.RunSpec, f *learning.Federation) string {
	connection, answer := run.Settings.Network.TimeoutS, run.Settings.Federation.AnswerTimeoutS
	if connection == 0 && answer == 0 {
		return ""
	}
	var given [2]float64 // by network.Direction
	late := 0.0
	jitter, c := lognormal.Of(run.Settings.Network.Jitter), f.Clients()
	each := 1 / float64(c.Len())
	for client := range c.Len() {
		_, down, up := f.Usual(client)
		for way, bytes := range [...]float64{network.Down: down, network.Up: up} {
			length := c.Links().Expected(network.Direction(way), client, bytes).Seconds()
			given[way] += float64(jitter.Above(connection/length) * each)
		}
		if f.UsualResponse(client).Seconds() > answer {
			late += each
		}
	}
	var says []string
	if connection > 0 {
		says = append(says, fmt.Sprintf("network.wire.timeout_s = %g gives up %s of the downlinks and %s of the "+
			"uplinks on their first connection", connection, percent(given[network.Down]), percent(given[network.Up])))
	}
	if answer > 0 {
		says = append(says, fmt.Sprintf("federation.protocol_options.answer_timeout_s = %g gives up %s of the first "+
			"tries", answer, percent(late)))
	}
	return fmt.Sprintf("run %s: %s, each alone on its link at its usual rate", run.ID, strings.Join(says, ", and "))
}

// percent returns a share with three digits.
func percent(share float64) string { return fmt.Sprintf("%.3g %%", math.Round(1e5*share)/1e3) }
