package learning

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"fedsim/devices"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/rng"
	"fedsim/results"
)

// setEpochs sets the option "epochs" of a method, if it has one.
func setEpochs(s *Setup, epochs float64) bool {
	field := reflect.ValueOf(s.Options).Elem().FieldByName("Epochs")
	if field.IsValid() {
		field.SetFloat(epochs)
	}
	return field.IsValid()
}

const allEpochs = 20

// stragglers is a world in which a share of the devices does partial work.
func stragglers(t testing.TB, method, protocol string, share float64, partial string, change func(*Setup)) Setup {
	t.Helper()
	return world(t, method, protocol, func(s *Setup) {
		setEpochs(s, allEpochs)
		s.Config.PartialShare, s.Config.Partial = share, partial
		s.Schedule.Rounds = 30
		if change != nil {
			change(s)
		}
	})
}

// epochsOf returns how many epochs each device of each round made, by a journal.
func epochsOf(t *testing.T, s Setup) (epochs []map[int]int, out *Outcome) {
	t.Helper()
	var all entries
	s.Journal = &all
	out = run(t, s)
	for _, e := range all {
		switch e.Kind {
		case federation.RoundStarted:
			epochs = append(epochs, map[int]int{})
		case federation.ResponseArrived:
			if int(e.Amount)%sizes[e.Device] != 0 {
				t.Fatalf("device %d made %g steps with %d rows", e.Device, e.Amount, sizes[e.Device])
			}
			epochs[len(epochs)-1][int(e.Device)] = int(e.Amount) / sizes[e.Device]
		}
	}
	return epochs, out
}

// In every round all but round(n (1 - p)) devices make from 1 to E - 1 epochs, whichever
// the method, and whether the server takes their work. Every round lasts as long as one of
// all epochs, and its FLOPs are those of the work done.
func TestPartialWork(t *testing.T) {
	setup := stragglers(t, "fedavg", federation.WaitForAll, 0, federation.Keep, nil)
	_, plain := epochsOf(t, setup)
	load, pass := setup.Factory.Describe(setup.Options, setup.Problem.Shape).Work, 0.0
	for _, n := range sizes {
		pass += load.Of(n, n)
	}
	for _, share := range []float64{0.3, 0.5, 0.9, 1} {
		first, _ := epochsOf(t, stragglers(t, "fedavg", federation.WaitForAll, share, federation.Drop, nil))
		seen := map[int]int{}
		for _, c := range []struct{ method, partial string }{{"fedavg", federation.Drop}, {"fedavg", federation.Keep},
			{"fedprox", federation.Keep}, {"mocha", federation.Keep}} {
			each, out := epochsOf(t, stragglers(t, c.method, federation.WaitForAll, share, c.partial, nil))
			if !reflect.DeepEqual(each, first) {
				t.Errorf("p = %g: %s and fedavg face different stragglers", share, c.method)
			}
			full := int(math.Round(7 * (1 - share)))
			for h, round := range each {
				r, of := out.Rounds[h+1], plain.Rounds[h+1]
				taken, flops := 0, 0.0
				for client, e := range round {
					if seen[e]++; e == allEpochs {
						taken++
					}
					flops += float64(e) / allEpochs * load.Of(sizes[client], sizes[client]) / pass
				}
				if taken != full ||
					slices.ContainsFunc(slices.Collect(values(round)),
						func(e int) bool { return e < 1 || e > allEpochs }) {
					t.Fatalf("p = %g, round %d: %v: want %d devices with all of %d epochs", share, h+1, round, full,
						allEpochs)
				}
				late := 0
				if c.partial == federation.Drop {
					late = 7 - full
				}
				if r.Late != late || r.Participants != 7-late {
					t.Errorf("%s, p = %g, round %d: %d taken and %d late, want %d and %d", c.method, share, h+1,
						r.Participants, r.Late, 7-late, late)
				}
				if c.method == "mocha" { // steps that do not move cost less
					continue
				}
				if got := r.FLOPs / of.FLOPs; math.Abs(got-flops) > 1e-12 {
					t.Errorf("p = %g, round %d: %g of the FLOPs of full work, want %g", share, h+1, got, flops)
				}
				if math.Abs(r.TimeS-of.TimeS) > 1e-9*float64(7*(h+1)) { // a nanosecond for each device
					t.Errorf("p = %g, round %d: at %.10f s, want %.10f s", share, h+1, r.TimeS, of.TimeS)
				}
			}
		}
		for e := 1; e < allEpochs; e++ { // 7 x 30 x share x 4 draws or more; fixed by the seed
			if share == 1 && seen[e] == 0 {
				t.Errorf("no device ever makes %d epochs", e)
			}
		}
	}
}

