package learning

import (
	"errors"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/devices/fleets"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/rooms/fit"
	"fedsim/mtl"
)

// What does not go together is refused before anything runs, all of it at once,
// with the keys of the scenario.
func TestRefusals(t *testing.T) {
	keepREFL := func(s *Setup) {
		s.Config.Clients.Count, s.Config.Late = 2, federation.KeepREFL
		setEpochs(s, 1)
	}
	for _, c := range []struct {
		name, method, protocol string
		change                 func(*Setup)
		want                   string
	}{
		{"a method of rounds", "fedavg", protocols.Asynchronous, nil,
			`federation.protocol = "asynchronous": must be another: fedavg works in rounds`},
		{"no amount of work", "mocha", federation.WaitForAll,
			func(s *Setup) { s.Options.(*algorithms.MOCHAOptions).Epochs = 0 },
			`federation.protocol = "wait-for-all": must be "deadline" with fit_work, or "charged": ` +
				`mocha has no setting for the amount of local work`},
		{"no batch", "mb-sgd", federation.WaitForAll, func(s *Setup) { s.Options.(*algorithms.MbSGDOptions).Batch = 0 },
			`federation.protocol = "wait-for-all": must be "deadline" with fit_work, or "charged": ` +
				`mb-sgd has no setting for the amount of local work`},
		{"a method that the authors do not have", "mocha", federation.WaitForAll, func(s *Setup) {
			s.Config.Cost = federation.Authors
			described(s, func(d *algorithms.Description) { d.Work.AuthorUnits = 0 })
		},
			`federation.cost = "authors": must be "physical" or "relative": the authors' drivers have no cost for ` +
				`mocha`},
		{"never", "mocha", federation.WaitForAll, func(s *Setup) { s.Faults.Never = []int{4, 2} },
			`faults.never = 2: must be empty under protocol "wait-for-all", which would wait forever`},
		{"p = 1", "mocha", federation.WaitForAll, func(s *Setup) { s.Faults.DropProbability.All = 1 },
			`faults.drop_probability = 1: must be below 1 under protocol "wait-for-all", which would wait forever`},
		{"p_t = 1", "mocha", federation.WaitForAll,
			func(s *Setup) { s.Faults.DropProbability.ByDevice = []float64{0, 0, 1, 0, 0, 0, 0} },
			`faults.drop_probability[2] = 1: must be below 1 under protocol "wait-for-all", which would wait forever`},
		{"p^h = 1", "mocha", federation.WaitForAll,
			func(s *Setup) { s.Faults.DropProbability.ByRound = []float64{0.5, 1} },
			`faults.drop_probability.by_round[1] = 1: must be below 1 under protocol "wait-for-all", ` +
				`which would wait forever`},
		{"nothing arrives", "mocha", federation.WaitForAll, func(s *Setup) { s.Network.LossProbability = 1 },
			`network.loss_probability = 1: must be below 1 under protocol "wait-for-all", which would wait forever`},
		{"partial work without epochs", "mb-sgd", federation.WaitForAll, func(s *Setup) { s.Config.PartialShare = 0.5 },
			`federation.partial_share = 0.5: must be 0 for mb-sgd, whose option "epochs" is "fill" or missing`},
		{"a part of one epoch", "fedavg", federation.WaitForAll, func(s *Setup) { s.Config.PartialShare = 0.5 },
			`federation.partial_share = 0.5: must be 0 or the option "epochs" of fedavg a whole number of at least ` +
				`2, not 1: a part of them is at least one`},
		{"partial work without rounds", "fedbuff", protocols.Asynchronous,
			func(s *Setup) { s.Config.PartialShare = 0.5; setEpochs(s, 3) },
			`federation.partial_share = 0.5: must be 0 under protocol "asynchronous": partial work is drawn for ` +
				`every round`},
		{"partial work by the authors", "mocha", federation.WaitForAll, func(s *Setup) {
			s.Config.PartialShare, s.Config.Cost = 0.5, federation.Authors
			setEpochs(s, 3)
		},
			`federation.partial_share = 0.5: must be 0 with cost "authors", which gives every device the same time`},
		{"work of the method under compass", "fedcompass", protocols.Compass, func(s *Setup) { setEpochs(s, 1) },
			`federation.protocol = "compass": must be another, or fedcompass have options.epochs = "fill": ` +
				`the protocol assigns the local steps`},
		{"no work but that of the protocol", "fedbuff", protocols.Asynchronous, func(s *Setup) { setEpochs(s, 0) },
			`federation.protocol = "asynchronous": must be "deadline" with fit_work, "charged" or "compass": ` +
				`fedbuff has no setting for the amount of local work`},
		{"rounds under compass", "fedavg", protocols.Compass, func(s *Setup) { setEpochs(s, 0) },
			`federation.protocol = "compass": must be another: fedavg works in rounds`},
		{"more clients than devices", "mocha", federation.WaitForAll, func(s *Setup) { s.Config.Clients.Count = 8 },
			`federation.clients_per_round = 8: must be at most 7, the number of devices`},
		{"some of the devices", "cocoa", federation.WaitForAll, func(s *Setup) { s.Config.Clients.Count = 3 },
			`federation.clients_per_round = 3: must be left out: cocoa needs a response of every device`},
		{"relative costs of a fleet", "mocha", federation.WaitForAll, func(s *Setup) {
			s.Config.Cost, s.Fleet = federation.Relative, &fleets.Fleet{Classes: []fleets.Class{class("a", 1)}}
		},
			`federation.cost = "relative": must be "physical" with a fleet: under others all devices and links ` +
				`are of one profile`},
		{"fedcs without a time limit", "fedavg", federation.WaitForAll, func(s *Setup) {
			selectBy(s, "fedcs", 3, 5)
			selectorOption(s, "RoundS", 0.0)
		},
			`starting selector fedcs: federation.selection_options.round_s = 0: must be positive: ` +
				`federation.deadline_s is not set`},
		{"tiers without hubs", "hierfavg", federation.WaitForAll, nil,
			`network.hubs.size = 0: must be positive: hubs of hierfavg average models`},
		{"stops in rounds", "ringmaster", protocols.First, func(s *Setup) { stopsOld(s, 1, true) },
			`federation.protocol = "first": must be "asynchronous", or ringmaster have options.stop = false: ` +
				`a round has one message to a client`},
		{"hubs of local learning", "local", federation.WaitForAll, func(s *Setup) { s.Network.HubSize = 2 },
			`network.hubs.size = 2: must be 0 for a method without messages: hubs have nothing to pass on`},
		{"weights of late updates of a dual method", "mocha", protocols.First, keepREFL,
			`federation.late = "keep-refl": must be "keep" or "drop": mocha cannot give updates weights`},
		{"weights of late updates that are not compared", "fednova", protocols.First, keepREFL,
			`federation.late = "keep-refl": must be another: fednova does not compare updates`},
		{"two at once", "cocoa", protocols.Deadline, func(s *Setup) { s.Config.Cost = federation.Authors },
			`federation.protocol = "deadline": must be "wait-for-all": cocoa needs a response of every device` + "\n" +
				`federation.cost = "authors": must be "physical" or "relative" under protocol "deadline": ` +
				`the authors' drivers have no clock cycle`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := New(world(t, c.method, c.protocol, c.change))
			if f != nil || err == nil || err.Error() != c.want {
				t.Fatalf("got  %v\nwant %s", err, c.want)
			}
			var problem config.Problem
			if !errors.As(err, &problem) || problem.Key == "" {
				t.Errorf("%v is not made of problems with keys", err)
			}
		})
	}
}

