package learning

import (
	"math"
	"strings"
	"testing"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/protocols"
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
					s := world(t, method, protocols.Deadline, func(s *Setup) {
						s.Config.DeadlineS, s.Config.Cost = c.deadline, cost
						if cost == federation.Relative {
							// Transfers of half ten passes, whatever is sent.
							s.Network.Profile = "wifi"
							s.Config.DeadlineS *= 5 * 8 * stepFLOPs / rate / transferS
						}
						s.Faults.DropProbability.All, s.Faults.DropPhase = 0, devices.AtUpload
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
						if want := float64(engine.FromSeconds(s.Config.DeadlineS)) * float64(h+1) /
							1e9; !near(r.TimeS, want, 1e-9) {
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
			s := world(t, "mocha", protocols.Deadline, func(s *Setup) {
				s.Config.DeadlineS = 1.1 * transferS
				s.Faults.DropProbability.All, s.Faults.DropPhase = 0.5, where
				s.AnyDeadline = true
				s.Hooks = &engine.Hooks{Fired: func(e engine.Event) {
					if e.Kind == clients.EventDrop && !f.draw(int(e.Device), f.server.Rounds(), 0).Happens {
						t.Errorf("round %d: device %d is struck at %v, but does not drop in this round",
							f.server.Rounds(), e.Device, e.At)
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
