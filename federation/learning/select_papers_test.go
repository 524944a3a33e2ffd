package learning

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/network"
)

// A learner reports mean losses alone.
func TestRowLossesNeedAProblem(t *testing.T) {
	for name, refused := range map[string]bool{"power-of-choice": false, "rpow-d": false, "cpow-d": true, "oort": true,
		paperOort: true, "tifl": false} {
		_, err := New(ownLearner(t, federation.WaitForAll, func(s *Setup) { selectBy(s, name, 3, 5) }))
		if refused != (err != nil && strings.Contains(err.Error(), "losses of single rows")) || !refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(ownLearner(t, federation.WaitForAll, func(s *Setup) {
		selectBy(s, "oort", 3, 5)
		selectorOption(s, "Losses", "mean")
	})); err != nil {
		t.Errorf("oort by mean losses: %v", err)
	}
}

// A mini-batch of all rows has the loss of all rows, and a client that reports the root
// mean square of its losses reports the mean of them too.
func TestLossesOfRows(t *testing.T) {
	compared := 0
	var f *Federation
	script = func(s *federation.Selection) []int32 {
		clients := s.Available()
		all := slices.Clone(s.Losses(clients))
		part := slices.Clone(s.SampledLosses(clients, 1))
		for i, sampled := range s.SampledLosses(clients, 1000) {
			if !near(sampled, all[i], 1e-12) {
				t.Errorf("round %d, client %d: loss %g of a mini-batch of all rows, want %g", s.Round, i, sampled,
					all[i])
			}
			if part[i] == all[i] && s.Round > 0 {
				t.Errorf("round %d, client %d: a row has the mean loss %g", s.Round, i, all[i])
			}
			p, w := f.setup.Problem, f.method.Model().W
			sum, rows := 0.0, p.Train.Clients[i].X.Rows
			for row := range rows {
				x := p.Loss.Value(p.Train.Clients[i].X.Dot(row, w.Row(min(i, w.Rows-1))), p.Train.Clients[i].Y[row])
				sum += x * x
			}
			_, rms := p.LocalRMS(i, w.Row(min(i, w.Rows-1)))
			if !near(rms, math.Sqrt(sum/float64(rows)), 1e-12) {
				t.Errorf("round %d, client %d: root mean square %g, want %g", s.Round, i, rms,
					math.Sqrt(sum/float64(rows)))
			}
			if h := s.History(int32(i)); h.Responses > 0 && (math.IsNaN(h.RMS) || h.RMS < h.Loss) {
				t.Errorf("client %d reports a root mean square of %g and a mean of %g", i, h.RMS, h.Loss)
			} else if h.Responses > 0 {
				compared++
			}
		}
		return s.Uniform(3, nil)
	}
	f = start(t,
		world(t, "fedavg", federation.WaitForAll,
			func(s *Setup) { s.Config.Selection, s.Config.Clients.Count = "curious", 3 }))
	finish(t, f)
	if compared < 20 {
		t.Errorf("%d reports are compared", compared)
	}
}

// The estimates of FedCS cost a message and its answer for each candidate: their bytes, the
// time until the last answer, and the energy of the radio.
func TestEstimatesAreCharged(t *testing.T) {
	const report, rounds = 500, 10
	setup := func(selection string) Setup {
		return world(t, "fedavg", federation.WaitForAll, func(s *Setup) {
			s.Config.Selection, s.Config.Clients.Count = selection, 3
			if selection == "fedcs" {
				selectBy(s, selection, 3, 5)
				selectorOption(s, "ReportBytes", float64(report))
				selectorOption(s, "RoundS", 100.0)
			}
			s.Schedule.Rounds = rounds
		})
	}
	var seen entries
	s := setup("fedcs")
	s.Journal = &seen
	f := start(t, s)
	out := finish(t, f)
	const each = 2 * (latencyS + 8*report/1e6)
	asked := seen.taken(rounds)
	script = func(s *federation.Selection) []int32 { return asked[s.Round] }
	plain := run(t, setup("blind"))
	radio := f.clients.Links().Radio(0)
	power := radio.Active(network.Down, 1) + radio.Active(network.Up, 1)
	for h := 1; h <= rounds; h++ {
		got, want := out.Rounds[h], plain.Rounds[h]
		if got.BytesDown != want.BytesDown+5*report || got.BytesUp != want.BytesUp+5*report {
			t.Errorf("round %d: %g bytes down and %g up, without estimates %g and %g", h, got.BytesDown, got.BytesUp,
				want.BytesDown, want.BytesUp)
		}
		if wait := got.TimeS - want.TimeS; !near(wait, float64(h)*each, 1e-6) {
			t.Errorf("round %d ends %g s later, want %g", h, wait, float64(h)*each)
		}
		idle := float64(len(sizes)) * idleW * each
		if more := got.EnergyJ - want.EnergyJ; !near(more, idle+5*power*each/2, 1e-6) {
			t.Errorf("round %d takes %g J more, want %g", h, more, idle+5*power*each/2)
		}
	}
	if power == 0 {
		t.Error("the radio takes no power: the test shows nothing of it")
	}
}

// A client that has responded is not asked in the next holdoff rounds, and may be in the one after:
// six clients respond, one a round, so that some client comes again as soon as it can.
func TestREFLHoldsOff(t *testing.T) {
	for holdoff := range 6 {
		setup := world(t, "fedavg", protocols.Deadline, func(s *Setup) {
			s.Config.Clients.Count, s.Config.Selection, s.Config.DeadlineS = 1, "refl", 100
			s.Config.SelectionOptions = optionsOf("refl")
			selectorOption(s, "PeriodS", 1e6)
			selectorOption(s, "Slots", 1)
			selectorOption(s, "Holdoff", holdoff)
			s.Devices.ClockGHz = 1
			s.Faults.Never = []int{3}
			s.Schedule.Rounds = 80
		})
		var seen entries
		setup.Journal = &seen
		run(t, setup)
		last, least := map[int32]int{}, 1000
		for h, clients := range seen.taken(80) {
			for _, client := range clients {
				if before, ok := last[client]; ok {
					least = min(least, h-before)
				}
				last[client] = h
			}
		}
		if least != holdoff+1 || len(last) != 6 {
			t.Errorf("holdoff %d: a client is asked again after %d rounds; %d clients responded", holdoff, least,
				len(last))
		}
	}
}

// taken lists the clients whose updates each round takes.
func (en entries) taken(rounds int) [][]int32 {
	taken := make([][]int32, rounds)
	for _, e := range en {
		if e.Kind == federation.UpdateTaken {
			taken[e.Round-1] = append(taken[e.Round-1], e.Device)
		}
	}
	return taken
}

// Selectors that need no losses have the same events in timing mode as with learning. Others
// are refused there.
func TestSelectorsWithoutLosses(t *testing.T) {
	for _, name := range papersSelectors() {
		setup := world(t, "fedavg", protocols.Deadline, func(s *Setup) {
			stormy(s)
			s.Config.ServerGFLOPS = 0
			reflect.ValueOf(s.Options).Elem().FieldByName("Batch").SetInt(1)
			selectBy(s, name, 3, 5)
			if name == "tifl" {
				selectorOption(s, "Adaptive", false)
			}
		})
		mute := timed(t, setup)
		if name == "power-of-choice" || name == "cpow-d" || name == "rpow-d" || name == "oort" || name == paperOort {
			if _, err := New(mute); err == nil || !strings.Contains(err.Error(), "must be another") {
				t.Errorf("%s in timing mode: %v", name, err)
			}
			continue
		}
		want := run(t, mute)
		if learns := run(t, setup); learns.EventHash != want.EventHash {
			t.Errorf("%s: events %x in timing mode, %x with learning", name, want.EventHash, learns.EventHash)
		}
	}
}
