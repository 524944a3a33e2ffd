package session

import (
	"slices"
	"testing"

	"fedsim/devices"
	"fedsim/federation"
	"fedsim/federation/learning"
	"fedsim/federation/protocols"
)

// plays lets the protocol play a round.
func plays(t *testing.T, s *Session, round int, all []Message, want []int64, notices ...Notice) {
	t.Helper()
	got, taken, refused, err := s.PlayRound(round, Train, all, nil)
	if err != nil || len(refused) > 0 || !slices.Equal(taken, want) || !slices.Equal(got, notices) {
		t.Fatalf("round %d: %v, taken %v, refused %v, %v; want %v, taken %v", round, got, taken, refused, err, notices,
			want)
	}
	if _, err := s.Close(round, taken, 0); err != nil {
		t.Fatal(err)
	}
}

// Protocols see what polls deliver. The server polls at 0, 0.3 and 0.6 s of a round, and the
// responses arrive at 0.21, 0.36 and 0.22 s.
func TestProtocolsSeeWhatPollsDeliver(t *testing.T) {
	all := []Message{{ID: 1, Work: devices.Work{FLOPs: 200}}, {ID: 2, Client: 1, Work: devices.Work{FLOPs: 350}},
		{ID: 3, Client: 2, Work: devices.Work{FLOPs: 210}}}
	played := func(protocol string, change func(*learning.Setup)) *Session {
		return drivenWorld(t, protocol, func(s *learning.Setup) {
			s.Network.ServerPollS, s.Config.Fit = 0.3, false
			if change != nil {
				change(s)
			}
		})
	}
	first := []Notice{{ID: 1, At: 300 * ms}, {ID: 3, Client: 2, At: 300 * ms}}
	late := Notice{2, 1, 500 * ms, NoticeFailure, 5}

	// A deadline of 0.5 s is between two polls.
	s := played(protocols.Deadline, nil)
	plays(t, s, 1, all, []int64{1, 3}, first[0], first[1], late)

	// A late response that counts is seen when the next round sends its messages.
	s = played(protocols.Deadline, func(s *learning.Setup) { s.Config.Late = federation.Keep })
	plays(t, s, 1, all, []int64{1, 3}, first...)
	plays(t, s, 2, []Message{{ID: 4, Work: devices.Work{FLOPs: 200}}}, []int64{4, 2},
		Notice{ID: 2, Client: 1, At: 500 * ms}, Notice{ID: 4, At: 800 * ms})

	// One response is needed, and the poll delivers two.
	s = played(protocols.First, func(s *learning.Setup) { s.Config.Clients.Count = 1 })
	late.At = 300 * ms
	plays(t, s, 1, all, []int64{1, 3}, first[0], first[1], late)

	s = played(federation.WaitForAll, nil)
	plays(t, s, 1, all, []int64{1, 2, 3}, first[0], first[1], Notice{ID: 2, Client: 1, At: 600 * ms})
}

// A late response that lies at the server needs no battery: it came at 1 s, the battery of its client is empty
// at 3 s, and the next round lets the server poll at 4 s.
func TestPollDeliversLateResponseOfDepletedClient(t *testing.T) {
	s := drivenWorld(t, protocols.Deadline, func(s *learning.Setup) {
		s.Network.ServerPollS, s.Config.Fit, s.Config.Late, s.Devices.ChargeW = 10, false, federation.Keep, 0
		s.Config.DetectS = 0.5 // of failures
		joules(s, 3)
	})
	plays(t, s, 1, []Message{{ID: 1, Work: devices.Work{FLOPs: 1000}}}, nil)
	if notices, end, err := s.Advance(4000*ms, nil); len(notices) > 0 || end != EndedUntil || err != nil {
		t.Fatal(notices, end, err)
	}
	if empty, _ := s.clients.Depleted(0); !empty {
		t.Error("the battery is not empty")
	}
	plays(t, s, 2, []Message{{ID: 2, Client: 1, Work: devices.Work{FLOPs: 100}}}, []int64{1},
		Notice{ID: 1, At: 4000 * ms})
}

// Messages that a driver sends let the server poll at once, and responses that are awaited come
// at polls.
func TestSentMessagesLetTheServerPoll(t *testing.T) {
	s := drivenWorld(t, federation.WaitForAll, func(s *learning.Setup) { s.Network.ServerPollS = 2 })
	sends(t, s, Message{ID: 1, Work: devices.Work{FLOPs: 1000}})
	waits(t, s, nil, 0, 1500*ms, EndedUntil)
	sends(t, s, Message{ID: 2, Client: 1, Work: devices.Work{FLOPs: 100}})
	waits(t, s, nil, 1, 1600*ms, EndedCount, Notice{ID: 1, At: 1500 * ms})
	waits(t, s, nil, 0, 9000*ms, EndedAll, Notice{ID: 2, Client: 1, At: 3500 * ms})
	// A message that expires takes its response from the server.
	sends(t, s, Message{ID: 3, Work: devices.Work{FLOPs: 100}, Expires: 4000 * ms})
	waits(t, s, nil, 0, 9000*ms, EndedAll, Notice{3, 0, 4000 * ms, NoticeExpired, 0})
	sends(t, s, Message{ID: 4, Work: devices.Work{FLOPs: 100}})
	waits(t, s, nil, 0, 9000*ms, EndedAll, Notice{ID: 4, At: 6000 * ms})
}
