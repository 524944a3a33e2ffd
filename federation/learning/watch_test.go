package learning

import (
	"context"
	"reflect"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/methods"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/protocols"
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
		out, err := start(t, world(t, "mocha", protocols.Deadline, func(s *Setup) {
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
	for method, protocol := range map[string]string{"mocha": protocols.Deadline, "fedavg": protocols.Deadline,
		"async-mocha": protocols.Asynchronous} {
		ctx, cancel := context.WithCancel(t.Context())
		out, err := start(t, world(t, method, protocol, func(s *Setup) {
			epochs := 1e6
			if protocol == protocols.Deadline {
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
