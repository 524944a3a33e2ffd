package session

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/learning"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/rng"
	"fedsim/results"
)

// driven returns a session of the world of the tests. A message of 0 bytes takes 5 ms each
// way, and 1000 FLOPs take one second.
func drivenWorld(t testing.TB, protocol string, change func(*learning.Setup)) *Session {
	t.Helper()
	return sessionOf(t, world(t, "fedavg", protocol, func(s *learning.Setup) {
		s.AnyDeadline = true
		if change != nil {
			change(s)
		}
	}), nil)
}

const ms = engine.Time(1e6)

// sends sends messages that must not be refused.
func sends(t testing.TB, s *Session, all ...Message) {
	t.Helper()
	if refused, err := s.Send(s.server.Rounds()+1, Train, all); err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
}

// waits waits, and compares what happens.
func waits(t testing.TB, s *Session, ids []int64, count int, until engine.Time, end WaitEnd, want ...Notice) {
	t.Helper()
	got, over, err := s.Wait(ids, count, until, nil)
	if err != nil || over != end || !slices.Equal(got, want) {
		t.Fatalf("%v %v %v, want %v %v", got, over, err, want, end)
	}
}

// A second message to a client waits for its turn. A wait that ends at a time, or with a
// count, leaves the rest to the next one.
func TestMessagesToAClientTakeTurns(t *testing.T) {
	s := drivenWorld(t, federation.WaitForAll, nil)
	sends(t, s, Message{ID: 1, Work: devices.Work{FLOPs: 1000}}, Message{ID: 2, Work: devices.Work{FLOPs: 500}},
		Message{ID: 3, Client: 1, Work: devices.Work{FLOPs: 3000}})
	waits(t, s, nil, 0, 1000*ms, EndedUntil)
	waits(t, s, []int64{1, 2}, 1, engine.Never, EndedCount, Notice{ID: 1, At: 1010 * ms})
	waits(t, s, []int64{1}, 0, engine.Never, EndedAll)
	waits(t, s, []int64{3}, 0, engine.Never, EndedAll, Notice{ID: 2, At: 1520 * ms},
		Notice{ID: 3, Client: 1, At: 3010 * ms})
	r, err := s.Close(1, []int64{1, 3}, 0)
	if err != nil || r.Participants != 2 || r.Late != 1 || r.FLOPs != 4500 || r.TimeS != 3.01 || !math.IsNaN(r.Primal) {
		t.Fatalf("%+v %v", r, err)
	}
}

// The driver learns of a failure engine.detect_s after it, unless the message expires
// before. A canceled message has no notice, and its client continues with the next.
func TestFailuresAreDetectedLate(t *testing.T) {
	s := drivenWorld(t, protocols.Deadline, func(s *learning.Setup) {
		s.Faults.Never, s.Faults.DropPhase = []int{1, 2}, devices.AtStart
		s.Config.DetectS = 2
	})
	if s.DetectAfter() != 2000*ms {
		t.Fatal(s.DetectAfter())
	}
	sends(t, s, Message{ID: 1, Work: devices.Work{FLOPs: 5000}}, Message{ID: 2, Client: 1},
		Message{ID: 3, Client: 2, Expires: 1500 * ms},
		Message{ID: 4, Client: 3, Work: devices.Work{FLOPs: 1000}, Expires: 800 * ms},
		Message{ID: 5, Client: 1, Expires: 1000 * ms}, Message{ID: 6, Client: 4, Work: devices.Work{FLOPs: 900}})
	waits(t, s, nil, 3, engine.Never, EndedCount, Notice{4, 3, 800 * ms, NoticeExpired, 0},
		Notice{6, 4, 910 * ms, NoticeResponse, 0}, Notice{5, 1, 1000 * ms, NoticeExpired, 0})
	waits(t, s, []int64{2, 3}, 0, engine.Never, EndedAll, Notice{3, 2, 1500 * ms, NoticeExpired, 0},
		Notice{2, 1, 2000 * ms, NoticeFailure, clients.DroppedOut})
	sends(t, s, Message{ID: 7, Work: devices.Work{FLOPs: 100}})
	if err := s.Cancel([]int64{1, 2}); err != nil {
		t.Fatal(err)
	}
	waits(t, s, nil, 0, engine.Never, EndedAll, Notice{7, 0, 2110 * ms, NoticeResponse, 0})
	r, err := s.Close(1, []int64{6, 7}, 0)
	if err != nil || r.Participants != 2 || r.Dropped != 2 || r.Late != 2 || r.FLOPs != 1995+795+900+100 {
		t.Fatalf("%+v %v", r, err)
	}
}

