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
func (f *Server) Select() []int32 {
	asked := f.Choose()
	f.AwaitReports()
	return asked
}

// Choose is Select that takes no time. The reports that it has requested are then under way,
// for AwaitReports.
func (f *Server) Choose() []int32 {
	s, all := &f.selection, f.selector == nil
	partial := !s.declared.Unlisted && (len(f.open.late) > 0 || !all && f.clients.Unavailable() > 0)
	available := s.available[:0]
	if partial {
		for t := range f.setup.Clients {
			if !f.attempts.device(t).chosen && (all || f.clients.Available(t)) {
				available = append(available, int32(t))
			}
		}
	}
	s.open(f.round, partial, available)
	if all {
		return s.Uniform(s.Size, nil)
	}
	if s.declared.Batteries {
		s.readBatteries()
	}
	return f.choose()
}

// choose lets the selector choose. Without a client to ask or to wait for, the run ends.
func (f *Server) choose() []int32 {
	s := &f.selection
	chosen := f.selector.Select(s)
	if f.setup.Lazy { // clients that are to be asked get state
		for _, t := range chosen {
			known := f.clients.Known()
			if f.clients.Admit(int(t)); f.continuous != nil && f.clients.Known() > known {
				f.clients.SetNumber(int(t), -1)
			}
		}
	}
	s.check(chosen)
	if s.declared.Unlisted && len(chosen) < s.Size {
		f.accounts.census.short++
		idle := len(f.open.late) == 0 && (f.continuous == nil || f.continuous.free == f.wanted)
		if len(chosen) == 0 && idle {
			f.Stall(fmt.Sprintf("selection %q has found no available client in round %d (federation.selection_options.tries)", s.declared.Name, f.round+1))
		}
	}
	return chosen
}

// Reports reports whether reports of clients are under way.
func (f *Server) Reports() bool { return f.selection.inquiry > 0 }

// AwaitReports lets the time pass that the reports of clients take.
func (f *Server) AwaitReports() {
	length := f.selection.inquiry
	if length == 0 {
		return
	}
	f.selection.inquiry = 0
	ended := f.open.ended
	f.open.ended = true // responses of late clients are those between two rounds
	until := f.clients.Now().Add(length)
	if until == engine.Never {
		f.supervisor.stalled = beyond("the reports of clients to the selector")
	} else {
		f.clock.RunUntil(until)
	}
	f.open.ended = ended
}

// ReadBattery requests a report of the battery of a client, with so many bytes each way. It
// returns the state of charge, NaN without a battery, and the state of the charger. The report
// is then under way, for AwaitReports.
func (f *Server) ReadBattery(client int, bytes float64) (level float64, charging bool) {
	b, now := f.clients.Batteries(), f.clients.Now()
	level, charging = math.NaN(), b.Charging(client, now)
	if !b.OnMains(client) {
		level = b.Level(client, now)
	}
	f.selection.inquiry = max(f.selection.inquiry, f.clients.Exchange(client, bytes, bytes))
	return level, charging
}

// check puts the selected clients in order, and panics when the selector has
// broken its contract.
func (s *Selection) check(chosen []int32) {
	f, name := s.server, s.server.setup.Config.Selection
	if n := len(chosen); n != s.Size && (!s.declared.Fewer || n == 0 && !s.declared.Unlisted || n > s.Size) {
		panic(fmt.Sprintf("federation: selector %s selects %d clients in round %d, must be %d", name, len(chosen), s.Round+1, s.Size))
	}
	if !slices.IsSorted(chosen) {
		slices.Sort(chosen)
	}
	for i, t := range chosen {
		switch {
		case t < 0 || int(t) >= f.setup.Clients || f.attempts.device(int(t)).chosen || !f.clients.Available(int(t)):
			panic(fmt.Sprintf("federation: selector %s selects client %d in round %d, which is not available", name, t, s.Round+1))
		case i > 0 && t == chosen[i-1]:
			panic(fmt.Sprintf("federation: selector %s selects client %d twice in round %d", name, t, s.Round+1))
		}
	}
}

// drawn returns the stream by which a client's losses are sampled in this round: not the
// numbers of Selection.Client, by which Weighted may have drawn the client.
func (s *Selection) drawn(client int32) Stream {
	stream := s.Client(client)
	return stream.Fork(rng.Solve)
}
