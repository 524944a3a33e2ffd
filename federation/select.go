package federation

import (
	"fmt"
	"math"
	"slices"

	"fedsim/engine"
	"fedsim/internal/tools/rng"
)

// Select chooses the clients that the open round asks: all that do not still owe a response, or
// those of the available ones that the selector chooses; see AwaitReports. The list is valid
// until the next call.
func (s *Server) Select() []int32 {
	asked := s.Choose()
	s.AwaitReports()
	return asked
}

// Choose is Select that takes no time. The reports that it has requested are then under way,
// for AwaitReports.
func (s *Server) Choose() []int32 {
	selection, all := &s.selection, s.selector == nil
	partial := !selection.declared.Unlisted && (len(s.open.late) > 0 || !all && s.clients.Unavailable() > 0)
	available := selection.available[:0]
	if partial {
		for client := range s.setup.Clients {
			if !s.attempts.device(client).chosen && (all || s.clients.Available(client)) {
				available = append(available, int32(client))
			}
		}
	}
	selection.open(s.round, partial, available)
	if all {
		return selection.Uniform(selection.Size, nil)
	}
	if selection.declared.Batteries {
		selection.readBatteries()
	}
	return s.choose()
}

// choose lets the selector choose. Without a client to ask or to wait for, the run ends.
func (s *Server) choose() []int32 {
	selection := &s.selection
	chosen := s.selector.Select(selection)
	if s.setup.Lazy { // clients that are to be asked get state
		for _, client := range chosen {
			known := s.clients.Known()
			if s.clients.Admit(int(client)); s.continuous != nil && s.clients.Known() > known {
				s.clients.SetNumber(int(client), -1)
			}
		}
	}
	selection.check(chosen)
	if selection.declared.Unlisted && len(chosen) < selection.Size {
		s.accounts.census.short++
		idle := len(s.open.late) == 0 && (s.continuous == nil || s.continuous.free == s.wanted)
		if len(chosen) == 0 && idle {
			s.Stall(
				fmt.Sprintf(
					"selection %q has found no available client in round %d (federation.selection_options.tries)",
					selection.declared.Name, s.round+1))
		}
	}
	return chosen
}

// Reports reports whether reports of clients are under way.
func (s *Server) Reports() bool { return s.selection.inquiry > 0 }

// AwaitReports lets the time pass that the reports of clients take.
func (s *Server) AwaitReports() {
	length := s.selection.inquiry
	if length == 0 {
		return
	}
	s.selection.inquiry = 0
	ended := s.open.ended
	s.open.ended = true // responses of late clients are those between two rounds
	until := s.clients.Now().Add(length)
	if until == engine.Never {
		s.supervisor.stalled = beyond("the reports of clients to the selector")
	} else {
		s.clock.RunUntil(until)
	}
	s.open.ended = ended
}

// ReadBattery requests a report of the battery of a client, with so many bytes each way. It
// returns the state of charge, NaN without a battery, and the state of the charger. The report
// is then under way, for AwaitReports.
func (s *Server) ReadBattery(client int, bytes float64) (level float64, charging bool) {
	b, now := s.clients.Batteries(), s.clients.Now()
	level, charging = math.NaN(), b.Charging(client, now)
	if !b.OnMains(client) {
		level = b.Level(client, now)
	}
	s.selection.inquiry = max(s.selection.inquiry, s.clients.Exchange(client, bytes, bytes))
	return level, charging
}

// check puts the selected clients in order, and panics when the selector has
// broken its contract.
func (s *Selection) check(chosen []int32) {
	f, name := s.server, s.server.setup.Config.Selection
	if n := len(chosen); n != s.Size && (!s.declared.Fewer || n == 0 && !s.declared.Unlisted || n > s.Size) {
		panic(fmt.Sprintf("federation: selector %s selects %d clients in round %d, must be %d", name, len(chosen),
			s.Round+1, s.Size))
	}
	if !slices.IsSorted(chosen) {
		slices.Sort(chosen)
	}
	for i, client := range chosen {
		switch {
		case client < 0 || int(client) >= f.setup.Clients,
			f.attempts.device(int(client)).chosen, !f.clients.Available(int(client)):
			panic(fmt.Sprintf("federation: selector %s selects client %d in round %d, which is not available",
				name, client, s.Round+1))
		case i > 0 && client == chosen[i-1]:
			panic(fmt.Sprintf("federation: selector %s selects client %d twice in round %d", name, client, s.Round+1))
		}
	}
}

// drawn returns the stream by which a client's losses are sampled in this round: not the
// numbers of Selection.Client, by which Weighted may have drawn the client.
func (s *Selection) drawn(client int32) Stream {
	stream := s.Client(client)
	return stream.Fork(rng.Solve)
}
