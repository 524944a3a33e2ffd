package learning

import (
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/federation/servertest"
)

// scripted is a selector that calls a function of the test.
type scripted func(s *federation.Selection) []int32

func (sc scripted) Select(s *federation.Selection) []int32 { return sc(s) }

// script is the function of the next scripted selector that is built.
var script scripted

// rotating has state, and uses the history and the losses of clients: it selects those
// with the least loss times response time, moved on by its count of calls.
type rotating struct{ calls int }

func (r *rotating) Select(s *federation.Selection) []int32 {
	r.calls++
	return s.Lowest(s.Size, s.Available(), func(client int32) float64 {
		h := s.History(client)
		return h.Loss*h.Time.Seconds() + float64((int(client)+r.calls)%3)
	})
}

func init() {
	federation.RegisterSelector(federation.SelectorFactory{Name: "scripted", History: true, Losses: true,
		New: func(federation.SelectorSetup, config.Options) (federation.Selector, error) { return script, nil }})
	federation.RegisterSelector(federation.SelectorFactory{Name: "curious", History: true, Losses: true,
		RowLosses: true, SampledLosses: true,
		New: func(federation.SelectorSetup, config.Options) (federation.Selector, error) { return script, nil }})
	federation.RegisterSelector(federation.SelectorFactory{Name: "blind",
		New: func(federation.SelectorSetup, config.Options) (federation.Selector, error) { return script, nil }})
	federation.RegisterSelector(federation.SelectorFactory{Name: "rotating", History: true, Losses: true,
		New: func(federation.SelectorSetup, config.Options) (federation.Selector, error) { return &rotating{}, nil }})
}

// The history that a selector sees agrees with the journal, and the present agrees with
// the state of the clients.
func TestASelectorSeesThePast(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, protocols.Deadline, protocols.First} {
		want := make([]federation.History, len(sizes))
		for k := range want {
			want[k].Loss, want[k].LastAsked = math.NaN(), -1
		}
		var f *Federation
		var seen entries
		read, began, compared := 0, map[int]engine.Time{}, 0
		losses := make([]float64, len(sizes)) // of the model that each client was sent last
		script = func(s *federation.Selection) []int32 {
			for ; read < len(seen); read++ {
				e := seen[read]
				switch k := int(e.Device); e.Kind {
				case federation.ResponseArrived:
					h := &want[k]
					h.Responses++
					h.Time, h.Loss = e.To-began[int(h.Round)], losses[k]
				}
			}
			began[s.Round] = f.clients.Now()
			for k := range want {
				got := s.History(int32(k))
				if got.Responses > 0 {
					compared++
				}
				if got.Asked != want[k].Asked || got.LastAsked != want[k].LastAsked ||
					got.Responses != want[k].Responses || got.Responses > 0 &&
					(got.Time != want[k].Time || math.Float64bits(got.Loss) != math.Float64bits(want[k].Loss)) {
					t.Errorf("%s, round %d, client %d: %+v, want %+v", protocol, s.Round, k, got, want[k])
				}
				if got.Responses == 0 && !math.IsNaN(got.Loss) {
					t.Errorf("%s: client %d has a loss before it has responded", protocol, k)
				}
				if s.Rows(int32(k)) != sizes[k] || slices.Contains(s.Available(), int32(k)) != f.clients.Available(k) {
					t.Errorf("%s, round %d, client %d: %d rows, available %v", protocol, s.Round, k, s.Rows(int32(k)),
						s.Available())
				}
			}
			chosen := s.Uniform(s.Size, nil)
			for i, loss := range s.Losses(chosen) {
				k := chosen[i]
				w := f.method.Model().W
				if exact := f.setup.Problem.LocalLoss(int(k), w.Row(int(k))); loss != exact {
					t.Errorf("%s: client %d has a loss of %g, want %g", protocol, k, loss, exact)
				}
				losses[k] = loss
				want[k].Asked++
				want[k].Round, want[k].LastAsked = int32(s.Round), int32(s.Round)
			}
			return chosen
		}
		f = start(t, world(t, "mocha", protocol, func(s *Setup) {
			s.Config.Selection, s.Config.Clients.Count = "scripted", 3
			s.Journal = &seen
			s.Schedule.Rounds = 30
			s.Faults.DropProbability.All, s.Faults.DropPhase = 0.2, devices.AtRandom
			if protocol == protocols.First {
				s.Config.Over = 1.4
				s.Options.(*algorithms.MOCHAOptions).Epochs = 1
			}
			if protocol != federation.WaitForAll {
				s.Availability = servertest.Coins{Seed: 7, Share: 0.8}
			}
		}))
		finish(t, f)
		if compared < 20 {
			t.Errorf("%s: %d responses are compared: the test shows little", protocol, compared)
		}
	}
}

// A selector that breaks its contract ends the run with its name.
func TestWrongSelections(t *testing.T) {
	for _, c := range []struct {
		choose scripted
		name   string
		want   string
	}{
		{func(s *federation.Selection) []int32 { return []int32{0} }, "blind",
			"selector blind selects 1 clients in round 1, must be 2"},
		{func(s *federation.Selection) []int32 { return []int32{4, 4} }, "blind",
			"selector blind selects client 4 twice in round 1"},
		{func(s *federation.Selection) []int32 { return []int32{1, 7} }, "blind",
			"selector blind selects client 7 in round 1, which is not available"},
		{func(s *federation.Selection) []int32 { return []int32{3, -1} }, "blind",
			"selector blind selects client -1 in round 1, which is not available"},
		{func(s *federation.Selection) []int32 { s.History(0); return nil }, "blind",
			"selector blind calls Selection.History and does not declare History in its factory"},
		{func(s *federation.Selection) []int32 { s.Charging(0); return nil }, "blind",
			"selector blind calls Selection.Charging and does not declare Batteries in its factory"},
		{func(s *federation.Selection) []int32 { s.Losses([]int32{0}); return nil }, "blind",
			"selector blind calls Selection.Losses and does not declare Losses in its factory"},
	} {
		script = c.choose
		f := start(t,
			world(t, "mocha", federation.WaitForAll,
				func(s *Setup) { s.Config.Selection, s.Config.Clients.Count = c.name, 2 }))
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, c.want) {
					t.Errorf("panic %q, want %q", got, c.want)
				}
			}()
			_, _ = f.Run(t.Context(), nil)
		}()
	}
}

// A selection in any order is the same round.
func TestSelectionsAreSorted(t *testing.T) {
	hash := func(of scripted) uint64 {
		script = of
		return run(t,
			world(t, "mocha", federation.WaitForAll,
				func(s *Setup) { s.Config.Selection, s.Config.Clients.Count = "blind", 3 })).EventHash
	}
	if a, b := hash(func(*federation.Selection) []int32 { return []int32{1, 4, 5} }),
		hash(func(*federation.Selection) []int32 { return []int32{5, 1, 4} }); a != b {
		t.Errorf("events %x in order, %x in another", a, b)
	}
}
