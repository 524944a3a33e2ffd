package methods

import (
	"math"
	"slices"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/internal/tools/expect"
)

// The weights of responses by hand.
func TestFedAsyncWeights(t *testing.T) {
	for _, c := range []struct {
		o    fedAsyncOptions
		want map[int]float64
	}{
		{fedAsyncOptions{Alpha: 0.6, Staleness: kit.Constant}, map[int]float64{0: 0.6, 100: 0.6}},
		{fedAsyncOptions{Alpha: 0.6, Staleness: polynomial, A: 0.5}, map[int]float64{0: 0.6, 3: 0.3, 8: 0.2}},
		{fedAsyncOptions{Alpha: 1, Staleness: polynomial, A: 2}, map[int]float64{0: 1, 1: 0.25, 9: 0.01}},
		{fedAsyncOptions{Alpha: 0.8, Staleness: hinge, A: 10, B: 4},
			map[int]float64{0: 0.8, 4: 0.8, 5: 0.8 / 11, 6: 0.8 / 21}},
	} {
		for tau, want := range c.want {
			got := c.o.weight(tau)
			expect.That(t, near(got, want, 1e-15), "%+v: the weight at %d is %.17g, want %.17g", c.o, tau, got, want)
		}
	}
}

// FedAsync on events in any order is Algorithm 1 of its paper, row by row: every response,
// of the model that the device was sent, is mixed into the server's model.
func TestFedAsyncIsItsAlgorithm(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	local := byRowsOf(kit.LocalSGDOptions{Epochs: 2, Batch: 4, Step: 0.1, L2: 0.01, Shuffle: true}).LocalSGDOptions
	const mu, alpha = 0.3, 0.7
	a := start(t, "fedasync", p, c, func(o algorithms.Options) {
		*o.(*fedAsyncOptions) = fedAsyncOptions{LocalSGDOptions: local, Mu: mu, Alpha: alpha, Staleness: polynomial,
			A: 0.5}
	}).(*fedAsync)
	w, sent, version, steps := make([]float64, 9), [3][]float64{}, [3]int{}, 0
	send := func(k int) {
		a.Send(k)
		sent[k], version[k] = slices.Clone(w), steps
	}
	for k := range 3 {
		send(k)
	}
	for h, k := range []int{2, 0, 2, 2, 1, 0, 2, 1, 1, 0, 2} {
		a.Solve(request(k, h, algorithms.NoLimit, 0))
		u := slowSteps(p, local, k, h, local.Step, mu, sent[k], nil)
		weight := alpha / math.Sqrt(1+float64(steps-version[k]))
		for j := range w {
			w[j] = (1-weight)*w[j] + weight*u[j]
		}
		steps++
		taken, flops, _ := a.Receive(k)
		expect.Must(t, taken && flops == 5*9, "response %d: taken is %t at %g FLOPs", h, taken, flops)
		nearVector(t, "w", a.Model().W.Row(0), w, 1e-12)
		send(k)
	}
	expect.That(t, a.steps == 11, "%d server steps of 11 responses", a.steps)
}

// A response that comes in a later round, to a device that the server has not asked again,
// is as stale as the model that the device was sent.
func TestLateResponsesAreStale(t *testing.T) {
	p, c := randomProblem(t, tiedToMean, nil, 9, 14, 5, 30)
	for _, name := range []string{"fedasync", "fedbuff"} {
		a := start(t, name, p, c, func(o algorithms.Options) {
			smaller(o)
			if o, ok := o.(*FedBuffOptions); ok {
				o.Buffer = 1
			}
		})
		a.Begin()
		for k := range 3 {
			a.Solve(request(k, 0, algorithms.NoLimit, 0))
		}
		a.Commit(1, 1)
		a.Commit(2, 1)
		a.End()
		late := slices.Clone(a.(algorithms.Inspected).Update(0).Values)
		a.Begin()
		before := slices.Clone(a.Model().W.Row(0))
		a.Commit(0, 1)
		a.End()
		want := slices.Clone(before)
		for j := range want { // two server steps later, from w = 0
			if weight := 0.6 / math.Sqrt(3); name == "fedasync" {
				want[j] += weight * (late[j] - before[j])
			} else {
				want[j] += late[j] / math.Sqrt(3)
			}
		}
		nearVector(t, name, a.Model().W.Row(0), want, 1e-14)
		// The next round sends the device the present model.
		a.Begin()
		s := a.(interface{ staleness(int) int }).staleness(0)
		expect.That(t, s == 0, "%s: a model of %d steps ago is sent", name, s)
	}
}
