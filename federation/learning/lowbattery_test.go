package learning

import (
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/clients"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/results"
)

// firstAnswers completes the setup of protocol "first".
func firstAnswers(s *Setup) {
	if s.Config.Protocol == federation.First {
		s.Options.(*algorithms.MOCHAOptions).Epochs = 1
		s.Config.Clients, s.Config.Over = 3, 1.5

	}
}

// A device is asked above the threshold and not below it. It completes the work that it
// has begun, and no battery is depleted.
func TestLowBatteriesRefuse(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline, federation.Charged, federation.First} {
		var f *Federation
		begun, refused, recovered := 0, 0, 0
		s := world(t, "mocha", protocol, func(s *Setup) {
			d := &s.Devices
			joules(s, 60)
			d.LowBattery, d.ReturnLevel, d.InitialCharge, d.InitialChargeSpread = 0.4, 0.5, 0.7, 0.3
			d.Charging, d.ChargeW, d.ChargeHour, d.ChargeHours = devices.Daily, 3, 0.01, 0.05 // from 36 s to 216 s
			s.Faults.DropProbability, s.Faults.DropPhase = 0.1, devices.AtRandom
			s.Schedule.Rounds = 60
			firstAnswers(s)
		})
		s.Hooks = witness(&f, func(e engine.Event, d clients.State) {
			k := int(e.Device)
			if e.Kind == clients.EventBatteryCheck && d.Refuses && !f.clients.Batteries().Low(k, e.At) {
				recovered++
			}
			if f.server.Ended() || e.Kind != clients.EventDownlinkDone {
				return
			}
			begun++
			// It was not low when it was asked, a transfer ago.
			if level := f.clients.Batteries().Level(k, e.At); level < 0.4-2*s.Devices.Device().ComputeW*d.Downlink.Seconds()/60 {
				t.Errorf("%s: device %d takes work at a level of %g", protocol, k, level)
			}
		})
		f = start(t, s)
		f.clients.Begin()
		for range 60 {
			at := f.clients.Now()
			low := 0
			for k := range f.setup.Clients {
				if f.clients.Batteries().Low(k, at) != f.clients.State(k).Refuses && !f.clients.Batteries().Depleted(k) {
					// Within a nanosecond of the threshold a level is rounded.
					if level := f.clients.Batteries().Level(k, at); math.Abs(level-0.4) > 1e-9 {
						t.Fatalf("%s: device %d refuses = %t at a level of %g", protocol, k, f.clients.State(k).Refuses, level)
					}
				}
				if !f.clients.Available(k) {
					low++
				}
			}
			if low != f.clients.Unavailable() {
				t.Fatalf("%s: %d devices cannot be reached, counted %d", protocol, low, f.clients.Unavailable())
			}
			refused += low
			r := f.runRound()
			if f.server.Stalled() != "" {
				t.Fatalf("%s: round %d: %s", protocol, r.Round, f.server.Stalled())
			}
		}
		if begun < 50 || refused == 0 || recovered == 0 {
			t.Errorf("%s: work was begun %d times, refused %d times, taken again %d times: nothing was tested", protocol, begun, refused, recovered)
		}
	}
}

// A threshold below every level changes nothing.
func TestThresholdsOutOfReachChangeNothing(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline} {
		for _, action := range []string{devices.Refuse, devices.Slow} {
			outcome := func(low float64) *Outcome {
				return run(t, world(t, "mocha", protocol, func(s *Setup) {
					joules(s, 1000)
					s.Devices.LowBattery, s.Devices.LowBatteryAction = low, action
				}))
			}
			a, b := outcome(0), outcome(0.01)
			if a.ModelHash != b.ModelHash {
				t.Errorf("%s, %s: another model", protocol, action)
			}
			if err := same(a.Rounds, b.Rounds); err != nil {
				t.Errorf("%s, %s: %v", protocol, action, err)
			}
		}
	}
}

