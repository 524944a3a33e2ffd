package calibration

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fedsim/internal/tools/expect"
)

// Where software polls, receive_s and reply_s contain what it takes alike for each message: 0.1 and 0.3 s here, beside
// 1 and 10 MB at 80 and 40 Mbit/s. One size cannot tell them from the rates.
func TestTransfersOfPolls(t *testing.T) {
	log := func(sizes ...float64) *Calibration {
		var text strings.Builder
		text.WriteString(
			"run,round,client,bytes_down,bytes_up,flops,sent_s,seen_s,idle_s,receive_s,wait_s,compute_s,reply_s\n")
		for _, bytes := range sizes {
			for round := range 8 {
				for client := range 2 {
					// The client polls each 3 s, and the server, too.
					idle, receive, reply := 3+3*float64((round+client)%3), 0.1+bytes/10e6, 0.3+bytes/5e6
					seen := 20*float64(round) + 3*math.Ceil((2+receive+1+reply)/3)
					fmt.Fprintf(&text, "%g,%d,%d,%g,%g,1e9,%d,%g,%g,%g,0,%d,%g\n", bytes, round, client, bytes, bytes,
						20*round, seen, idle, receive, 1+client, reply)
				}
			}
		}
		c := expect.Value(Fit(parse(text.String()), Options{Resamples: -1}))(t)
		expect.Must(t, c.Waiting.ClientPollS.Known(), "no polls")
		return c
	}
	for _, k := range log(1e6, 1e7).Clients {
		near(t, "down", k.DownMbps, 80, 1e-6)
		near(t, "up", k.UpMbps, 40, 1e-6)
		near(t, "latency", k.RTTms, 400, 1e-6)
	}
	k := log(1e6).Clients[0]
	near(t, "down, with one size", k.DownMbps, 40, 1e-6)
	expect.That(t, !k.RTTms.Known() && strings.Contains(k.RTTms.Why, "one size of message"),
		"latency with one size: %+v", k.RTTms)
}
