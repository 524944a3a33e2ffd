package learning

import (
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/racetest"
	"fedsim/mtl"
)

// Theta costs no virtual time and changes nothing: the same run without it is
// the same to the bit.
func TestThetaChangesNothing(t *testing.T) {
	for _, method := range []string{"mocha", "cocoa", "mb-sdca", "mb-sgd"} {
		for _, protocol := range []string{federation.WaitForAll, protocols.Deadline, protocols.Charged} {
			if method == "cocoa" && protocol != federation.WaitForAll {
				continue
			}
			setup := func(every int) Setup {
				return world(t, method, protocol, func(s *Setup) {
					s.Faults.DropProbability.All = 0.3
					s.Schedule.ThetaEvery = every
				})
			}
			plain, measured := run(t, setup(0)), run(t, setup(3))
			for h := range measured.Rounds {
				x := &measured.Rounds[h]
				if want := method != "mb-sgd" && x.Round > 0 && x.Round%3 == 0; (x.Thetas != nil) != want {
					t.Errorf("%s, %s: round %d has thetas: %v, want %v", method, protocol, x.Round, x.Thetas != nil,
						want)
				}
				x.Thetas = nil
			}
			if err := same(plain, measured); err != nil {
				t.Errorf("%s, %s: %v", method, protocol, err)
			}
		}
	}
}

// Devices that have not answered have theta = 1 (section 3.4: a dropped node),
// as many as the round says have been taken answered, and some progress was made.
func TestThetaOfDroppedDevicesIsOne(t *testing.T) {
	var told entries
	out := run(t, world(t, "mocha", protocols.Charged, func(s *Setup) {
		s.Faults.DropProbability.All = 0.4
		s.Schedule.Rounds, s.Schedule.ThetaEvery = 40, 1
		s.Journal = &told
	}))
	taken := map[[2]int]bool{} // by round and device
	for _, e := range told {
		if e.Kind == federation.UpdateTaken {
			taken[[2]int{int(e.Round), int(e.Device)}] = true
		}
	}
	dropped := 0
	for _, r := range out.Rounds[1:] {
		if len(r.Thetas) != len(sizes) {
			t.Fatalf("round %d has %d thetas, want one for each of %d devices", r.Round, len(r.Thetas), len(sizes))
		}
		answered := 0
		for k, theta := range r.Thetas {
			switch {
			case !taken[[2]int{r.Round, k}]:
				dropped++
				if theta != 1 {
					t.Errorf("round %d: device %d dropped and has theta %g, want 1", r.Round, k, theta)
				}
			case theta < 0 || theta > 1:
				t.Errorf("round %d: theta of device %d = %g, want it in [0, 1]", r.Round, k, theta)
			case theta < 1:
				answered++
			}
		}
		if answered > r.Participants {
			t.Errorf("round %d: %d devices made progress, the server took %d", r.Round, answered, r.Participants)
		}
	}
	if dropped == 0 {
		t.Error("nobody dropped: the test shows nothing")
	}
}

// Measured, theta is at most CoCoA's option on every device and in every round, up
// to the accuracy it is known to.
func TestCoCoAKeepsItsTheta(t *testing.T) {
	racetest.Skip(t, "compares many runs; shorter tests run the same rounds in parallel")
	for _, theta := range []float64{0.9, 0.5, 0.1, 0.01} {
		for _, rule := range []string{mtl.SigmaSpectral, mtl.SigmaPerTask} {
			out := run(t, cocoaWorld(t, rule, theta, 1e4, algorithms.StopTheta))
			largest := 0.0
			for _, r := range out.Rounds[1:] {
				for k, x := range r.Thetas {
					largest = math.Max(largest, x)
					if x > theta*(1+1e-9) {
						t.Errorf("round %d: device %d has theta %g, want at most %g", r.Round, k, x, theta)
					}
				}
			}
			if largest < theta/2 || out.Capped != 0 {
				t.Errorf("theta = %g: the largest is %g, %d were capped: the test shows nothing", theta, largest,
					out.Capped)
			}
		}
	}
}

// cocoaWorld is a world of CoCoA whose theta is measured in every round.
func cocoaWorld(t *testing.T, rule string, theta, epochs float64, stop string) Setup {
	return world(t, "cocoa", federation.WaitForAll, func(s *Setup) {
		s.Problem = randomProblem(t, features, sizes...)
		s.Problem.Config.SigmaPrime = rule
		s.Schedule.Rounds, s.Schedule.ThetaEvery = 60, 1
		*s.Options.(*algorithms.CoCoAOptions) = algorithms.CoCoAOptions{Theta: theta, Stop: stop, CheckEvery: 0.1,
			MaxEpochs: epochs}
	})
}

// A run counts the devices whose work ended at max_epochs: under the true theta they
// are those whose theta is larger than they were asked for. Under the certificate
// they are the more the later it is, though their theta is small by then.
func TestCoCoACountsWhoWasShortOfTheta(t *testing.T) {
	out := run(t, cocoaWorld(t, mtl.SigmaSpectral, 0.2, 1, algorithms.StopTheta))
	short := int64(0)
	for _, r := range out.Rounds[1:] {
		for _, x := range r.Thetas {
			if x > 0.2 {
				short++
			}
		}
	}
	all := int64(60 * len(sizes))
	if out.Limit != "max_epochs" || out.Capped != short || short < all/20 || short > all*19/20 {
		t.Errorf("%d of %d updates were capped at %q, %d had a theta above 0.2", out.Capped, all, out.Limit, short)
	}
	if out := run(t, world(t, "mocha", federation.WaitForAll, nil)); out.Limit != "" || out.Capped != 0 {
		t.Errorf("mocha, which has no theta to reach: %d capped at %q", out.Capped, out.Limit)
	}

	early := run(t, cocoaWorld(t, mtl.SigmaSpectral, 0.9, 20, algorithms.StopCertificate))
	thetas, half := 0.0, early.Rounds[31:]
	for _, r := range half {
		for _, x := range r.Thetas {
			thetas += x / float64(len(half)*len(sizes))
		}
	}
	if thetas > 0.5 {
		t.Errorf("under the certificate the mean theta of the later rounds is %g, as if the bound were tight", thetas)
	}
}
