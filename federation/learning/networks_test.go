package learning

import (
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/methods"
	"fedsim/federation"
	"fedsim/internal/tools/parallel"
	"fedsim/mtl"
)

// deepWorld is a world in which devices train networks.
func deepWorld(t *testing.T, method, protocol string, workers int, change func(*Setup)) Setup {
	t.Helper()
	s := world(t, method, protocol, change)
	cfg := s.Problem.Config
	cfg.Model, cfg.Hidden, cfg.WarmOmega = mtl.ModelMLP, mtl.Widths{5}, 0
	s.Problem, s.Pool = withConfig(t, s.Problem, cfg), parallel.NewPool(workers)
	var err error
	if s.Coupling, err = s.Problem.Regularizer.Start(s.Pool, s.Problem.Tasks()); err != nil {
		t.Fatal(err)
	}
	return s
}

// Networks are sent whole, train under rounds, behind hubs and without rounds, with dropouts
// and the same bits on any number of workers.
func TestNetworksInAFederation(t *testing.T) {
	for _, c := range []struct {
		name, method, protocol string
		change                 func(*Setup)
	}{
		{"rounds", "fedprox", federation.WaitForAll, nil},
		{"one of each task", "mb-sgd", federation.WaitForAll, nil},
		{"hubs", "fedavg", federation.WaitForAll, func(s *Setup) { behind(s, 3) }},
		{"asynchronous", "fedbuff", "asynchronous", func(s *Setup) { s.Options.(*methods.FedBuffOptions).Buffer = 3 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var outs [3]*Outcome
			for i, workers := range []int{1, 2, 8} {
				s := deepWorld(t, c.method, c.protocol, workers, func(s *Setup) {
					if c.change != nil {
						c.change(s)
					}
					s.Faults.DropProbability.All = 0.2
				})
				f := start(t, s)
				out := finish(t, f)
				outs[i] = out
				if i > 0 && (out.ModelHash != outs[0].ModelHash || out.EventHash != outs[0].EventHash) {
					t.Errorf("%d workers: other bits than with one", workers)
				}
				d := float64(s.Problem.Features)
				if want := int(5*(d+1) + 6); s.Problem.Values() != want || f.setup.Shape.Values() != want {
					t.Errorf("%d values, want %d", s.Problem.Values(), want)
				}
			}
			rounds := outs[0].Rounds
			if last := rounds[len(rounds)-1]; !(last.Primal < rounds[0].Primal) {
				t.Errorf("P goes from %g to %g", rounds[0].Primal, last.Primal)
			}
			if rows := outs[0].Model.Rows; (c.method == "mb-sgd") != (rows > 1) || outs[0].ModelRows != rows {
				t.Errorf("the model has %d rows, %d are stored", rows, outs[0].ModelRows)
			}
		})
	}
}

func TestDualMethodsRefuseNetworks(t *testing.T) {
	for _, method := range allMethods(func(d *algorithms.Description) bool { return d.Needs.Dual }) {
		protocol := federation.WaitForAll
		if method == "async-mocha" {
			protocol = "asynchronous"
		}
		s := deepWorld(t, method, protocol, 1, nil)
		want := `problem.model = "mlp": must be "linear", or the method a primal one such as mb-sgd or fedavg: ` +
			method + " is a dual method"
		if _, err := New(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", method, err)
		}
	}
}