// A round lasts as long, too, for methods whose devices do more than their epochs: half of
// the epochs is half of all work, in the time of all.
func TestPartialWorkBesideEpochs(t *testing.T) {
	for _, method := range []string{"ditto", "scaffold"} {
		round := func(share float64) (float64, float64) {
			s := stragglers(t, method, federation.WaitForAll, share, federation.Keep,
				func(s *Setup) { s.Schedule.Rounds = 1 })
			setEpochs(&s, 2)
			if method == "scaffold" { // with a pass for the gradient
				reflect.ValueOf(s.Options).Elem().FieldByName("Option").SetString("I")
			}
			r := run(t, s).Rounds[1]
			return r.TimeS, r.FLOPs
		}
		time, flops := round(0)
		partTime, partFLOPs := round(1)
		// half a step of each device
		if math.Abs(partTime-time) > 0.02*time || math.Abs(partFLOPs-flops/2) > 0.02*flops {
			t.Errorf("%s: one of two epochs takes %g s and %g FLOPs, all %g s and %g FLOPs", method, partTime,
				partFLOPs, time, flops)
		}
	}
}

func values(m map[int]int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for k := range len(sizes) {
			if e, ok := m[k]; ok && !yield(e) {
				return
			}
		}
	}
}

// A server that drops partial work learns from the others alone: as if those devices had
// dropped out. Where all work is partial, nothing changes.
func TestDroppedPartialWorkTeachesNothing(t *testing.T) {
	s := stragglers(t, "fedavg", federation.WaitForAll, 0.5, federation.Drop, func(s *Setup) { s.Schedule.Rounds = 1 })
	epochs, dropped := epochsOf(t, s)
	var partial []float64
	for k := range sizes {
		p := 0.0
		if epochs[0][k] < allEpochs {
			p = 1
		}
		partial = append(partial, p)
	}
	absent := run(t, stragglers(t, "fedavg", protocols.Deadline, 0, federation.Keep, func(s *Setup) {
		s.Schedule.Rounds, s.Config.Fit, s.Config.DeadlineS = 1, false, 1000
		s.Faults.DropProbability.ByDevice = partial
	}))
	if dropped.ModelHash != absent.ModelHash {
		t.Errorf("the model is %x, without those devices %x", dropped.ModelHash, absent.ModelHash)
	}
	kept := run(t,
		stragglers(t, "fedavg", federation.WaitForAll, 0.5, federation.Keep, func(s *Setup) { s.Schedule.Rounds = 1 }))
	if kept.ModelHash == dropped.ModelHash {
		t.Error("work that the server keeps changes nothing")
	}
	all := run(t, stragglers(t, "fedavg", federation.WaitForAll, 1, federation.Drop, nil))
	if start := all.Rounds[0].Primal; slices.ContainsFunc(all.Rounds,
		func(r results.Round) bool { return r.Primal != start }) {
		t.Error("the model changes where all work is dropped")
	}
}

// Under a clock cycle that fits less than all epochs, and under charged steps, a device does
// its part of the work that fits at its usual speed.
func TestPartialWorkWithinABudget(t *testing.T) {
	for _, protocol := range []string{protocols.Deadline, protocols.Charged} {
		change := func(s *Setup) { s.Config.DeadlineS, s.Schedule.Rounds = 5, 10 }
		steps := func(share float64) map[string]int {
			var all entries
			s := stragglers(t, "fedavg", protocol, share, federation.Keep, change)
			s.Journal = &all
			run(t, s)
			made, h := map[string]int{}, 0
			for _, e := range all {
				switch e.Kind {
				case federation.RoundStarted:
					h++
				case federation.ResponseArrived:
					made[fmt.Sprint(h, e.Device)] = int(e.Amount)
				}
			}
			return made
		}
		usual, partial := steps(0), steps(1)
		if len(usual) != 70 || len(partial) != 70 {
			t.Fatalf("%s: %d and %d responses, want 70", protocol, len(usual), len(partial))
		}
		less := 0
		for h := range 10 {
			for k := range sizes {
				at := fmt.Sprint(h+1, k)
				want := max(1, usual[at]*fewEpochs(k, h)/allEpochs)
				// A mini-batch that is not whole pays a whole update, for which it may give up a row.
				if partial[at] != want && partial[at] != want-1 {
					t.Errorf("%s, round %d, device %d: %d steps of %d, want %d", protocol, h+1, k, partial[at],
						usual[at], want)
				}
				if usual[at] < sizes[k]*allEpochs {
					less++
				}
			}
		}
		if less == 0 {
			t.Errorf("%s: every device has the time for all epochs", protocol)
		}
	}
}

// A round of the first responses ends with those that the server takes.
func TestPartialWorkDoesNotEndARound(t *testing.T) {
	out := run(t, stragglers(t, "fedavg", protocols.First, 0.4, federation.Drop, func(s *Setup) {
		s.Config.Clients.Count, s.Config.Over = 3, 2
		s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 0.4
	}))
	for _, r := range out.Rounds[1:] {
		if r.Participants != 3 {
			t.Errorf("round %d: %d responses taken, want 3 of the 4 devices with full work", r.Round, r.Participants)
		}
	}
}

// fewEpochs returns how many epochs a device makes in round h where all devices do partial work.
func fewEpochs(client, h int) int {
	s := rng.New(testSeed, rng.Partial, client, h)
	s.Float64() // its key
	return 1 + s.IntN(allEpochs-1)
}
