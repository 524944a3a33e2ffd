package learning

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/methods"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/rooms/compress"
	"fedsim/internal/rooms/privacy"
	"fedsim/internal/tools/racetest"
)

// coded returns the settings of two codecs.
func coded(up, down string) *compress.Config {
	c := compress.Defaults()
	c.Up, c.Down, c.UpOptions.K.Share, c.DownOptions.K.Share = up, down, 0.4, 0.4
	return &c
}

// A timed run has the events of one that learns, with every codec whose messages have one
// size, also when devices miss rounds and their messages differ.
func TestTimedRunsCompressLikeLearning(t *testing.T) {
	racetest.Skip(t, "compares many runs; shorter tests run the same rounds in parallel")
	for _, up := range compress.Names() {
		for _, down := range []string{compress.None, compress.Float16, compress.TopK, compress.Sketch} {
			for _, m := range []struct{ method, protocol string }{{"fedavg", federation.WaitForAll},
				{"fedavg", protocols.Charged}, {"fedavg", protocols.Deadline}, {"scaffold", protocols.Charged},
				{"fednova", protocols.Charged}, {"mb-sgd", protocols.Charged}, {"mb-sdca", protocols.Charged},
				{"mb-sdca", federation.WaitForAll}} {
				method, protocol := m.method, m.protocol
				if method[:2] == "mb" && down != compress.None && down != compress.Float16 ||
					method == "mb-sdca" && up == compress.QSGD {
					continue
				}
				s := world(t, method, protocol, func(s *Setup) {
					s.Coding = coded(up, down).Codes()
					s.Faults.DropProbability.All = 0.2
					s.Network.Jitter, s.Config.Clients.Count = 0.3, 3
					s.Config.DeadlineS = 3
				})
				if s.Coding == nil || up == compress.Sparse {
					continue
				}
				learnt, events := run(t, s), run(t, timed(t, s))
				if learnt.EventHash != events.EventHash {
					t.Errorf("%s, %s, %s, %s: other events than with learning", method, up, down, protocol)
				}
			}
		}
	}
}

// The bytes of a round are those of the formulas, and times follow from them: a device takes
// 5 ms and 8 us a byte for a message.
func TestBytesOfCompressedRounds(t *testing.T) {
	for _, c := range []struct {
		up, down        string
		bytesUp, toEach int // payload
	}{
		{compress.None, compress.Float16, 8 * features, 2 * features},
		{compress.Float16, compress.None, 2 * features, 8 * features},
		{compress.QSGD, compress.None, (64 + 6*features + 7) / 8, 8 * features}, // 33 levels
		{compress.TopK, compress.QSGD, (2*(64+3) + 7) / 8, (64 + 6*features + 7) / 8},
		{compress.RandomK, compress.None, 2 * 8, 8 * features},
		{compress.Sign, compress.None, (64 + features + 7) / 8, 8 * features},
		{compress.Sketch, compress.None, 2 * 8, 8 * features},
		{compress.None, compress.Sign, 8 * features, (64 + features + 7) / 8},
	} {
		s := world(t, "fedavg", federation.WaitForAll,
			func(s *Setup) { s.Coding, s.Schedule.Rounds = coded(c.up, c.down).Codes(), 5 })
		n := float64(len(sizes))
		for _, r := range run(t, s).Rounds[1:] {
			down := n * float64(64+c.toEach)
			if compress.Biased(c.down) && r.Round == 1 { // devices hold nothing
				down = n * message
			}
			if r.BytesUp != n*float64(64+c.bytesUp) || r.BytesDown != down {
				t.Errorf("%s, %s, round %d: %g bytes up and %g down, want %g and %g", c.up, c.down, r.Round, r.BytesUp,
					r.BytesDown, n*float64(64+c.bytesUp), down)
			}
		}
	}
	// One device of the most rows decides the time of a round.
	plain := run(t, world(t, "fedavg", federation.WaitForAll, nil)).Rounds[1]
	half := run(t,
		world(t, "fedavg", federation.WaitForAll,
			func(s *Setup) { s.Coding = coded(compress.Float16, compress.None).Codes() })).Rounds[1]
	code := features / rate // one operation a value to encode
	if want := plain.TimeS - 8*6*features/1e6 + code; math.Abs(half.TimeS-want) > 1e-9 {
		t.Errorf("a round takes %v s with float16 up, want %v", half.TimeS, want)
	}
	if want := plain.FLOPs + float64(len(sizes)*features); half.FLOPs != want {
		t.Errorf("%g FLOPs, want %g", half.FLOPs, want)
	}
}

// The usual work of a client has that on codes and masks.
func TestUsualWorkHasCodesAndMasks(t *testing.T) {
	work := func(change func(*Setup)) float64 {
		f, err := New(world(t, "fedavg", federation.WaitForAll, change))
		if err != nil {
			t.Fatal(err)
		}
		return f.work.usualWork(0).FLOPs
	}
	plain := work(nil)
	if got := work(func(s *Setup) { s.Coding = coded(compress.Float16, compress.None).Codes() }); got != plain+
		features {
		t.Errorf("with float16 the usual work is %g FLOPs, want %d more than %g", got, features, plain)
	}
	masked := work(func(s *Setup) {
		p := privacy.Defaults()
		p.SecureAggregation, s.Privacy = "secagg", &p
		reflect.ValueOf(s.Options).Elem().FieldByName("Weights").SetString("equal")
	})
	p := privacy.Defaults()
	p.SecureAggregation = "secagg"
	if exchange := p.Exchange(len(sizes)); masked != plain+exchange.ClientFLOPs(features) {
		t.Errorf("with masks the usual work is %g FLOPs, without %g", masked, plain)
	}
}

