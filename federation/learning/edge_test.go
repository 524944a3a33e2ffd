package learning

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/results"
)

// A clock cycle too short for the downlink, the uplink after it, or a single step
// between them. Every device is late, and the model does not change.
func TestDeadlineTooShort(t *testing.T) {
	for _, c := range []struct {
		name     string
		deadline float64
		down     float64 // share of the download that happens
	}{
		{"an instant", 1e-12, 0},
		{"half the latency", latencyS / 2, 0},
		{"half the download", latencyS + 0.55*(transferS-latencyS), 61. / message}, // of 61.6 bytes, the whole ones
		{"the download alone", transferS, 1},
		{"no upload", 1.5 * transferS, 1},
		{"no step", 2*transferS + 0.99*stepFLOPs/rate, 1},
	} {
		for _, method := range []string{"mocha", "mb-sdca"} {
			for _, cost := range []string{federation.Physical, federation.Relative} {
				t.Run(c.name+"/"+method+"/"+cost, func(t *testing.T) {
					s := world(t, method, federation.Deadline, func(s *Setup) {
						s.Config.DeadlineS, s.Config.Cost = c.deadline, cost
						if cost == federation.Relative {
							// Transfers of half ten passes, whatever is sent.
							s.Network.Profile = "wifi"
							s.Config.DeadlineS *= 5 * 8 * stepFLOPs / rate / transferS
						}
						s.Faults.DropProbability, s.Faults.DropPhase = 0, devices.AtUpload
					})
					if cost == federation.Relative && c.name == "no step" {
						s.Config.DeadlineS = 10*8*stepFLOPs/rate + 0.99*stepFLOPs/rate
					}
					if _, err := New(s); err == nil || !strings.Contains(err.Error(), "no response would ever arrive") {
						t.Errorf("the deadline is not refused: %v", err)
					}
					s.AnyDeadline = true
					f := start(t, s)
					before := f.evaluation.modelHash()
					out := finish(t, f)
					n := f.setup.Clients
					for h, r := range out.Rounds[1:] {
						if r.Late != n || r.Participants != 0 || r.Dropped != 0 || r.FLOPs != 0 || r.BytesUp != 0 {
							t.Errorf("round %d: %+v: all %d devices must be late and do nothing", h+1, r, n)
						}
						down := c.down
						if cost == federation.Relative { // a transfer that knows no latency
							down = math.Floor(message*min(1, c.deadline/transferS)) / message
						}
						if want := float64(n) * message * down; !near(r.BytesDown, want, 1e-6) {
							t.Errorf("round %d: %g bytes down, want %g", h+1, r.BytesDown, want)
						}
						if want := float64(engine.FromSeconds(s.Config.DeadlineS)) * float64(h+1) / 1e9; !near(r.TimeS, want, 1e-9) {
							t.Errorf("round %d ends at %g s, want %g", h+1, r.TimeS, want)
						}
					}
					if out.ModelHash != before || out.Status != results.Done {
						t.Errorf("status %s; the model has changed: %v", out.Status, out.ModelHash != before)
					}
				})
			}
		}
	}
}

// A device without time in the clock cycle waits for the next round. A drop that was
// drawn for it must not happen there.
func TestNoStrikeFromAnEarlierRound(t *testing.T) {
	for _, where := range []string{devices.AtCompute, devices.AtUpload, devices.AtRandom} {
		t.Run(where, func(t *testing.T) {
			var f *Federation
			s := world(t, "mocha", federation.Deadline, func(s *Setup) {
				s.Config.DeadlineS = 1.1 * transferS
				s.Faults.DropProbability, s.Faults.DropPhase = 0.5, where
				s.AnyDeadline = true
				s.Hooks = &engine.Hooks{Fired: func(e engine.Event) {
					if e.Kind == clients.EventDrop && !f.draw(int(e.Device), f.server.Rounds(), 0).Happens {
						t.Errorf("round %d: device %d is struck at %v, but does not drop in this round", f.server.Rounds(), e.Device, e.At)
					}
				}}
			})
			f = start(t, s)
			f.clients.Begin()
			for h := range 30 {
				r := f.runRound()
				if n := f.setup.Clients; r.Late+r.Dropped != n {
					t.Errorf("round %d: %d late and %d dropped of %d", h, r.Late, r.Dropped, n)
				}
				if pending := f.clients.Clock().Pending(); pending != 0 {
					t.Fatalf("round %d leaves %d events behind", h, pending)
				}
			}
		})
	}
}

