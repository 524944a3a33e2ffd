package learning

import (
	"fmt"
	"testing"

	"fedsim/algorithms"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/racetest"
)

// stormy is a world in which everything happens that can.
func stormy(s *Setup) {
	for i := range ways {
		if ways[i].name == "everything" {
			ways[i].change(s)
		}
	}
	if s.Config.Protocol == federation.WaitForAll {
		s.Devices.BatteryWh *= 20 // enough for a round of all rows
	}
	s.Schedule.Rounds = 30
}

// The same bits in every figure and both hashes, for any number of workers, any
// queue, and with hooks or without.
func TestSameBitsWhateverComputesThem(t *testing.T) {
	for _, c := range []struct{ method, protocol string }{
		{"mocha", federation.WaitForAll}, {"mocha", protocols.Deadline}, {"mocha", protocols.Charged},
		{"cocoa", federation.WaitForAll}, {"mb-sdca", protocols.Deadline}, {"mb-sdca", protocols.Charged},
		{"mb-sgd", federation.WaitForAll}, {"mb-sgd", protocols.Deadline}, {"fedavg", protocols.Deadline},
		{"async-mocha", protocols.Deadline}, {"async-mocha", protocols.Asynchronous},
		{"fedbuff", protocols.Asynchronous}, {"fednova", protocols.Deadline}, {"fedyogi", protocols.Deadline},
		{"fedasync", protocols.Asynchronous}, {"ringleader", protocols.Asynchronous},
		{"fedcompass", protocols.Compass},
	} {
		t.Run(c.method+"/"+c.protocol, func(t *testing.T) {
			scene := func(workers int, queue string, hooks *engine.Hooks) *Outcome {
				return run(t, world(t, c.method, c.protocol, func(s *Setup) {
					stormy(s)
					polls(s)
					if o, ok := s.Options.(*algorithms.CoCoAOptions); ok {
						o.MaxEpochs = 2 // no longer than a charged battery lasts
					}
					overheads(s)
					s.Problem = learning(t)
					s.Schedule.Outer, s.Schedule.Rounds, s.Schedule.EvalEvery = 2, 15, 4
					s.Pool, s.Queue, s.Hooks = parallel.NewPool(workers), queue, hooks
				}))
			}
			first := scene(1, "", nil)
			if first.Status != "done" || first.Events == 0 || first.EventHash == 0 || first.ModelHash == 0 {
				t.Fatalf("%s (%s) after %d events, hashes %x and %x", first.Status, first.Reason, first.Events,
					first.EventHash, first.ModelHash)
			}
			for i, queue := range engine.Queues() {
				t.Run(queue, func(t *testing.T) {
					if i > 0 {
						racetest.Skip(t, "compares queues, each of which one goroutine uses")
					}
					for _, workers := range []int{1, 2, 8} {
						calls := 0
						hooks := &engine.Hooks{
							Scheduled: func(engine.Event) { calls++ },
							Fired:     func(engine.Event) { calls++ },
							Canceled:  func(engine.Event) { calls++ },
						}
						for _, h := range []*engine.Hooks{nil, hooks} {
							if err := same(scene(workers, queue, h), first); err != nil {
								t.Errorf("%d workers, hooks %v: %v", workers, h != nil, err)
							}
						}
						if calls == 0 {
							t.Error("the hooks were never called")
						}
					}
				})
			}
		})
	}
}

// The seed matters: another one is another run. So is another drop probability.
func TestSeedsDiffer(t *testing.T) {
	seen := map[uint64]string{}
	models := map[uint64]string{}
	for seed := range uint64(4) {
		for _, p := range []float64{0.1, 0.3} {
			name := fmt.Sprintf("seed %d, p = %g", seed, p)
			out := run(t,
				world(t, "mocha", protocols.Charged,
					func(s *Setup) { s.Seed, s.Faults.DropProbability.All = seed, p }))
			if other, ok := seen[out.EventHash]; ok {
				t.Errorf("%s has the events of %s", name, other)
			}
			if other, ok := models[out.ModelHash]; ok {
				t.Errorf("%s has the model of %s", name, other)
			}
			seen[out.EventHash], models[out.ModelHash] = name, name
		}
	}
}

