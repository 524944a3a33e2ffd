package session

import (
	"slices"
	"testing"

	"fedsim/clients"
	"fedsim/engine"
	"fedsim/federation/learning"
	"fedsim/federation/protocols"
	"fedsim/results"
)

// selfDriven is a driver that ends rounds on its own: under deadline when the time has
// come, under first with the last response that it needs, or when the last is overdue.
func selfDriven(t testing.TB, ses *Session, s learning.Setup, want recorded, round int) results.Round {
	t.Helper()
	cohort, err := ses.Select(round)
	if err != nil {
		t.Fatal(err)
	}
	all := messagesOf(ses, want, round, cohort)
	refused, err := ses.Send(round, Train, all)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, m := range all {
		if !slices.ContainsFunc(refused, func(r Refusal) bool { return r.ID == m.ID }) {
			ids = append(ids, m.ID)
		}
	}
	var taken []int64
	if s.Config.Protocol == protocols.Deadline {
		notices, end, err := ses.Advance(ses.Now().Add(engine.FromSeconds(s.Config.DeadlineS)), nil)
		if err != nil || end != EndedUntil {
			t.Fatal(end, err)
		}
		taken = responseIDs(notices)
	}
	needed, _ := s.Config.Sizes(s.Clients)
	for ended := 0; s.Config.Protocol == protocols.First && len(taken) < needed && ended < len(ids); {
		notices, end, err := ses.Wait(ids, ended+1, engine.Never, nil)
		if err != nil || end > EndedCount {
			t.Fatal(end, err)
		}
		taken = append(taken, responseIDs(notices)...)
		ended += len(notices)
	}
	overdue := ses.Now()
	for i := 0; s.Config.Protocol == protocols.First && len(taken) < needed && i < len(all); i++ {
		if slices.Contains(ids, all[i].ID) && !slices.Contains(taken, all[i].ID) {
			overdue = max(overdue, ses.clients.Due(all[i].Client))
		}
	}
	if _, _, err := ses.Advance(overdue, nil); err != nil {
		t.Fatal(err)
	}
	if err := ses.Cancel(ids); err != nil {
		t.Fatal(err)
	}
	r, err := ses.Close(round, taken, 0)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// untimed returns events without those of timers: a driver's own are no events of clients.
func untimed(all []engine.Event) []engine.Event {
	return slices.DeleteFunc(all, func(e engine.Event) bool { return e.Kind == clients.EventTimer })
}

// responseIDs returns the ids of messages with a response.
func responseIDs(all []Notice) (ids []int64) {
	for _, n := range all {
		if n.Kind == NoticeResponse {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// A driver that ends rounds on its own has the clients of timing mode: what happens to
// them is the same at every instant, and so are the rounds.
func TestADriverEndsRoundsOnItsOwn(t *testing.T) {
	for _, w := range worlds {
		for _, protocol := range []string{protocols.Deadline, protocols.First} {
			s := world(t, "fedavg", protocol, func(s *learning.Setup) {
				w.change(s)
				s.Config.Fit = false
				s.Config.DetectS = 0
				if protocol == protocols.First {
					if s.Config.Clients.Count == 0 {
						s.Config.Clients.Count = 4
					}
					s.Config.Over = 1.5
				}
				s.Schedule.Rounds = 12
				s.AnyDeadline = true
			})
			want := recordRun(t, s)
			var events []engine.Event
			var got []results.Round
			ses := sessionOf(t, s, &events)
			for round := 1; round < len(want.Rounds); round++ {
				got = append(got, selfDriven(t, ses, s, want, round))
			}
			if err := same(got, want.Rounds[1:]); err != nil {
				t.Errorf("%s, %s: %v", w.name, protocol, err)
			}
			a, b := untimed(clientEvents(events)), untimed(clientEvents(want.events))
			if !slices.Equal(a, b) {
				i := 0
				for i < min(len(a), len(b)) && a[i] == b[i] {
					i++
				}
				t.Errorf("%s, %s: %d events of clients, timing mode %d; the first %d are the same, then %v against %v",
					w.name, protocol, len(a), len(b), i, a[min(i, len(a)-1)], b[min(i, len(b)-1)])
			}
		}
	}
}
