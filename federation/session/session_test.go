package session

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/learning"
	"fedsim/federation/protocols"
	"fedsim/results"
)

// recorded is a run in timing mode with the FLOPs of its local work, by round and
// device, and what happened to its clients.
type recorded struct {
	*learning.Outcome
	flops  []map[int]float64
	events []engine.Event
}

// recordRun runs a setup in timing mode.
func recordRun(t testing.TB, s learning.Setup) recorded {
	t.Helper()
	r := recorded{}
	s.Hooks = &engine.Hooks{Fired: func(e engine.Event) { r.events = append(r.events, e) }}
	build := s.Factory.New
	s.Factory.New = func(a algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
		inner, err := build(a, o)
		return recorder{inner, &r}, err
	}
	s.Pool = nil
	r.Outcome = run(t, s)
	return r
}

type recorder struct {
	algorithms.Algorithm
	r *recorded
}

func (r recorder) Begin() (algorithms.Sent, error) {
	r.r.flops = append(r.r.flops, map[int]float64{})
	return r.Algorithm.Begin()
}

func (r recorder) Solve(q algorithms.Request) algorithms.Response {
	w := r.Algorithm.Solve(q)
	r.r.flops[len(r.r.flops)-1][q.Device] = w.FLOPs
	return w
}

// sessionOf returns a session in the world of a setup.
func sessionOf(t testing.TB, s learning.Setup, events *[]engine.Event) *Session {
	t.Helper()
	if events != nil {
		s.Hooks = &engine.Hooks{Fired: func(e engine.Event) { *events = append(*events, e) }}
	}
	ses, err := New(driven(s))
	if err != nil {
		t.Fatal(err)
	}
	return ses
}

// worlds are scenarios of timing mode.
var worlds = []struct {
	name   string
	change func(*learning.Setup)
}{
	{"plain", func(*learning.Setup) {}},
	{"drops, jitter and losses", func(s *learning.Setup) {
		s.Faults.DropProbability.All, s.Faults.DropPhase = 0.2, devices.AtRandom
		s.Network.Jitter, s.Network.LossProbability = 0.3, 0.05
		s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 0.4
	}},
	{"small batteries", func(s *learning.Setup) {
		joules(s, 5.5)
		s.Devices.ChargeW = 10
	}},
	{"batteries", func(s *learning.Setup) {
		joules(s, 12)
		s.Devices.ChargeW = 10
		s.Network.Jitter = 0.2
	}},
	{"hubs", func(s *learning.Setup) {
		s.Network.HubSize = 3
		s.Faults.DropProbability.All = 0.1
	}},
	{"contention", func(s *learning.Setup) {
		s.Network.ServerDownMbps, s.Network.ServerUpMbps = 0.5, 0.5
		s.Network.Jitter = 0.3
	}},
	{"traces", func(s *learning.Setup) {
		s.Availability = halves{}
		s.Faults.OnReturn = devices.Resume
	}},
	{"polls", func(s *learning.Setup) {
		polls(s)
		s.Network.Jitter, s.Network.LossProbability = 0.3, 0.05
		joules(s, 12)
		s.Devices.ChargeW = 10
	}},
	{"polls and traces", func(s *learning.Setup) {
		polls(s)
		s.Availability = halves{}
	}},
	{"cohorts", func(s *learning.Setup) {
		s.Config.Clients.Count = 4
		s.Faults.DropProbability.All = 0.2
		s.Network.Jitter = 0.3
	}},
}

// polls lets messages, launches and responses wait for polls, and adds launches and headers.
func polls(s *learning.Setup) {
	n := &s.Network
	n.ClientPollS, n.LaunchPollS, n.ServerPollS = 0.13, 0.03, 0.07
	n.LaunchS, n.ColdStartS, n.WireFactor, n.BurstBytes = 0.02, 0.1, 1.05, 40
}

// halves lets every device but the first be away for a part of each 3 seconds.
type halves struct{}

func (halves) Available(client int, now engine.Time) (bool, engine.Time) {
	const second = engine.Time(1e9)
	if client == 0 {
		return true, engine.Never
	}
	shift := engine.Time(client) * 170e6
	phase := (now + shift) % (3 * second)
	if phase < 2*second {
		return true, now + 2*second - phase
	}
	return false, now + 3*second - phase
}

// A driver that lets the scenario's protocol play its rounds has the events and the
// rounds of timing mode.
func TestPoliciesPlayTheRoundsOfTimingMode(t *testing.T) {
	for _, w := range worlds {
		for _, protocol := range []string{federation.WaitForAll, protocols.Deadline, protocols.First,
			protocols.Charged} {
			for _, late := range []string{federation.Drop, federation.Keep, "fit"} {
				if late == federation.Keep && (protocol == federation.WaitForAll || w.name == "hubs") ||
					late == "fit" && protocol != protocols.Deadline {
					continue
				}
				s := world(t, "fedavg", protocol, func(s *learning.Setup) {
					w.change(s)
					s.Config.Fit = late == "fit"
					// a driver knows the FLOPs of a step alone: the charge is a whole mini-batch
					if protocol == protocols.Charged {
						reflect.ValueOf(s.Options).Elem().FieldByName("Batch").SetInt(int64(slices.Min(sizes)))
					}
					if late == federation.Keep {
						s.Config.Late = late
					}
					if protocol == protocols.First {
						if s.Config.Clients.Count == 0 {
							s.Config.Clients.Count = 4
						}
						s.Config.Over = 1.5
						s.Config.Retries = 1
					}
					s.Schedule.Rounds = 12
					s.AnyDeadline = true
				})
				name := fmt.Sprintf("%s, %s, %s", w.name, protocol, late)
				want := recordRun(t, s)
				var got []results.Round
				ses := sessionOf(t, s, nil)
				play(t, ses, want, func(r results.Round, _ []Notice) { got = append(got, r) })
				if err := same(got, want.Rounds[1:]); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if out := ses.Finish(); out.EventHash != want.EventHash || out.Events != want.Events {
					t.Errorf("%s: %d events %x, timing mode %d events %x", name, out.Events, out.EventHash, want.Events,
						want.EventHash)
				}
			}
		}
	}
}

// messagesOf returns the messages of timing mode's round to devices.
func messagesOf(ses *Session, want recorded, round int, to []int32) []Message {
	bytes := ses.clients.MessageBytes(features)
	var all []Message
	for _, client := range to {
		all = append(all,
			Message{ID: int64(1000*round) + int64(client), Client: int(client), BytesDown: bytes,
				Work: devices.Work{FLOPs: want.flops[round-1][int(client)]}, BytesUp: bytes})
	}
	return all
}

// play plays the rounds of timing mode by the protocol.
func play(t testing.TB, ses *Session, want recorded, seen func(results.Round, []Notice)) {
	t.Helper()
	for round := 1; round <= len(want.flops); round++ {
		cohort, err := ses.Select(round)
		if err != nil {
			t.Fatal(err)
		}
		notices, _, _, err := ses.PlayRound(round, Train, messagesOf(ses, want, round, cohort), nil)
		var why *Error
		if errors.As(err, &why) && why.Code == CodeStalled && round == len(want.Rounds) &&
			want.Status == results.Stalled && why.Text == want.Reason {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := ses.Close(round, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		seen(r, notices)
	}
}

// clientEvents returns the events of clients, without those of the server's timer.
func clientEvents(all []engine.Event) []engine.Event {
	all = slices.Clone(all)
	for i := range all {
		all[i].Seq = 0
	}
	return slices.DeleteFunc(all, func(e engine.Event) bool { return e.Kind == clients.EventServerTimer })
}
