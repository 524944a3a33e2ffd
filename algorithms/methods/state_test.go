package methods

import (
	"bytes"
	"testing"

	"fedsim/algorithms"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/state"
	"fedsim/mtl"
)

// A method resumed by another instance has the bits of one that was never interrupted:
// after rounds with drops, with work of others under way, and after an update of the
// coupling.
func TestMethodsResumeFromTheirState(t *testing.T) {
	everyMethod(t, func(t *testing.T, name string, p *mtl.Problem, c mtl.Coupling) {
		for _, learn := range []bool{false, true} {
			if learn && name == "cocoa" {
				continue // the alternation is the same for all dual methods, and this one is slow
			}
			coupling := c
			whole := start(t, name, p, coupling, impatient)
			play := func(a algorithms.Algorithm, from, to int) {
				for h := from; h < to; h++ {
					round(a, p, h, algorithms.NoLimit, func(k int) bool { return chance(k, h, 0.7) })
				}
			}
			play(whole, 0, 3)
			if learn {
				next, err := p.Regularizer.Update(testPool, p.TaskModels(whole.Model().W), p.Config.OmegaFloor)
				if err != nil {
					continue // it learns nothing
				}
				whole.SetCoupling(next)
				coupling = next
				play(whole, 3, 5)
			}
			asynchronous, ok := whole.(algorithms.Asynchronous)
			late := ok && !learn
			if late { // responses are under way
				for k := range 2 {
					asynchronous.Send(k)
					asynchronous.Solve(request(k, 5, algorithms.NoLimit, 0))
				}
				asynchronous.Send(2)
			}
			var kept bytes.Buffer
			w := state.Writing(&kept)
			whole.(algorithms.Stateful).State(w)
			resumed := start(t, name, p, coupling, impatient)
			r := state.Reading(&kept)
			resumed.(algorithms.Stateful).State(r)
			expect.Must(t, w.Err() == nil && r.Err() == nil && kept.Len() <= 0,
				"%v, %v; %d bytes left", w.Err(), r.Err(), kept.Len())
			for _, a := range []algorithms.Algorithm{whole, resumed} {
				if late {
					a := a.(algorithms.Asynchronous)
					a.Solve(request(2, 5, algorithms.NoLimit, 0))
					a.Receive(0)
					a.Receive(2)
					for k := range p.Clients() { // perhaps until the first is stale
						if k != 1 {
							a.Send(k)
							a.Solve(request(k, 6, algorithms.NoLimit, 0))
							a.Receive(k)
						}
					}
					a.Receive(1)
				}
				play(a, 6, 9)
			}
			if err := same(snapshot(whole), snapshot(resumed)); err != nil {
				t.Fatalf("learnt coupling %t: %v", learn, err)
			}
		}
	})
}

// impatient makes servers refuse stale responses.
func impatient(o algorithms.Options) {
	smaller(o)
	switch o := o.(type) {
	case *AsyncMOCHAOptions:
		o.MaxStaleness = 4
	case *FedBuffOptions:
		o.MaxStaleness = 2
	case *fedAsyncOptions:
		o.MaxStaleness = 4
	case *ringmasterOptions:
		o.Delay = 4
	case *FedCompassOptions:
		o.MaxStaleness = 4
	case *mifaOptions:
		o.Unseen = unseenWait
	}
}

// Work that is under way between two rounds, and taken in the next, survives a checkpoint.
func TestLateWorkIsInTheState(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	for _, name := range learningMethods() {
		set := func(o algorithms.Options) {
			impatient(o)
			if o, ok := o.(*fedNovaOptions); ok {
				o.TauEff = effectiveSteps
			}
		}
		whole := start(t, name, p, c, set)
		late := func(a algorithms.Algorithm, h, steps int) { // device 0 is late
			a.Begin()
			a.Solve(request(1, h, steps, 0))
			a.Solve(request(2, h, algorithms.NoLimit, 0))
			if h < 2 {
				a.Solve(request(0, h, steps, 0))
			}
			for k := range p.Clients() {
				if k > 0 || h != 1 {
					a.Commit(k, 1)
				}
			}
			a.End()
		}
		late(whole, 0, algorithms.NoLimit)
		late(whole, 1, 9)
		var kept bytes.Buffer
		whole.(algorithms.Stateful).State(state.Writing(&kept))
		resumed := start(t, name, p, c, set)
		r := state.Reading(&kept)
		if resumed.(algorithms.Stateful).State(r); r.Err() != nil || kept.Len() > 0 {
			t.Fatalf("%s: %v, %d bytes left", name, r.Err(), kept.Len())
		}
		late(whole, 2, algorithms.NoLimit)
		late(resumed, 2, algorithms.NoLimit)
		err := same(snapshot(whole), snapshot(resumed))
		expect.That(t, err == nil, "%s: %v", name, err)
	}
}