// What cannot be compressed is refused, with the key, the cause and the remedy.
func TestRefusedCompression(t *testing.T) {
	for _, c := range []struct {
		method, protocol string
		change           func(*Setup)
		key, want        string
	}{
		{"fedavg", federation.WaitForAll, func(s *Setup) { s.Config.Cost = federation.Relative }, "federation.cost",
			"do not depend on the size"},
		{"fedavg", federation.WaitForAll, func(s *Setup) {
			p := privacy.Defaults()
			p.Mechanism, s.Privacy = "central", &p
		}, "compression.up", "epsilon would be wrong"},
		{"fedavg", federation.WaitForAll, func(s *Setup) { s.Network.HubSize = 2 }, "network.hubs.size", "hubs add up"},
		{"mocha", federation.WaitForAll, func(s *Setup) { s.Coding = coded(compress.QSGD, compress.None).Codes() },
			"compression.up", "never sent"},
		{"mocha", federation.WaitForAll, func(s *Setup) {
			unfed := coded(compress.TopK, compress.None)
			unfed.UpOptions.Feedback, s.Coding = false, unfed.Codes()
		}, "compression.up_options.feedback", "V = X a"},
		{"mocha", federation.WaitForAll, func(s *Setup) { s.Coding = coded(compress.TopK, compress.TopK).Codes() },
			"compression.down", "its own model"},
		{"async-mocha", protocols.Asynchronous, nil, "compression.up", "line search"},
	} {
		s := world(t, c.method, c.protocol, func(s *Setup) {
			s.Coding = coded(compress.TopK, compress.None).Codes()
			if c.change != nil {
				c.change(s)
			}
		})
		if c.method == "mocha" {
			s.Options.(*algorithms.MOCHAOptions).Epochs = 1
		}
		_, err := New(s)
		if problem, ok := find(err, c.key); !ok || !strings.Contains(problem.Want, c.want) {
			t.Errorf("%s: %v, want %s: ... %s", c.method, err, c.key, c.want)
		}
	}
	// Without learning there are no values to decide sizes.
	s := world(t, "fedavg", federation.WaitForAll,
		func(s *Setup) { s.Coding = coded(compress.Sparse, compress.None).Codes() })
	if _, err := New(timed(t, s)); err == nil || !strings.Contains(err.Error(), "one size") {
		t.Errorf("sparse in timing mode: %v", err)
	}
}

// find returns the problem of a key in a joined error.
func find(err error, key string) (config.Problem, bool) {
	if p, ok := err.(config.Problem); ok {
		return p, p.Key == key
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if p, ok := find(e, key); ok {
				return p, true
			}
		}
	}
	return config.Problem{}, false
}

// A coded gradient has a meaning for every method whose clients send one, with stops and without: its model ends near
// that of messages without codes. In a run without learning those codes are refused whose sizes depend on values, or on
// the steps that a client has missed.
func TestCodesOfGradients(t *testing.T) {
	racetest.Skip(t, "compares many runs; shorter tests run the same rounds in parallel")
	found := 0
	for _, method := range algorithms.Names() {
		factory, _ := algorithms.Lookup(method)
		if _, ok := methods.GradientMethodOf(factory.Options()); !ok {
			continue
		}
		found++
		var plain []float64
		check := func(up, down string, stop bool) {
			codes := coded(up, down)
			codes.UpOptions.K.Share, codes.UpOptions.Levels = 0.5, 64 // one of two values
			s := world(t, method, protocols.Asynchronous, func(s *Setup) {
				s.Problem, s.Speed, s.Coding = quadratics(t), seconds{1.1875, 2.5, 4.25, 7}, codes.Codes()
				s.Schedule.Rounds, s.Schedule.EvalEvery = 1600, 1600
				wholeGradients(s, 0.005, 5, stop)
			})
			w := run(t, s).Model.Row(0)
			if !codes.On() {
				plain = w
			}
			if away := math.Hypot(w[0]-plain[0], w[1]-plain[1]); away > 0.12 { // 0.114 with sketch, and at most 0.07
				t.Errorf("%s, stops %t, %s up, %s down: w ends at %v, without codes at %v", method, stop, up, down, w,
					plain)
			}
			fixed := up != compress.Sparse && down != compress.Sparse && !compress.Biased(down)
			if _, err := New(timed(t, s)); !stop && (err == nil) != fixed {
				t.Errorf("%s, %s up, %s down in timing mode: %v", method, up, down, err)
			}
		}
		for _, stop := range []bool{false, true} {
			if _, able := reflect.TypeOf(factory.Options()).Elem().FieldByName("Stop"); stop && !able {
				continue
			}
			check(compress.None, compress.None, stop)
			codecs := compress.Names()[1:]
			if stop {
				codecs = []string{compress.QSGD, compress.Sketch}
			}
			for _, codec := range codecs {
				check(codec, compress.None, stop)
				check(compress.None, codec, stop)
			}
		}
	}
	if found != 5 {
		t.Errorf("%d methods send gradients, want 5", found)
	}
}
