package learning

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/filetest"
)

var update = flag.Bool("update", false, "rewrite the transcripts")

var kindNames = map[engine.Kind]string{
	clients.EventRecharged: "returned", clients.EventDownlinkDone: "download done",
	clients.EventComputeDone: "compute done", clients.EventUplinkDone: "upload done", clients.EventDrop: "strike",
	clients.EventBatteryCheck: "battery", clients.EventTimer: "ask again", clients.EventServerTimer: "round end",
}

// phaseName returns the name of a device's state.
func phaseName(s clients.State) string {
	if s.Failed {
		return "lost"
	}
	return [...]string{
		clients.Idle: "idle", clients.Downlink: "download", clients.Compute: "compute", clients.Uplink: "upload",
		clients.Depleted: "flat",
	}[s.Activity]
}

// TestTranscript compares the events of a few rounds, with the phase that each
// device is in when its event comes, with the files in testdata.
func TestTranscript(t *testing.T) {
	problem := randomProblem(t, features, 6, 4, 9)
	for _, c := range []struct {
		file, what       string
		method, protocol string
		rounds           int
		change           func(*Setup)
		must             []string
	}{
		{
			file:   "deadline.txt",
			what:   "a clock cycle of 0.4 s; devices drop while they compute, and uploads that jitter come late",
			method: "mocha", protocol: protocols.Deadline, rounds: 3,
			change: func(s *Setup) {
				s.Config.DeadlineS, s.Config.Margin = 0.4, 0.2
				s.Network.RTTms, s.Network.Jitter = 60, 0.5
				s.Seed = 5
				s.Faults.DropProbability.All, s.Faults.DropPhase = 0.3, devices.AtCompute
			},
			must: []string{"strike", "1 dropped, 1 late", "canceled"},
		},
		{
			file: "wait-for-all.txt",
			what: "a device that drops in the upload, or whose message is lost, is asked again when its answer is " +
				"due",
			method: "cocoa", protocol: federation.WaitForAll, rounds: 3,
			change: func(s *Setup) {
				s.Network.LossProbability = 0.1
				s.Faults.DropProbability.All, s.Faults.DropPhase = 0.3, devices.AtUpload
				s.Options.(*algorithms.CoCoAOptions).MaxEpochs = 1
			},
			must: []string{"strike", "ask again", "0 late"},
		},
		{
			file: "battery.txt",
			what: "batteries that last for about two rounds and are charged for one; a look that is early does " +
				"nothing",
			method: "mocha", protocol: protocols.Charged, rounds: 6,
			change: func(s *Setup) {
				s.Config.StepsLow, s.Config.StepsHigh = 0.05, 2
				s.Devices.BatteryWh, s.Devices.ChargeW, s.Devices.ReturnLevel = 1.2/3600, 3, 0.5
				s.Devices.InitialCharge, s.Devices.InitialChargeSpread = 0.8, 0.15
			},
			must: []string{"battery", "returned", "flat"},
		},
	} {
		t.Run(c.file, func(t *testing.T) {
			for _, queue := range engine.Queues() {
				var f *Federation
				var out strings.Builder
				fmt.Fprintf(&out, "# %s, %s: %s\n", c.method, c.protocol, c.what)
				line := func(prefix string) func(engine.Event) {
					return func(e engine.Event) {
						who := "server"
						if e.Device >= 0 {
							who = fmt.Sprintf("device %d in %s", e.Device, phaseName(f.clients.State(int(e.Device))))
						}
						fmt.Fprintf(&out, "%s%.6f %s: %s\n", prefix, e.At.Seconds(), kindNames[e.Kind], who)
					}
				}
				f = start(t, world(t, c.method, c.protocol, func(s *Setup) {
					s.Problem = problem
					c.change(s)
					s.Queue = queue
					s.Hooks = &engine.Hooks{Fired: line(""), Canceled: line("  canceled ")}
				}))
				f.clients.Begin()
				for range c.rounds {
					fmt.Fprintf(&out, "\n%.6f round %d begins\n", f.clients.Now().Seconds(), f.server.Rounds()+1)
					r := f.runRound()
					fmt.Fprintf(&out, "%d took part, %d dropped, %d late; %.0f FLOPs, %.0f bytes down, %.0f up\n",
						r.Participants, r.Dropped, r.Late, r.FLOPs, r.BytesDown, r.BytesUp)
				}
				for _, must := range c.must {
					if !strings.Contains(out.String(), must) {
						t.Errorf("the transcript does not show %q", must)
					}
				}
				path := "testdata/" + c.file
				if *update {
					filetest.Write(t, path, out.String())
				}
				want := filetest.Read(t, path)
				if d := cmp.Diff(string(want), out.String()); d != "" {
					t.Errorf("%s with queue %s (run with -update to accept):\n%s", path, queue, d)
				}
			}
		})
	}
}
