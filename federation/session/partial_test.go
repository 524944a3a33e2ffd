package session

import (
	"testing"

	"fedsim/devices"
	"fedsim/federation"
	"fedsim/federation/learning"
)

// A driver that asks for the epochs, and sends their FLOPs, has the events of a run. One
// that does not ask is refused.
func TestSessionsHavePartialWork(t *testing.T) {
	const allEpochs = 20
	for _, partial := range []string{federation.Keep, federation.Drop} {
		s := world(t, "fedavg", federation.WaitForAll, func(s *learning.Setup) {
			set(s.Options, "Epochs", float64(allEpochs))
			s.Config.PartialShare, s.Config.Partial, s.Config.Clients.Count = 0.5, partial, 5
			s.Schedule.Rounds = 30
		})
		want := recordRun(t, s)
		ses := sessionOf(t, s, nil)
		bytes := ses.clients.MessageBytes(s.Shape.Values())
		load := s.Factory.Describe(s.Options, s.Shape).Work
		for h := range s.Schedule.Rounds {
			early := []Message{{ID: 1 << 40, Client: 0}}
			if _, err := ses.Send(h+1, Train, early); err == nil {
				t.Fatal("a message goes out before the epochs are known")
			}
			if _, _, _, err := ses.PlayRound(h+1, Train, early, nil); err == nil {
				t.Fatal("a round is played before the epochs are known")
			}
			chosen, epochs, err := ses.SelectEpochs(h+1, allEpochs)
			if err != nil {
				t.Fatal(err)
			}
			var all []Message
			for i, k := range chosen {
				flops := load.Of(sizes[k], int(epochs[i])*sizes[k])
				if flops != want.flops[h][int(k)] {
					t.Fatalf("round %d, device %d: %d epochs are %g FLOPs, want %g", h+1, k, epochs[i], flops,
						want.flops[h][int(k)])
				}
				all = append(all,
					Message{ID: int64(h*100) + int64(k) + 1, Client: int(k), BytesDown: bytes,
						Work: devices.Work{FLOPs: flops}, BytesUp: bytes})
			}
			_, taken, _, err := ses.PlayRound(h+1, Train, all, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := ses.Close(h+1, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			if of := want.Rounds[h+1]; r.TimeS != of.TimeS || r.Participants != of.Participants || r.Late != of.Late ||
				len(taken) != of.Participants {
				t.Fatalf("round %d: %+v with %d taken, want %+v", h+1, r, len(taken), of)
			}
		}
		if got := ses.Finish(); got.EventHash != want.EventHash {
			t.Errorf("%s: events %x, want %x", partial, got.EventHash, want.EventHash)
		}
		if _, _, err := ses.SelectEpochs(s.Schedule.Rounds+1, 1); err == nil {
			t.Error("one epoch has a part")
		}
	}
}
