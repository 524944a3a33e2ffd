package methods

import (
	"testing"

	"fedsim/algorithms"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// everyAsynchronous tests the contract of Asynchronous on every registered method that
// works without rounds.
func everyAsynchronous(t *testing.T, f func(t *testing.T, name string, p *mtl.Problem, c mtl.Coupling)) {
	names := asynchronousMethods(t)
	expect.Must(t, len(names) >= 2, "only %v work without rounds", names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			problems(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) { f(t, name, p, c) })
			everyCoupling(t, func(t *testing.T, p *mtl.Problem, c mtl.Coupling) { f(t, name, p, c) })
		})
	}
}

// A refused response leaves no trace: the state does not change, and later rounds have
// the bits of a run in which the response was lost.
func TestRefusedResponsesLeaveNoTrace(t *testing.T) {
	t.Parallel()
	everyAsynchronous(t, func(t *testing.T, name string, p *mtl.Problem, c mtl.Coupling) {
		type try struct{ device, attempt int }
		refused := map[try]bool{}
		a := newCourse(start(t, name, p, c, impatient), p, random(3, 8))
		a.begin()
		for range 300 {
			before := snapshot(a.a)
			attempts := append([]int(nil), a.attempts...)
			k, taken := a.next()
			if !taken {
				refused[try{k, attempts[k]}] = true
				err := same(snapshot(a.a), before)
				expect.Must(t, err == nil, "device %d is refused: %v", k, err)
			}
		}
		all := name == "asgd" || name == "rescaled" || name == "ringleader"
		expect.Must(t, all == (len(refused) == 0), "%d responses were refused", len(refused))
		b := newCourse(start(t, name, p, c, impatient), p, random(3, 8))
		b.lost = func(k, attempt int) bool { return refused[try{k, attempt}] }
		b.begin()
		for range 300 {
			b.next()
		}
		if err := same(snapshot(a.a), snapshot(b.a)); err != nil {
			t.Errorf("refused against lost: %v", err)
		}
		expect.That(t, b.refused == 0 && b.taken == a.taken,
			"%d responses were taken and %d refused, want %d and 0", b.taken, b.refused, a.taken)
	})
}

// The work of Solve is tentative until Receive, and may be repeated.
func TestAsynchronousSolveIsTentative(t *testing.T) {
	everyAsynchronous(t, func(t *testing.T, name string, p *mtl.Problem, c mtl.Coupling) {
		a := start(t, name, p, c, smaller).(algorithms.Asynchronous)
		twin := start(t, name, p, c, smaller).(algorithms.Asynchronous)
		for h := range 5 {
			for k := range p.Clients() {
				values, _ := a.Send(k)
				expect.Must(t, values == p.Features, "device %d is sent %d values", k, values)
				twin.Send(k)
				before := snapshot(a)
				a.Solve(request(k, 1000+h, 3, 1))
				if w, v := a.Solve(request(k, h, algorithms.NoLimit, 0)),
					twin.Solve(request(k, h, algorithms.NoLimit, 1)); w != v || w.Values != uploads(name, p) {
					t.Fatalf("device %d, solving twice against once: %+v, %+v", k, w, v)
				}
				err := same(snapshot(a), before)
				expect.Must(t, err == nil, "device %d has solved: %v", k, err)
			}
			for k := range p.Clients() {
				a.Receive(k)
				twin.Receive(k)
			}
			if err := same(snapshot(a), snapshot(twin)); err != nil {
				t.Fatalf("after %d responses of each device: %v", h+1, err)
			}
		}
	})
}

// A round is a send to every device, and their responses in order without lost ones.
func TestRoundIsSendsThenResponses(t *testing.T) {
	everyAsynchronous(t, func(t *testing.T, name string, p *mtl.Problem, c mtl.Coupling) {
		a, b := start(t, name, p, c, smaller), start(t, name, p, c, smaller).(algorithms.Asynchronous)
		for h := range 20 {
			round(a, p, h, algorithms.NoLimit, func(k int) bool { return chance(k, h, 0.7) })
			for k := range p.Clients() {
				b.Send(k)
			}
			for k := range p.Clients() {
				b.Solve(request(k, h, algorithms.NoLimit, 0))
				if chance(k, h, 0.7) {
					b.Receive(k)
				} else {
					b.Discard(k)
				}
			}
			err := same(snapshot(a), snapshot(b))
			expect.Must(t, err == nil, "round %d: %v", h, err)
		}
	})
}

// A response allocates nothing once a worker has seen the largest task.
func TestResponsesAllocateNothing(t *testing.T) {
	everyAsynchronous(t, func(t *testing.T, name string, p *mtl.Problem, c mtl.Coupling) {
		a := start(t, name, p, c, smaller).(algorithms.Asynchronous)
		h := 0
		allocs := testing.AllocsPerRun(20, func() {
			for k := range p.Clients() {
				a.Send(k)
				a.Solve(request(k, h, algorithms.NoLimit, 0))
				if k == 1 {
					a.Discard(k)
				} else {
					a.Receive(k)
				}
			}
			h++
		})
		expect.That(t, allocs == 0, "%g allocations, want 0", allocs)
	})
}
