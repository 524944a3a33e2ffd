package learning

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fedsim/algorithms"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/federation/servertest"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/parallel"
)

// hedged makes a setup ask half of its clients, and backups after so many seconds.
func hedged(s *Setup, after float64) {
	s.Config.Clients.Count = 3
	factory, _ := federation.LookupProtocol(protocols.Hedged)
	options := factory.Options()
	servertest.Set(options, "HedgeS", after)
	s.Config.SetOptions(options)
	setEpochs(s, 1)
}

// committed logs the requests to a method, without those of work that it discards, and what it commits.
type committed struct {
	algorithms.Algorithm
	open      map[int]algorithms.Request // of the round, by device; never iterated
	rounds    [][]algorithms.Request     // that were committed
	discarded int
}

func (c *committed) Begin() (algorithms.Sent, error) {
	c.rounds = append(c.rounds, nil)
	return c.Algorithm.Begin()
}

func (c *committed) Solve(q algorithms.Request) algorithms.Response {
	c.open[q.Device] = q
	return c.Algorithm.Solve(q)
}

func (c *committed) Commit(device int, weight float64) {
	last := len(c.rounds) - 1
	c.rounds[last] = append(c.rounds[last], c.open[device])
	c.Algorithm.Commit(device, weight)
}

func (c *committed) Discard(device int) {
	c.discarded++
	c.Algorithm.Discard(device)
}

// Canceled work leaves no trace in a dual method: its model, and its duality gap, are those of one that solved for the
// clients alone whose responses the server took.
func TestCanceledWorkLeavesNoTrace(t *testing.T) {
	make := func() Setup {
		return world(t, "mocha", protocols.Hedged, func(s *Setup) {
			hedged(s, 0.4)
			s.Schedule.Rounds = 20
			s.Pool = parallel.NewPool(1) // one worker: the log has an order
		})
	}
	f := start(t, make())
	log := &committed{Algorithm: f.method.Algorithm, open: map[int]algorithms.Request{}}
	f.method.Algorithm = log
	of := finish(t, f)
	more, canceled := 0.0, 0.0
	for i := range of.Rounds {
		r := &of.Rounds[i]
		if r.Round > 0 {
			more, canceled = more+r.Value("asked_more"), canceled+r.Value("canceled")
		}
		expect.That(t, r.Gap >= 0, "round %d: the duality gap is %g", r.Round, r.Gap)
	}
	expect.That(t, more >= 10 && canceled == more && log.discarded == int(canceled),
		"%g clients are asked more, %g canceled, %d discarded: the test shows little", more, canceled, log.discarded)
	twin := start(t, make())
	for _, round := range log.rounds {
		twin.method.Begin()
		for _, q := range round {
			twin.method.Solve(q)
		}
		for _, q := range round {
			twin.method.Commit(q.Device, 1)
		}
		twin.method.End()
	}
	got, want := f.method.Model(), twin.method.Model()
	expect.That(t, cmp.Equal(got.Duals, want.Duals), "the dual variables differ: %s", cmp.Diff(got.Duals, want.Duals))
	hash := func(m algorithms.Model) uint64 { return HashWeights(m.W, f.setup.Problem.StoredRows(m.W)) }
	expect.That(t, hash(got) == hash(want), "the model is %x, want %x", hash(got), hash(want))
}
