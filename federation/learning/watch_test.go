package learning

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/methods"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/results"
)

// restless is an availability trace that changes every second without end, except for
// devices that are unavailable forever from some time on.
type restless struct {
	leaves engine.Time // of the devices below gone
	gone   int
}

func (r restless) Available(device int, at engine.Time) (bool, engine.Time) {
	const length = engine.Time(1e9)
	if device < r.gone && at >= r.leaves {
		return false, engine.Never
	}
	until := at - at%length + length
	if device < r.gone {
		until = min(until, r.leaves)
	}
	return at/length%2 == 0, until
}

// briefly limits the work of devices to a few steps, under every protocol.
func briefly(s *Setup) {
	s.Config.Fit = false
	switch o := s.Options.(type) {
	case *algorithms.MOCHAOptions:
		o.Epochs = 0.1
	case *methods.AsyncMOCHAOptions:
		o.Epochs = 0.1
	}
}

// A run in which no device can ever work again ends with this reason, though
// availability changes without end.
func TestAFleetThatCanNeverActAgainEndsTheRun(t *testing.T) {
	n := len(sizes)
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline, federation.Charged, federation.First, federation.Asynchronous} {
		method := "mocha"
		if protocol == federation.Asynchronous {
			method = "async-mocha"
		}
		for _, c := range []struct {
			name   string
			change func(*Setup)
			reason string
		}{
			{"empty batteries", func(s *Setup) {
				s.Availability = restless{}
				s.Devices.BatteryWh = 0.001
			}, "battery"},
			{"away for good", func(s *Setup) {
				s.Availability = restless{leaves: engine.FromSeconds(4.6), gone: n}
			}, "ever"},
			{"away for good in the middle of their work", func(s *Setup) {
				s.Availability = restless{leaves: engine.FromSeconds(4.6), gone: n}
				s.Faults.OnReturn = devices.Resume
			}, "ever"},
		} {
			out := run(t, world(t, method, protocol, func(s *Setup) {
				s.Schedule.Rounds = 1_000_000
				briefly(s)
				c.change(s)
			}))
			if out.Status != results.Stalled || !strings.Contains(out.Reason, c.reason) {
				t.Errorf("%s, %s: %s after %d rounds: %q", protocol, c.name, out.Status, len(out.Rounds)-1, out.Reason)
			}
		}
	}
}

// A device that becomes unavailable forever during its work stalls only a protocol that
// waits for it.
func TestADeviceThatIsAwayForGoodIsNotWaitedFor(t *testing.T) {
	for protocol, status := range map[string]results.Status{federation.First: results.Done, federation.WaitForAll: results.Stalled, federation.Deadline: results.Done} {
		out := run(t, world(t, "mocha", protocol, func(s *Setup) {
			s.Availability = restless{leaves: engine.FromSeconds(2.05), gone: 1}
			s.Faults.OnReturn = devices.Resume
			briefly(s)
			s.Schedule.Rounds = 20
		}))
		if out.Status != status {
			t.Errorf("%s: %s after %d rounds: %q", protocol, out.Status, len(out.Rounds)-1, out.Reason)
		}
	}
}

// The work of a server that would end after virtual time does ends the run.
func TestAServerThatIsTooSlowEndsTheRun(t *testing.T) {
	for method, protocol := range map[string]string{"mocha": federation.Deadline, "async-mocha": federation.Asynchronous} {
		out := run(t, world(t, method, protocol, func(s *Setup) {
			s.Availability = restless{}
			s.Config.ServerGFLOPS = 1e-300
			briefly(s)
		}))
		if out.Status != results.Stalled || !strings.Contains(out.Reason, "federation.server_gflops") {
			t.Errorf("%s: %s after %d rounds: %q", protocol, out.Status, len(out.Rounds)-1, out.Reason)
		}
	}
}

// An interrupt ends a round of 31 years in which availability changes, and one in which
// a device computes as long with a speed that changes. Earlier rounds remain.
func TestAnInterruptEndsARoundWithoutEnd(t *testing.T) {
	var ctx context.Context
	var cancel context.CancelFunc
	for name, change := range map[string]func(*Setup){
		"presence": func(s *Setup) { s.Config.DeadlineS = 1e9 },
		"pace": func(s *Setup) {
			s.Config.Protocol, s.Config.DeadlineS = federation.WaitForAll, 0
			s.Availability, s.Speed, s.Devices.ClockGHz = nil, slowing{cancel}, 1e-16
		},
	} {
		ctx, cancel = context.WithCancel(t.Context())
		fired := 0
		out, err := start(t, world(t, "mocha", federation.Deadline, func(s *Setup) {
			s.Availability = restless{}
			briefly(s)
			s.Hooks = &engine.Hooks{Fired: func(engine.Event) {
				if fired++; fired == 5 {
					cancel()
				}
			}}
			change(s)
		})).Run(ctx, nil)
		if err != nil || out.Status != results.Interrupted || !out.MidRound || len(out.Rounds) != 1 {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
}

// started calls a function when a round starts.
type started func()

func (s started) Note(e federation.Entry) {
	if e.Kind == federation.RoundStarted {
		s()
	}
}

// An interrupt ends local work of years, within and without rounds.
func TestAnInterruptEndsLongWork(t *testing.T) {
	defer func(before int64) { overtimeWork = before }(overtimeWork)
	overtimeWork = 1 << 20
	for method, protocol := range map[string]string{"mocha": federation.Deadline, "fedavg": federation.Deadline, "async-mocha": federation.Asynchronous} {
		ctx, cancel := context.WithCancel(t.Context())
		out, err := start(t, world(t, method, protocol, func(s *Setup) {
			epochs := 1e6
			if protocol == federation.Deadline {
				epochs, s.Config.DeadlineS = 0, 1e9
			}
			reflect.ValueOf(s.Options).Elem().FieldByName("Epochs").SetFloat(epochs)
			s.Journal = started(cancel)
		})).Run(ctx, nil)
		if err != nil || out.Status != results.Interrupted || !out.MidRound || len(out.Rounds) != 1 {
			t.Errorf("%s: %+v, %v", method, out, err)
		}
	}
}

// slowing is the speed of processors that changes every millisecond. It calls a
// function when it is asked about the time after a second.
type slowing struct{ late func() }

func (s slowing) Speed(_ int, at engine.Time) (float64, engine.Time) {
	if at == engine.Time(1e9) {
		s.late()
	}
	const length = engine.Time(1e6)
	return 1 + float64(at/length%2), at - at%length + length
}
