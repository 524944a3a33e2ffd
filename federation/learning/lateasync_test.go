package learning

import (
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/methods"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/parallel"
)

// asked drives a second instance of a method without rounds by hand: a device is sent the
// present model when it is asked, and only then, and the server takes its response when it comes.
type asked struct {
	algorithms.Algorithm
	byHand algorithms.Asynchronous
	f      *Federation
	late   int // responses taken after their round
}

func (a *asked) Solve(r algorithms.Request) algorithms.Response {
	a.byHand.Send(r.Device)
	a.byHand.Solve(r)
	return a.Algorithm.Solve(r)
}

func (a *asked) Commit(device int, weight float64) {
	if a.f.server.CurrentRound().Staleness(device) > 0 {
		a.late++
	}
	a.byHand.Receive(device)
	a.Algorithm.Commit(device, weight)
}

func (a *asked) Discard(device int) {
	a.byHand.Discard(device)
	a.Algorithm.Discard(device)
}

// Under late = "keep", a device that works for an earlier round is not sent the model again: its
// response is as stale as the model that it has.
func TestLateDevicesKeepTheModelThatTheyWereSent(t *testing.T) {
	for _, method := range []string{"fedbuff", "fedasync", "async-mocha", "ringmaster", "ringleader"} {
		s := world(t, method, protocols.First, func(s *Setup) {
			s.Config.Clients.Count, s.Config.Over, s.Config.Late = 3, 2, federation.Keep
			s.Network.Jitter = 0.9
			s.Schedule.Rounds = 60
			s.Pool = parallel.NewPool(1) // Solve is not called at once for several devices
			switch o := s.Options.(type) {
			case *methods.FedBuffOptions:
				o.Buffer = 2
			case *methods.AsyncMOCHAOptions:
				o.MaxStaleness = 4 // nothing else depends on the version
			}
		})
		f := start(t, s)
		byHand, err := f.setup.newMethod(f.coupling)
		if err != nil {
			t.Fatal(err)
		}
		a := &asked{Algorithm: f.method.Algorithm, byHand: byHand.Asynchronous, f: f}
		f.method.Algorithm = a
		finish(t, f)
		if a.late < 10 {
			t.Errorf("%s: %d responses are late: the test shows little", method, a.late)
		}
		if err := same(a.Model(), byHand.Model()); err != nil {
			t.Errorf("%s: run against messages by hand: %v", method, err)
		}
	}
}