// Common random numbers: two methods under one seed face the same devices, the
// same links and the same stragglers, round by round.
func TestMethodsFaceTheSameStragglers(t *testing.T) {
	type fate struct {
		dropped, downLost, upLost bool
		budget                    int
		down, up                  engine.Time
	}
	for _, c := range []struct{ protocol, strike string }{
		{protocols.Charged, devices.AtStart}, {protocols.Charged, devices.AtRandom},
		{protocols.Deadline, devices.AtStart}, {protocols.Deadline, devices.AtCompute},
	} {
		var fates [2][]fate
		var drops int
		for i, method := range []string{"mocha", "mb-sgd"} {
			f := start(t, world(t, method, c.protocol, func(s *Setup) {
				s.Faults.DropProbability.All, s.Faults.DropPhase = 0.3, c.strike
				s.Network.LossProbability, s.Network.Jitter = 0.1, 0.4
				s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 0.5
			}))
			f.clients.Begin()
			for range 50 {
				f.runRound()
				for k := range f.setup.Clients {
					d, at := f.server.Attempt(int(k)), f.clients.State(k)
					x := fate{dropped: d.Dropped, down: at.Downlink, up: at.Uplink, downLost: at.DownlinkLost,
						upLost: at.UplinkLost}
					if c.protocol == protocols.Charged {
						x.budget = int(f.budget(k))
					}
					if c.protocol == protocols.Deadline && at.UplinkLost {
						// An answer that is lost is late or dropped, whichever the
						// length of the computation makes it.
						x.dropped = false
					}
					if d.Dropped {
						drops++
					}
					fates[i] = append(fates[i], x)
				}
			}
		}
		different := 0
		for i := range fates[0] {
			if fates[0][i] != fates[1][i] {
				different++
				if different == 1 {
					t.Errorf("%s, %s: round %d, device %d: %+v for mocha, %+v for mb-sgd", c.protocol, c.strike,
						i/len(sizes), i%len(sizes), fates[0][i], fates[1][i])
				}
			}
		}
		if drops < 100 {
			t.Errorf("%s, %s: %d drops are too few to compare", c.protocol, c.strike, drops)
		}
	}
}

// More devices would have changed nothing for those that are there: a device's
// streams are its own. With a diagonal coupling even the model's rows are.
func TestDevicesAreIndependent(t *testing.T) {
	scene := func(n int) *Federation {
		f := start(t, world(t, "mocha", protocols.Charged, func(s *Setup) {
			s.Problem = randomProblem(t, features, sizes[:n]...)
			cfg := s.Problem.Config
			cfg.Regularizer = "independent"
			s.Problem = withConfig(t, s.Problem, cfg)
			s.Problem.Regularizer = fixedScale{0.5}
			s.Faults.DropProbability.All, s.Faults.DropPhase = 0.3, devices.AtRandom
			s.Network.Jitter, s.Network.LossProbability, s.Network.RateSpread = 0.4, 0.1, 0.5
		}))
		f.clients.Begin()
		return f
	}
	// The third is the smallest, so that n_min is 8 in both.
	few, many := scene(4), scene(7)
	for h := range 30 {
		few.runRound()
		many.runRound()
		for k := range few.setup.Clients {
			a, b := few.server.Attempt(int(k)), many.server.Attempt(int(k))
			if few.budget(k) != many.budget(k) || a.Dropped != b.Dropped || a.Responded != b.Responded ||
				few.clients.State(k).Downlink != many.clients.State(k).Downlink ||
				few.clients.State(k).Uplink != many.clients.State(k).Uplink {
				t.Fatalf("round %d, device %d: %+v among 4, %+v among 7", h, k, a, b)
			}
			for j, x := range few.method.Model().W.Row(k) {
				if y := many.method.Model().W.Row(k)[j]; x != y {
					t.Fatalf("round %d: w_%d[%d] is %v among 4, %v among 7", h, k, j, x, y)
				}
			}
		}
	}
}