// An undecided message stops when it has arrived, and continues after Work, with the draws
// of one that was decided from the start.
func TestWorkMayBeDecidedLate(t *testing.T) {
	change := func(s *learning.Setup) {
		s.Network.Jitter, s.Faults.DropProbability.All, s.Faults.DropPhase = 0.5, 0.3, devices.AtCompute
	}
	early, late := drivenWorld(t, protocols.Deadline, change), drivenWorld(t, protocols.Deadline, change)
	for id := range int64(40) {
		m := Message{ID: id, Client: int(id) % len(sizes), BytesDown: 300, Work: devices.Work{FLOPs: 700}, BytesUp: 200}
		sends(t, early, m)
		m.Undecided, m.FLOPs, m.BytesUp = true, 0, 0
		sends(t, late, m)
		var want, got []Notice
		want, _, err := early.Wait(nil, 0, engine.Never, want)
		for end := EndedWork; end == EndedWork && err == nil; {
			got, end, err = late.Wait(nil, 0, engine.Never, got)
			if end == EndedWork {
				_, _, moved := late.Advance(late.Now()+1, nil)
				if code := codeOf(moved); late.OpenWork() != 1 || code != CodeOpenWork {
					t.Fatalf("the clock moves with open work: %v", moved)
				}
				got = got[:len(got)-1]
				err = late.Work(id, devices.Work{FLOPs: 700}, 200)
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("message %d: %v, decided before %v, %v", id, got, want, err)
		}
	}
	if a, b := early.Finish(), late.Finish(); a.EventHash != b.EventHash {
		t.Errorf("events %x, decided before %x", b.EventHash, a.EventHash)
	}
}

// A response at the instant at which its message expires is in time, and a wait for
// others goes on.
func TestResponsesAtTheLastInstantAreInTime(t *testing.T) {
	s := drivenWorld(t, federation.WaitForAll, nil)
	sends(t, s, Message{ID: 1, Work: devices.Work{FLOPs: 1000}, Expires: 1010 * ms},
		Message{ID: 2, Client: 1, Work: devices.Work{FLOPs: 2000}})
	waits(t, s, nil, 0, engine.Never, EndedAll, Notice{ID: 1, At: 1010 * ms}, Notice{ID: 2, Client: 1, At: 2010 * ms})
}

// Messages of a round to one client have draws of their own, and those of the next round
// do not depend on how many there were.
func TestMessagesOfARoundHaveTheirOwnDraws(t *testing.T) {
	jitter := func(s *learning.Setup) { s.Network.Jitter = 0.5 }
	took := func(messages int) (all []engine.Time) {
		s := drivenWorld(t, federation.WaitForAll, jitter)
		for i := range int64(messages) {
			before := s.Now()
			sends(t, s, Message{ID: i})
			waits(t, s, nil, 0, engine.Never, EndedAll, Notice{ID: i, At: s.clients.Due(0)})
			all = append(all, s.Now()-before)
		}
		if _, err := s.Close(1, nil, 0); err != nil {
			t.Fatal(err)
		}
		before := s.Now()
		sends(t, s, Message{ID: 100})
		waits(t, s, nil, 0, engine.Never, EndedAll, Notice{ID: 100, At: s.clients.Due(0)})
		return append(all, s.Now()-before)
	}
	one, three := took(1), took(3)
	if one[0] != three[0] || one[1] != three[3] || three[0] == three[1] || three[1] == three[2] {
		t.Errorf("one message takes %v, three take %v", one, three)
	}
}

// A message that waits for its turn and is canceled with the one before it is never sent.
func TestCanceledMessagesAreNotSent(t *testing.T) {
	journal := &counter{}
	s := drivenWorld(t, federation.WaitForAll, func(s *learning.Setup) { s.Journal = journal })
	sends(t, s, Message{ID: 1, Work: devices.Work{FLOPs: 1000}}, Message{ID: 2, Work: devices.Work{FLOPs: 1000}})
	waits(t, s, nil, 0, 100*ms, EndedUntil)
	if err := s.Cancel([]int64{1, 2}); err != nil || journal.late != 1 {
		t.Errorf("%d late, %v", journal.late, err)
	}
	waits(t, s, nil, 0, engine.Never, EndedAll)
}

// A late message that the protocol would take in a later round fails when its battery is
// empty: the driver learns of it without another round.
func TestLateMessagesFailBetweenRounds(t *testing.T) {
	s := drivenWorld(t, protocols.Deadline, func(s *learning.Setup) {
		s.Config.Late, s.Config.Retries, s.Config.Fit, s.Config.DetectS = federation.Keep, 1, false, 3
		s.Devices.ChargeW, s.Devices.Charging = 0, devices.WhenDepleted
		joules(s, 2)
	})
	notices, taken, _, err := s.PlayRound(1, Train, []Message{{ID: 1, Work: devices.Work{FLOPs: 5000}}}, nil)
	if err != nil || len(notices)+len(taken) > 0 || s.Now() != 500*ms {
		t.Fatal(notices, taken, err)
	}
	notices, end, err := s.Wait(nil, 0, engine.Never, nil)
	if err != nil || end != EndedAll || len(notices) != 1 || notices[0].Why != clients.BatteryDepleted ||
		s.Now() != 8010*ms {
		t.Error(notices, end, err, s.Now())
	}
}

// Steps and memory traffic of messages take time, also of those whose work comes late and of those
// of a round that a protocol plays: 2 steps of 0.1 s and 10^8 bytes at 4 s a gigabyte.
func TestMessagesHaveOverheads(t *testing.T) {
	slow := devices.Work{FLOPs: 1000, Steps: 2, Traffic: 1e8}
	s := drivenWorld(t, federation.WaitForAll,
		func(s *learning.Setup) { s.Devices.StepS, s.Devices.TrafficSPerGB = 0.1, 4 })
	sends(t, s, Message{ID: 1, Work: slow}, Message{ID: 2, Client: 1, Undecided: true},
		Message{ID: 3, Client: 2, Work: devices.Work{FLOPs: 1000}})
	waits(t, s, nil, 0, engine.Never, EndedWork, Notice{ID: 2, Client: 1, At: 5 * ms, Kind: NoticeWork})
	if err := s.Work(2, slow, 0); err != nil {
		t.Fatal(err)
	}
	waits(t, s, nil, 0, engine.Never, EndedAll,
		Notice{ID: 3, Client: 2, At: 1010 * ms}, Notice{ID: 1, At: 1610 * ms}, Notice{ID: 2, Client: 1, At: 1610 * ms})
	if _, err := s.Close(1, nil, 0); err != nil {
		t.Fatal(err)
	}
	notices, _, _, err := s.PlayRound(2, Train, []Message{{ID: 4, Work: slow}}, nil)
	if want := []Notice{{ID: 4, At: 3220 * ms}}; err != nil || !slices.Equal(notices, want) {
		t.Error(notices, err)
	}
	for _, w := range []devices.Work{{Steps: -1}, {Traffic: math.Inf(1)}} {
		var refusal *Error
		if _, err := s.Send(2, Train, []Message{{ID: 9, Work: w}}); !errors.As(err, &refusal) ||
			refusal.Code != CodeValue {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

// The driver learns of a battery that is empty within a round when the round ends.
func TestFailuresOfARoundComeAtItsEnd(t *testing.T) {
	s := drivenWorld(t, protocols.Deadline, func(s *learning.Setup) {
		s.Config.Fit, s.Config.DetectS = false, 0
		joules(s, 0.4)
	})
	notices, _, _, err := s.PlayRound(1, Train, []Message{{ID: 1, Work: devices.Work{FLOPs: 5000}}}, nil)
	if want := []Notice{{ID: 1, At: 500 * ms, Kind: NoticeFailure, Why: clients.BatteryDepleted}}; err != nil ||
		!slices.Equal(notices, want) {
		t.Error(notices, err)
	}
}

// Messages of a round that a protocol plays have sizes of their own.
func TestMessagesOfAPolicyHaveTheirSizes(t *testing.T) {
	s := drivenWorld(t, federation.WaitForAll, nil)
	notices, _, _, err := s.PlayRound(1, Train,
		[]Message{{ID: 1, Client: 1, BytesDown: 1000}, {ID: 2, BytesDown: 500, BytesUp: 1000}, {ID: 3, Client: 2}}, nil)
	if want := []Notice{{ID: 3, Client: 2, At: 10 * ms}, {ID: 1, Client: 1, At: 18 * ms},
		{ID: 2, At: 22 * ms}}; err != nil || !slices.Equal(notices, want) {
		t.Error(notices, err)
	}
	if r, err := s.Close(1, nil, 0); err != nil || r.BytesDown != 1500 || r.BytesUp != 1000 {
		t.Errorf("%+v %v", r, err)
	}
}

// The first timer is the earliest, whatever is set and stopped.
func TestTimersAreInOrder(t *testing.T) {
	q := queue{messages: make([]pending, 50)}
	for i := range q.messages {
		q.messages[i] = pending{Message: Message{ID: int64(i)}, timer: -1}
	}
	h := timers{queue: &q}
	draw := rng.New(1, rng.Solve, 0, 0)
	for range 5000 {
		place := int32(draw.IntN(len(q.messages)))
		if len(h.heap) > 20 {
			place = h.heap[0]
			h.stop(place)
		} else if draw.IntN(3) > 0 {
			h.set(place, engine.Time(draw.IntN(1000)))
		} else {
			h.stop(place)
		}
		want, n := engine.Never, 0
		for i := range q.messages {
			if m := &q.messages[i]; m.timer >= 0 {
				want = min(want, m.due)
				n++
			}
		}
		if h.first() != want || len(h.heap) != n {
			t.Fatalf("the first of %d timers is at %d, want %d of %d", len(h.heap), h.first(), want, n)
		}
	}
}

// codeOf returns the code of an error; empty for others.
func codeOf(err error) Code {
	var e *Error
	if !errors.As(err, &e) {
		return ""
	}
	return e.Code
}

// A message to a client that is not available is refused. The next change is known.
func TestMessagesToUnavailableClientsAreRefused(t *testing.T) {
	s := drivenWorld(t, protocols.Deadline, func(s *learning.Setup) { s.Availability = halves{} })
	if _, _, err := s.Advance(1500*ms, nil); err != nil {
		t.Fatal(err)
	}
	// Client k is away from 2 s - 170 ms k to 3 s - 170 ms k.
	available, next := s.Available()
	if want := []int32{0, 1, 2}; !slices.Equal(available, want) || next != 1660*ms {
		t.Errorf("%v until %d, want %v", available, next, want)
	}
	refused, err := s.Send(1, Train, []Message{{ID: 1}, {ID: 2, Client: 3}})
	if err != nil || len(refused) != 1 || refused[0] != (Refusal{ID: 2, Why: clients.BecameUnavailable}) ||
		refused[0].String() != "unavailable" {
		t.Fatal(refused, err)
	}
	if err := s.Cancel([]int64{2}); codeOf(err) != CodeUnknownID {
		t.Errorf("a refused message is known: %v", err)
	}
	if r, err := s.Close(1, nil, 0); err != nil || r.Dropped != 1 || r.Late != 1 {
		t.Errorf("%+v %v", r, err)
	}
}

// Each error has its code, and changes nothing.
func TestErrors(t *testing.T) {
	s := drivenWorld(t, federation.WaitForAll, nil)
	if r, err := s.Close(0, nil, 0); err != nil || r.Round != 0 {
		t.Fatal(r, err)
	}
	if _, err := s.Close(0, nil, 0); codeOf(err) != CodeRound { // results have it once
		t.Error(err)
	}
	sends(t, s, Message{ID: 1, Work: devices.Work{FLOPs: 10}}, Message{ID: 2, Client: 1, Undecided: true})
	waits(t, s, []int64{1}, 0, engine.Never, EndedWork, Notice{2, 1, 5 * ms, NoticeWork, 0})
	send := func(round int, all ...Message) error { _, err := s.Send(round, Train, all); return err }
	play := func(round int, all ...Message) error { _, _, _, err := s.PlayRound(round, Train, all, nil); return err }
	wait := func(until engine.Time, ids ...int64) error { _, _, err := s.Wait(ids, 0, until, nil); return err }
	closing := func(round int, flops float64, ids ...int64) error { _, err := s.Close(round, ids, flops); return err }
	advance := func(until engine.Time) error { _, _, err := s.Advance(until, nil); return err }
	for _, c := range []struct {
		want Code
		err  error
	}{
		{CodeDuplicateID, send(1, Message{ID: 1})}, {CodeDuplicateID, send(1, Message{ID: 8}, Message{ID: 8})},
		{CodeClient, send(1, Message{ID: 9, Client: len(sizes)})}, {CodeClient, send(1, Message{ID: 9, Client: -1})},
		{CodeValue, send(1, Message{ID: 9, Work: devices.Work{FLOPs: -1}})},
		{CodeValue, send(1, Message{ID: 9, BytesUp: math.NaN()})},
		{CodeValue, send(1, Message{ID: 9, BytesDown: math.Inf(1)})}, {CodePast, send(1, Message{ID: 9, Expires: 1})},
		{CodeRound, send(2, Message{ID: 9})}, {CodeRound, send(0, Message{ID: 9})},
		{CodeUnknownID, wait(engine.Never, 9)}, {CodePast, wait(1)}, {CodeOpenWork, wait(engine.Never, 1)},
		{CodeOpenWork, advance(6 * ms)}, {CodeValue, advance(engine.Never)}, {CodePast, advance(1)},
		{CodeUnknownID, s.Work(9, devices.Work{FLOPs: 1}, 1)}, {CodeOpenWork, s.Work(1, devices.Work{FLOPs: 1}, 1)},
		{CodeValue, s.Work(2, devices.Work{FLOPs: math.NaN()}, 1)}, {CodeUnknownID, s.Cancel([]int64{1, 9})},
		{CodeUnknownID, closing(1, 0, 9)}, {CodeUnknownID, closing(1, 0, 1)}, {CodeValue, closing(1, -1)},
		{CodeRound, closing(2, 0)}, {CodeRound, closing(0, 0)}, {CodeOpenWork, play(1, Message{ID: 9, Client: 3})},
		{CodePolicy, play(1, Message{ID: 9, Client: 3, Undecided: true})},
		{CodePolicy, play(1, Message{ID: 9, Client: 3, Expires: 1e9})},
	} {
		if got := codeOf(c.err); got != c.want {
			t.Errorf("%v: code %q, want %q", c.err, got, c.want)
		}
	}
	if s.Now() != 5*ms || s.queue.open != 2 || len(s.queue.ids) != 2 {
		t.Errorf("errors have changed something: %d, %d messages, %d ids", s.Now(), s.queue.open, len(s.queue.ids))
	}
	if err := s.Work(2, devices.Work{FLOPs: 10}, 0); err != nil {
		t.Fatal(err)
	}
	if err := play(1); codeOf(err) != CodePolicy {
		t.Error(err)
	}
	// The protocol plays the round with a client that is not busy; a second time it does not.
	if _, taken, refused, err := s.PlayRound(1, Train, []Message{{ID: 10, Client: 1}, {ID: 11, Client: 2}},
		nil); err != nil || !slices.Equal(taken, []int64{11}) || len(refused) != 1 || refused[0].String() != "busy" {
		t.Fatal(taken, refused, err)
	}
	if err := play(1, Message{ID: 12, Client: 3}); codeOf(err) != CodeRound {
		t.Error(err)
	}
	waits(t, s, nil, 0, engine.Never, EndedAll, Notice{1, 0, 20 * ms, NoticeResponse, 0},
		Notice{2, 1, 20 * ms, NoticeResponse, 0})
	if r, err := s.Close(1, []int64{1, 2, 11}, 0); err != nil || r.Participants != 3 || r.Late != 0 {
		t.Errorf("%+v %v", r, err)
	}
	if err := s.Cancel([]int64{1}); codeOf(err) != CodeUnknownID {
		t.Errorf("an id of a closed round is known: %v", err)
	}
}

// The asynchronous protocol has no rounds to play; a driver may send and wait.
func TestAsynchronousPlaysNoRound(t *testing.T) {
	s := drivenWorld(t, federation.WaitForAll, func(s *learning.Setup) { s.Config.Protocol = protocols.Asynchronous })
	if _, _, _, err := s.PlayRound(1, Train, []Message{{ID: 1}}, nil); codeOf(err) != CodePolicy {
		t.Error(err)
	}
	sends(t, s, Message{ID: 1})
	waits(t, s, nil, 0, engine.Never, EndedAll, Notice{ID: 1, At: 10 * ms})
}

// Server work takes virtual time, in which messages continue. The next call reports them.
func TestServerWorkTakesTime(t *testing.T) {
	s := drivenWorld(t, federation.WaitForAll, func(s *learning.Setup) { s.Config.ServerGFLOPS = 1e-6 })
	sends(t, s, Message{ID: 1}, Message{ID: 2, Client: 1, Work: devices.Work{FLOPs: 500}})
	waits(t, s, nil, 1, engine.Never, EndedCount, Notice{ID: 1, At: 10 * ms})
	r, err := s.Close(1, []int64{1}, 1000)
	if err != nil || r.TimeS != 1.01 || r.Participants != 1 || r.Late != 1 {
		t.Fatalf("%+v %v", r, err)
	}
	waits(t, s, []int64{2}, 0, engine.Never, EndedAll, Notice{ID: 2, Client: 1, At: 510 * ms})
	if r, err = s.Close(2, []int64{2}, 0); err != nil || r.Participants != 1 || r.Late != 0 || r.TimeS != 1.01 {
		t.Fatalf("%+v %v", r, err)
	}
}

// While the work of a message is not known, a round can be closed if that takes no time. No
// client asks for its work meanwhile: the driver would not hear of it.
func TestAsksForWorkAreHeard(t *testing.T) {
	s := drivenWorld(t, federation.WaitForAll, func(s *learning.Setup) { s.Config.ServerGFLOPS = 1 })
	sends(t, s, Message{ID: 1, Undecided: true}, Message{ID: 2, Client: 1, Undecided: true})
	for id := int64(1); id <= 2; id++ {
		waits(t, s, nil, 0, engine.Never, EndedWork, Notice{id, int(id) - 1, 5 * ms, NoticeWork, 0})
		if _, err := s.Close(int(id), nil, 0); err != nil {
			t.Fatal(err)
		}
		if err := s.Work(id, devices.Work{FLOPs: 0}, 0); err != nil {
			t.Fatal(err)
		}
	}
	waits(t, s, nil, 0, engine.Never, EndedAll, Notice{ID: 1, At: 10 * ms}, Notice{ID: 2, Client: 1, At: 10 * ms})
}

// Evaluations take time and bytes, but are no updates.
func TestEvaluationsAreNoUpdates(t *testing.T) {
	s := drivenWorld(t, federation.WaitForAll, nil)
	if _, err := s.Send(1, "evaluate",
		[]Message{{ID: 1, BytesDown: 100}, {ID: 2, Client: 1, Work: devices.Work{FLOPs: 1e6}}}); err != nil {
		t.Fatal(err)
	}
	waits(t, s, nil, 1, engine.Never, EndedCount, Notice{ID: 1, At: 10*ms + 800e3})
	r, err := s.Close(1, []int64{1}, 0)
	if want := (results.Round{Round: 1, BytesDown: 100, TimeS: 0.0108}); err != nil ||
		r.Participants+r.Late+r.Dropped != 0 || r.BytesDown != want.BytesDown || r.TimeS != want.TimeS {
		t.Errorf("%+v %v", r, err)
	}
}

// Responses to queries are participants if the driver names them: it has used them.
func TestQueriesMayCount(t *testing.T) {
	s := drivenWorld(t, federation.WaitForAll, nil)
	if _, err := s.Send(1, Query,
		[]Message{{ID: 1, BytesDown: 100}, {ID: 2, Client: 1, BytesDown: 100},
			{ID: 3, Client: 2, Work: devices.Work{FLOPs: 1e6}}}); err != nil {
		t.Fatal(err)
	}
	waits(t, s, nil, 2, engine.Never, EndedCount, Notice{ID: 1, At: 10*ms + 800e3},
		Notice{ID: 2, Client: 1, At: 10*ms + 800e3})
	if r, err := s.Close(1, []int64{2}, 0); err != nil || r.Participants != 1 || r.Late+r.Dropped != 0 {
		t.Errorf("%+v %v", r, err)
	}
}

// The context ends a call that lasts.
func TestACallIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	setup := world(t, "fedavg", protocols.Deadline, func(s *learning.Setup) { s.Availability = halves{} })
	of := driven(setup)
	of.Context = ctx
	s, err := New(of)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, _, err := s.Advance(engine.FromSeconds(1e8), nil); codeOf(err) != CodeInterrupted {
		t.Errorf("%v at %v", err, s.Now())
	}
}

// A cancel that names a message twice ends it once: hubs continue with the others.
func TestCancelingTwiceIsCancelingOnce(t *testing.T) {
	var want []Notice
	for _, ids := range [][]int64{{1}, {1, 1, 1}} {
		s := drivenWorld(t, federation.WaitForAll, func(s *learning.Setup) { s.Network.HubSize = 3 })
		sends(t, s, Message{ID: 1, Work: devices.Work{FLOPs: 1000}},
			Message{ID: 2, Client: 1, Work: devices.Work{FLOPs: 500}},
			Message{ID: 3, Client: 2, Work: devices.Work{FLOPs: 800}})
		waits(t, s, nil, 0, 100*ms, EndedUntil)
		if err := s.Cancel(ids); err != nil {
			t.Fatal(err)
		}
		notices, end, err := s.Wait(nil, 0, engine.Never, nil)
		if want == nil {
			want = notices
		}
		if err != nil || end != EndedAll || len(notices) != 2 || notices[0].At != notices[1].At ||
			!slices.Equal(notices, want) {
			t.Errorf("canceled %v: %v %v %v, want %v", ids, notices, end, err, want)
		}
	}
}

// A wait that names a message twice counts it once.
func TestWaitingTwiceIsWaitingOnce(t *testing.T) {
	s := drivenWorld(t, federation.WaitForAll, nil)
	sends(t, s, Message{ID: 1}, Message{ID: 2, Client: 1, Work: devices.Work{FLOPs: 500}})
	waits(t, s, []int64{1, 1}, 2, engine.Never, EndedAll, Notice{ID: 1, At: 10 * ms})
	waits(t, s, []int64{1, 1, 2}, 2, engine.Never, EndedAll, Notice{ID: 2, Client: 1, At: 510 * ms})
}