// Faults that wait-for-all can live with, and those that a deadline can.
func TestAccepted(t *testing.T) {
	for _, s := range []Setup{
		world(t, "cocoa", federation.WaitForAll, func(s *Setup) { s.Faults.DropProbability.All = 0.999 }),
		world(t, "mocha", protocols.Deadline,
			func(s *Setup) { s.Faults.DropProbability.All, s.Faults.Never = 1, []int{0} }),
		world(t, "mb-sdca", protocols.Charged, func(s *Setup) { s.Network.LossProbability = 1 }),
		world(t, "mb-sgd", protocols.Charged, func(s *Setup) { s.Config.Cost = federation.Authors }),
	} {
		if _, err := New(s); err != nil {
			t.Error(err)
		}
	}
}

// A method that cannot be built says which one it is.
func TestMethodThatCannotStart(t *testing.T) {
	broken := errors.New("no room")
	_, err := New(world(t, "mocha", federation.WaitForAll, func(s *Setup) {
		s.Factory.New = func(algorithms.Setup, algorithms.Options) (algorithms.Algorithm, error) { return nil, broken }
	}))
	if !errors.Is(err, broken) || err.Error() != "starting mocha: no room" {
		t.Errorf("got %v", err)
	}
}

// Problems that a method cannot learn.
func TestProblemsOfMethods(t *testing.T) {
	for _, method := range allMethods(func(d *algorithms.Description) bool { return d.Needs.Dual || d.Needs.Alone }) {
		factory, _ := algorithms.Lookup(method)
		about := factory.Describe(factory.Options(), mtl.Shape{})
		c := config.NewChecker()
		fit.Problem(c, mtl.LossHinge, mtl.ModelLinear, &about)
		fit.Tasks(c, &mtl.Config{Regularizer: mtl.RegIndependent}, false, &about)
		if err := c.Err(); err != nil {
			t.Errorf("%s: %v", method, err)
		}
		fit.Problem(c, mtl.LossSoftmax, mtl.ModelMLP, &about)
		want := []string{`problem.model = "mlp": must be "linear", or the method a primal one such ` +
			`as mb-sgd or fedavg: ` + method + ` is a dual method`,
			`problem.loss = "softmax": must be one of ` + strings.Join(mtl.ScoreLosses(), ", ") + `, which learn ` +
				`several classes one-vs-rest; or the method must be primal, such as mb-sgd or fedavg: ` + method +
				` is a dual method`}
		if about.Needs.Alone {
			fit.Tasks(c, &mtl.Config{Regularizer: mtl.RegMean}, true, &about)
			want = append(want, `problem.regularizer = "mean": must be "independent": clients of local exchange no `+
				`messages, and other regularizers couple them; or the method must be mocha`,
				`data.pool = true: must be false, and data.clients_per_task 1: clients of local exchange no messages, `+
					`and cannot share a model`)
		}
		if err := c.Err(); err == nil || err.Error() != strings.Join(want, "\n") {
			t.Errorf("got  %v\nwant %s", err, strings.Join(want, "\n"))
		}
	}
	// New asks for both.
	s := world(t, "local", federation.WaitForAll, nil)
	s.Problem = randomProblem(t, features, sizes...) // tied to their mean
	s.Coupling, _ = s.Problem.Regularizer.Start(s.Pool, s.Problem.Tasks())
	if _, err := New(s); err == nil || !strings.Contains(err.Error(), `problem.regularizer = "mean"`) {
		t.Errorf("coupled tasks: %v", err)
	}
	s = world(t, "mocha", federation.WaitForAll, nil)
	network := *s.Problem
	network.Config.Model = mtl.ModelMLP
	s.Problem = &network
	if _, err := New(s); err == nil || !strings.Contains(err.Error(), `problem.model = "mlp"`) {
		t.Errorf("a network: %v", err)
	}
}