// With a battery that is low from the start a device computes slowly:
// half the clock for 0.32 of the power beyond idling. Under a deadline it does half
// the steps.
func TestLowBatteriesSlowDown(t *testing.T) {
	round := func(protocol string, change func(*Setup)) (results.Round, *Federation) {
		f := start(t, world(t, "mocha", protocol, func(s *Setup) {
			joules(s, 1000)
			s.Devices.InitialCharge = 0.5
			if change != nil {
				change(s)
			}
		}))
		f.clients.Begin()
		return f.runRound(), f
	}
	slow := func(s *Setup) { s.Devices.LowBattery, s.Devices.LowBatteryAction = 0.6, devices.Slow }
	fast, at := round(federation.WaitForAll, nil)
	half, as := round(federation.WaitForAll, slow)
	longest := engine.Time(0)
	for k := range at.setup.Clients {
		a, b := at.clients.State(k).Compute, as.clients.State(k).Compute
		if diff := b - 2*a; diff < -1 || diff > 1 {
			t.Fatalf("device %d computes for %v, %v at its fastest", k, b, a)
		}
		longest = max(longest, a)
	}
	if !near(half.TimeS-fast.TimeS, longest.Seconds(), 3*nanosecond) {
		t.Errorf("a round takes %g s, %g s at the fastest", half.TimeS, fast.TimeS)
	}
	if watts := as.clients.Power(0, clients.Compute); !near(watts, idleW+0.32*(computeW-idleW), 1e-12) {
		t.Errorf("computing takes %g W", watts)
	}
	_, at = round(federation.Deadline, nil)
	_, as = round(federation.Deadline, slow)
	for k := range at.setup.Clients {
		if a, b := at.budget(k), as.budget(k); b != a/2 {
			t.Errorf("device %d has a budget of %d steps, %d at its fastest", k, b, a)
		}
	}
}

// Under wait-for-all a device that refuses work and is never charged idles until it is
// depleted, and the run stalls.
func TestRefusingWithoutAChargerStalls(t *testing.T) {
	out := run(t, world(t, "mb-sgd", federation.WaitForAll, func(s *Setup) {
		s.Options.(*algorithms.MbSGDOptions).Batch = 4
		joules(s, 20)
		s.Devices.LowBattery, s.Devices.ReturnLevel = 0.5, 0.6
		s.Schedule.Rounds = 1000
	}))
	if out.Status != results.Stalled || len(out.Rounds) < 3 {
		t.Errorf("%s after %d rounds", out.Status, len(out.Rounds)-1)
	}
}

// Charged by plan every joule is accounted for, with all states of the radio.
func TestEnergyIsConservedUnderAPlan(t *testing.T) {
	for _, protocol := range []string{federation.WaitForAll, federation.Deadline, federation.Charged, federation.First} {
		f := start(t, world(t, "mocha", protocol, func(s *Setup) {
			states(s, "3g")
			s.Config.DeadlineS = 3
			joules(s, 60)
			s.Devices.Charging, s.Devices.ChargeW, s.Devices.ChargeHours = devices.Daily, 4, 12
			s.Devices.ChargeHour, s.Devices.ChargeHourSpread = 0, 12
			s.Faults.DropProbability, s.Faults.DropPhase = 0.2, devices.AtRandom
			s.Network.Jitter = 0.3
			s.Schedule.Rounds = 100
			firstAnswers(s)
		}))
		out := finish(t, f)
		sum := 0.0
		for _, r := range out.Rounds {
			sum += r.EnergyJ
		}
		e := f.clients.Batteries().Total()
		if in, out := e.InitialJ+e.ChargedJ, e.DrainedJ+e.LeftJ; out == 0 || math.Abs(in-out) > 1e-9*in || !near(sum, e.DrainedJ, 1e-9) {
			t.Errorf("%s: %g J came in, %g J went out or are left; the rounds took %g J, the devices %g", protocol, in, out, sum, e.DrainedJ)
		}
		if e.ChargedJ == 0 || e.DrainedJ < 100 {
			t.Errorf("%s: %+v: nothing was tested", protocol, e)
		}
	}
}

// always is a trace of chargers that are plugged in all the time, or never.
type always bool

func (a always) PluggedIn(int, engine.Time) (bool, engine.Time) { return bool(a), engine.Never }

// With a charging trace a device works on its charger, or is depleted forever.
func TestChargersFollowATrace(t *testing.T) {
	outcome := func(plugged always) (*Outcome, *Federation) {
		f := start(t, world(t, "mocha", federation.Deadline, func(s *Setup) {
			joules(s, 5)
			s.Devices.Charging, s.Devices.ChargeW, s.Charging = devices.Daily, 5, plugged
			s.Schedule.Rounds = 60
		}))
		out := finish(t, f)
		return out, f
	}
	out, f := outcome(true)
	if e := f.clients.Batteries().Total(); out.Status != results.Done || f.clients.Unavailable() != 0 || !near(e.LeftJ, e.InitialJ, 1e-9) {
		t.Errorf("plugged in: %s, %d devices are gone, %+v", out.Status, f.clients.Unavailable(), e)
	}
	if out, f := outcome(false); out.Status != results.Stalled || f.clients.Batteries().Total().ChargedJ != 0 {
		t.Errorf("unplugged: %s after %d rounds", out.Status, len(out.Rounds)-1)
	}
	_, err := New(world(t, "mocha", federation.Deadline, func(s *Setup) { s.Charging = always(true) }))
	if want := `devices.charging = "never": must be left out: a trace or a model says when chargers are plugged in`; err == nil || err.Error() != want {
		t.Errorf("without a charger: %v", err)
	}
}