// On mains no event is pending after a round.
func TestRoundsLeaveNoEventsBehind(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline, federation.Charged} {
		f := start(t, world(t, "mb-sgd", protocol, func(s *Setup) {
			s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 1
			s.Network.Jitter, s.Network.LossProbability, s.Network.RTTms = 2, 0.2, 150
			s.Faults.DropProbability, s.Faults.DropPhase = 0.3, devices.AtRandom
		}))
		f.clients.Begin()
		sum := results.Round{}
		for h := range 60 {
			r := f.runRound()
			if pending := f.clients.Clock().Pending(); pending != 0 {
				t.Fatalf("%s: round %d leaves %d events behind", protocol, h, pending)
			}
			sum.Participants, sum.Dropped, sum.Late = sum.Participants+r.Participants, sum.Dropped+r.Dropped, sum.Late+r.Late
		}
		if sum.Participants == 0 || sum.Dropped == 0 || (sum.Late > 0) != (protocol == federation.Deadline) {
			t.Errorf("%s: %d took part, %d dropped, %d were late in all", protocol, sum.Participants, sum.Dropped, sum.Late)
		}
	}
}

// The clock holds 292 years. A run beyond that stalls with this reason.
func TestEndOfTime(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline, federation.Charged} {
		out := run(t, world(t, "mocha", protocol, func(s *Setup) {
			s.Config.DeadlineS = 1e9
			s.Schedule.Rounds = 60
			s.Options.(*algorithms.MOCHAOptions).Epochs = 1
			if protocol != federation.Deadline {
				s.Devices.ClockGHz = 1e-15 // 1e-6 FLOP/s: over 2e8 s for 8 rows
			}
		}))
		if out.Status != results.Stalled || !strings.Contains(out.Reason, "292 years") {
			t.Errorf("%s: status %s (%s) after %d rounds", protocol, out.Status, out.Reason, len(out.Rounds)-1)
		}
		for h, r := range out.Rounds {
			if h > 0 && (r.TimeS <= out.Rounds[h-1].TimeS || r.Participants != len(sizes)) {
				t.Errorf("%s: round %d ends at %g s after %g s with %d devices", protocol, h, r.TimeS, out.Rounds[h-1].TimeS, r.Participants)
			}
		}
	}
}

// A federation may have one device and one row.
func TestSmallestFederation(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline, federation.Charged} {
		for _, method := range []string{"mocha", "mb-sdca", "mb-sgd"} {
			out := run(t, world(t, method, protocol, func(s *Setup) {
				s.Problem = randomProblem(t, 1, 5)
			}))
			if len(out.Rounds) != 11 || out.Rounds[10].Participants != 1 {
				t.Errorf("%s, %s: %+v", protocol, method, out)
			}
		}
	}
}

// Without faults the counts of a round are the sums over devices. With faults they are
// at most that.
func TestFLOPsAndBytesAreConserved(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline, federation.Charged} {
		for _, method := range []string{"mocha", "cocoa", "mb-sdca", "mb-sgd"} {
			if method == "cocoa" && protocol != federation.WaitForAll {
				continue
			}
			for _, faults := range []bool{false, true} {
				if faults && protocol == federation.WaitForAll {
					continue // attempts are repeated: TestWaitForAllAsksAgain
				}
				t.Run(fmt.Sprintf("%s/%s/faults=%v", protocol, method, faults), func(t *testing.T) {
					f := start(t, world(t, method, protocol, func(s *Setup) {
						if faults {
							s.Network.Jitter, s.Network.LossProbability = 0.5, 0.2
							s.Faults.DropProbability, s.Faults.DropPhase = 0.3, devices.AtRandom
						}
					}))
					f.clients.Begin()
					less := false
					for h := range 20 {
						r := f.runRound()
						n, flops := float64(f.setup.Clients), 0.0
						for k := range f.setup.Clients {
							if f.server.Attempt(int(k)).Solved {
								flops += f.clients.State(k).FLOPs
							}
						}
						bytes := n * message
						if faults {
							less = less || r.FLOPs < flops && r.BytesUp < bytes && r.BytesDown < bytes
							if r.FLOPs > flops*(1+1e-12) || r.BytesDown > bytes || r.BytesUp > bytes {
								t.Errorf("round %d: %g FLOPs, %g bytes down, %g up; at most %g, %g", h, r.FLOPs, r.BytesDown, r.BytesUp, flops, bytes)
							}
							// Responses that arrived were computed and sent in full.
							if least := float64(r.Participants) * message; r.BytesDown < least || r.BytesUp < least {
								t.Errorf("round %d: %g bytes down, %g up for %d answers", h, r.BytesDown, r.BytesUp, r.Participants)
							}
						} else if !near(r.FLOPs, flops, 1e-14) || r.BytesDown != bytes || r.BytesUp != bytes || flops == 0 {
							t.Errorf("round %d: %g FLOPs, %g bytes down, %g up; want %g, %g", h, r.FLOPs, r.BytesDown, r.BytesUp, flops, bytes)
						}
					}
					if less != faults {
						t.Errorf("faults have cost a round FLOPs and bytes: %v", less)
					}
				})
			}
		}
	}
}
