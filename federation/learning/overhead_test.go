package learning

import (
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/devices"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/rooms/compress"
)

// The overheads of the tests: 100 ms for local work, 20 ms for a step, a second for 10^6 bytes,
// and a jitter of 30 %.
const (
	taskS    = 0.1
	stepS    = 0.02
	trafficS = 1e3
)

// overheads gives devices overheads and jitter.
func overheads(s *Setup) {
	s.Devices.TaskS, s.Devices.StepS, s.Devices.TrafficSPerGB, s.Devices.Jitter = taskS, stepS, trafficS, 0.3
}

// steadily gives devices overheads without jitter.
func steadily(s *Setup) {
	overheads(s)
	s.Devices.Jitter = 0
}

// A device fits as many steps into the clock cycle as take no longer than is left between its
// message and its response, overheads included, and no more. By hand for SDCA: a step takes
// 32 + 20 ms, and 5 d + 2 values of 8 bytes, 0.256 ms.
func TestDeadlinesPlanWithOverheads(t *testing.T) {
	left := 0.5 - 2*transferS
	byHand := int32((left - taskS) / (stepFLOPs/rate + stepS + (5*features+2)*8*1e-6))
	for _, method := range []string{"mocha", "fedavg", "scaffold", "ditto", "apfl", "mb-sgd", "mb-sdca", "feddyn"} {
		f := start(t, world(t, method, protocols.Deadline, func(s *Setup) {
			steadily(s)
			setEpochs(s, 0)
			if method != "mb-sgd" && method != "mb-sdca" {
				setOption(s.Options, "Batch", 5)
			}
		}))
		r := f.runRound()
		limited := 0
		for k := range f.setup.Clients {
			down, up := f.work.usualBytes(k)
			left := 0.5 - f.clients.ExpectedDownlink(k, down).Seconds() - f.clients.ExpectedUplink(k, up).Seconds()
			budget := int(f.budget(k))
			if got := f.estimated(k, budget); got > left+nanosecond {
				t.Errorf("%s: device %d plans %d steps of %g s, %g s are left", method, k, budget, got, left)
			}
			if got := f.estimated(k, budget+1); got <= left-nanosecond {
				t.Errorf("%s: device %d plans %d steps, but %d take %g s of %g s", method, k, budget, budget+1, got,
					left)
			} else {
				limited++
			}
			if method == "mocha" && f.budget(k) != byHand {
				t.Errorf("device %d plans %d steps, by hand %d fit", k, f.budget(k), byHand)
			}
			if got := f.clients.State(k).Compute.Seconds(); got > left+nanosecond {
				t.Errorf("%s: device %d computes %g s, %g s were left", method, k, got, left)
			}
		}
		if limited == 0 || r.Participants != f.setup.Clients || r.Late != 0 {
			t.Errorf("%s: %d responses, %d late; %d plans were limited", method, r.Participants, r.Late, limited)
		}
	}
}

// estimated returns how long so many steps of a client, and its work for messages, take in a plan.
func (f *Federation) estimated(client, steps int) float64 {
	batches, traffic := f.work.overheads(client, steps)
	flops := f.work.flops(client, steps) + f.work.messageFLOPs(f.setup.Shape.Values())
	return f.clients.Fleet().Seconds(client, devices.Work{FLOPs: flops, Steps: float64(batches), Traffic: traffic})
}

// A method may say how many mini-batches its work was, and what it read and wrote; otherwise its
// description does.
func TestMethodsDeclareOverheads(t *testing.T) {
	f := start(t, world(t, "fedavg", federation.WaitForAll, func(s *Setup) { setOption(s.Options, "Batch", 5) }))
	batches, traffic := f.work.overheads(0, 12)
	for _, c := range []struct {
		work algorithms.Response
		want devices.Work
	}{
		{algorithms.Response{Steps: 12, FLOPs: 9}, devices.Work{FLOPs: 9, Steps: 3, Traffic: traffic}},
		{algorithms.Response{Steps: 12, FLOPs: 9, Batches: 7}, devices.Work{FLOPs: 9, Steps: 7, Traffic: traffic}},
		{algorithms.Response{Steps: 12, FLOPs: 9, Traffic: 5}, devices.Work{FLOPs: 9, Steps: 3, Traffic: 5}},
	} {
		if got := f.work.done(0, &c.work); got != c.want || batches != 3 {
			t.Errorf("%+v is %+v, want %+v", c.work, got, c.want)
		}
	}
}

// A round under "charged" takes what the steps that it charges take, overheads included: 1.2 passes
// over the 8 rows of the smallest device are 9.6 steps of FLOPs and 9 whole steps.
func TestChargesHaveOverheads(t *testing.T) {
	f := start(t, world(t, "mocha", protocols.Charged, func(s *Setup) {
		steadily(s)
		s.Config.StepsHigh = 1.2
	}))
	f.runRound()
	charge := 9.6*stepFLOPs/rate + taskS + 9*stepS + 9*(5*features+2)*8*1e-6
	for k := range f.setup.Clients {
		if got := f.clients.State(k).Compute.Seconds(); math.Abs(got-charge) > nanosecond {
			t.Errorf("device %d is charged %g s, want %g", k, got, charge)
		}
	}
	if got, want := f.clients.Now().Seconds(), charge+2*transferS; math.Abs(got-want) > 3*nanosecond {
		t.Errorf("the round takes %g s, want %g", got, want)
	}
}

// A pass of FedAvg by hand: 12 rows in mini-batches of 5 are 3 steps. A row reads and writes
// 2 (d + 1) values, a mini-batch 6 d. Overheads are billed as computing.
func TestTimeAndEnergyOfAPass(t *testing.T) {
	f := start(t, world(t, "fedavg", federation.WaitForAll, func(s *Setup) {
		steadily(s)
		s.Problem = randomProblem(t, features, 12)
		setOption(s.Options, "Batch", 5)
	}))
	energy := f.runRound().EnergyJ
	bytes := 8.0 * (12*2*(features+1) + 3*6*features)
	want := taskS + 3*stepS + bytes*1e-6 + (12*4*features+3*5*features)/rate
	if got := f.clients.State(0).Compute.Seconds(); math.Abs(got-want) > nanosecond {
		t.Errorf("the pass takes %g s, want %g", got, want)
	}
	base := start(t, world(t, "fedavg", federation.WaitForAll, func(s *Setup) {
		s.Problem = randomProblem(t, features, 12)
		setOption(s.Options, "Batch", 5)
	}))
	more := energy - base.runRound().EnergyJ
	if overhead := want - (12*4*features+3*5*features)/rate; !near(more, computeW*overhead, 1e-6) {
		t.Errorf("overheads of %g s take %g J, want %g", overhead, more, computeW*overhead)
	}
}

// The work on the codes of messages is planned beside steps with overheads: it takes 6 ms.
func TestDeadlinesPlanWithCodes(t *testing.T) {
	for ms := 0; ms < 60; ms += 4 {
		f := start(t, world(t, "fedavg", protocols.Deadline, func(s *Setup) {
			steadily(s)
			setEpochs(s, 0)
			s.Config.DeadlineS = 0.4 + float64(ms)/1000
			s.Coding = coded(compress.Float16, compress.None).Codes()
		}))
		if r := f.runRound(); r.Late != 0 || r.Participants != f.setup.Clients {
			t.Fatalf("deadline %g s: %d of %d responses, %d late", f.setup.Config.DeadlineS, r.Participants,
				f.setup.Clients, r.Late)
		}
	}
}
