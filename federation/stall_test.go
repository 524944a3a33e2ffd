package federation_test

import (
	"math"
	"strings"
	"testing"

	"fedsim/devices"
	"fedsim/engine"
)

// still has rates and speeds of 0, and is away.
type still struct{}

func (still) Downlink(int, float64, engine.Time) (float64, engine.Time) { return 0, engine.Never }
func (still) Uplink(int, float64, engine.Time) (float64, engine.Time)   { return 0, engine.Never }
func (still) Speed(int, engine.Time) (float64, engine.Time)             { return 0, engine.Never }
func (still) Available(int, engine.Time) (bool, engine.Time)            { return false, engine.Never }

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

// always is a trace of chargers that are plugged in all the time, or never.
type always bool

func (a always) PluggedIn(int, engine.Time) (bool, engine.Time) { return bool(a), engine.Never }

// A run that cannot continue ends with the reason why, and one that can does not.
func TestStalls(t *testing.T) {
	all := []string{WaitForAll, Deadline, Charged, First, Asynchronous}
	drained := func(s *Setup) { joules(s, 8) }
	for _, c := range []struct {
		name      string
		protocols []string
		change    func(*Setup)
		reason    string // a part of it; empty: the run does not stall
		after     [2]int // the fewest and the most rounds before
	}{
		{"a battery is empty", []string{WaitForAll}, drained,
			`has an empty battery and is never charged, and protocol "wait-for-all" waits for it`, [2]int{1, 20}},
		{"batteries are empty", []string{Deadline, Charged, First}, drained,
			"every device's battery is empty and none is ever charged", [2]int{2, 60}},
		{"empty from the start", []string{WaitForAll}, func(s *Setup) { drained(s); s.Devices.InitialCharge = 0 },
			"device 0 has an empty battery", [2]int{0, 0}},
		{"all empty from the start", []string{Deadline, Charged, First},
			func(s *Setup) { drained(s); s.Devices.InitialCharge = 0 },
			"every device's battery is empty", [2]int{1, 1}},
		{"empty from the start, charged", all, func(s *Setup) {
			drained(s)
			s.Devices.InitialCharge, s.Devices.ChargeW, s.Devices.ReturnLevel = 0, 1, 1
		}, "", [2]int{}},
		{"refuses, not charged", []string{WaitForAll}, func(s *Setup) {
			joules(s, 20)
			s.Devices.LowBattery, s.Devices.ReturnLevel = 0.5, 0.6
		}, "battery", [2]int{2, 40}},
		{"never plugged in", []string{Deadline}, func(s *Setup) {
			drained(s)
			s.Devices.Charging, s.Devices.ChargeW, s.Charging = devices.Daily, 5, always(false)
		}, "battery", [2]int{2, 60}},
		{"always plugged in", []string{Deadline}, func(s *Setup) {
			drained(s)
			s.Devices.Charging, s.Devices.ChargeW, s.Charging = devices.Daily, 5, always(true)
		}, "", [2]int{}},
		{"no bandwidth", all[:1], func(s *Setup) { s.Bandwidth = still{} }, "of 0 Mbit/s forever", [2]int{0, 0}},
		{"no bandwidth", []string{First, Asynchronous}, func(s *Setup) { joules(s, 10); s.Bandwidth = still{} },
			"of 0 Mbit/s forever", [2]int{0, 1}},
		{"no speed", []string{WaitForAll, First, Asynchronous}, func(s *Setup) { joules(s, 10); s.Speed = still{} },
			"a speed of 0 forever", [2]int{0, 0}},
		{"away", []string{WaitForAll, First, Asynchronous}, func(s *Setup) { joules(s, 10); s.Availability = still{} },
			"unavailable forever", [2]int{0, 0}},
		{"empty batteries of restless devices", all, func(s *Setup) { s.Availability = restless{}; drained(s) },
			"battery", [2]int{0, 40}},
		{"away for good", all, func(s *Setup) { s.Availability = restless{engine.FromSeconds(4.6), len(sizes)} },
			"ever", [2]int{0, 60}},
		{"away for good in the middle of work", all, func(s *Setup) {
			s.Availability, s.Faults.OnReturn = restless{engine.FromSeconds(4.6), len(sizes)}, devices.Resume
		}, "ever", [2]int{0, 60}},
		{"one is away for good", []string{Deadline, First, Charged}, func(s *Setup) {
			s.Availability, s.Faults.OnReturn = restless{engine.FromSeconds(2.05), 1}, devices.Resume
		}, "", [2]int{}},
		{"one is away for good", all[:1], func(s *Setup) {
			s.Availability, s.Faults.OnReturn = restless{engine.FromSeconds(2.05), 1}, devices.Resume
		}, "device 0", [2]int{0, 10}},
		{"the server is too slow", []string{Deadline, Asynchronous}, func(s *Setup) { s.Config.ServerGFLOPS = 1e-300 },
			"federation.server_gflops", [2]int{0, 1}},
		{"the end of time", all, func(s *Setup) {
			s.Devices.ClockGHz = 1e-15 // 1e-6 FLOP/s: over 2e8 s for 8 rows
			if s.Config.Protocol == Deadline {
				s.Config.DeadlineS = 1e9
			}
		}, "292 years", [2]int{0, 60}},
		{"never responds", all[:1], func(s *Setup) {
			s.Faults.DropProbability.ByDevice = []float64{0, 1 - 0x1p-53, 0, 0, 0, 0, 0}
		}, "device 1 has been asked 100000 times in one round and never responded, and protocol", [2]int{0, 0}},
		{"nobody responds", []string{Asynchronous}, func(s *Setup) { s.Faults.DropProbability.All = 1 },
			"no response has arrived in 107001 attempts", [2]int{0, 0}},
	} {
		for _, protocol := range c.protocols {
			f := start(t, world(protocol, func(s *Setup) {
				s.Config.Fit = false
				if protocol == Deadline {
					s.Config.DeadlineS = 1.5
				}
				c.change(s)
			}), 1)
			o := f.Play(100)
			rounds := len(o.Rounds)
			if c.reason == "" {
				if o.Stalled != "" || rounds != 100 {
					t.Errorf("%s, %s: %q after %d rounds", c.name, protocol, o.Stalled, rounds)
				}
				continue
			}
			if !strings.Contains(o.Stalled, c.reason) || rounds < c.after[0] || rounds > c.after[1] ||
				c.reason != "battery" && strings.HasPrefix(c.reason, "of 0") && strings.Contains(o.Stalled, "battery") {
				t.Errorf("%s, %s: %q after %d rounds, want %q", c.name, protocol, o.Stalled, rounds, c.reason)
			}
			for h, r := range o.Rounds { // what had arrived is the beginning of the run
				if h > 0 && r.TimeS < o.Rounds[h-1].TimeS || math.IsNaN(r.EnergyJ) {
					t.Errorf("%s, %s: round %d: %+v", c.name, protocol, h+1, r)
				}
			}
		}
	}
}

// A battery that is depleted after the response stalls the next round, not this one.
func TestStalledBeforeTheNextRound(t *testing.T) {
	// Device 0 is done early and idles; it dies then.
	f := start(t, world(WaitForAll, func(s *Setup) {
		s.Clients, s.Rows = 2, []int32{5, 100}
		s.Devices.IdleW, s.Devices.ComputeW = 10, 0.01
		joules(s, 20) // 2 s of idling; device 1 computes for more than 3
	}), 1)
	f.Begin()
	if r, ok := f.Next(); !ok || r.Participants != 2 || r.Dropped != 0 || !f.Clients().Batteries().Depleted(0) ||
		f.Clients().Batteries().Depleted(1) {
		t.Fatalf("the first round: %+v, stalled: %q", r, f.Stalled())
	}
	if _, ok := f.Next(); ok || !strings.HasPrefix(f.Stalled(), "device 0 has an empty battery") {
		t.Errorf("stalled: %q", f.Stalled())
	}
}

// A device that is recharged to less than an attempt takes would be asked forever: the
// run stalls at once. With slightly more it responds, one attempt for each charge.
func TestStalledByABatteryTooSmallForAnAttempt(t *testing.T) {
	for _, states := range []bool{false, true} {
		for _, enough := range []bool{true, false} {
			s := world(WaitForAll, func(s *Setup) {
				s.Clients, s.Rows = 1, []int32{10}
				if states {
					s.Network.Profile, s.Network.Radio = "3g", "states"
				}
			})
			mains := start(t, s, 1)
			mains.Begin()
			alone, _ := mains.Next()
			need := alone.EnergyJ
			share := 1 + 1e-6
			if !enough {
				share = 1 - 1e-6
			}
			const charges = 4
			joules(&s, charges*need)
			s.Devices.Charging, s.Devices.ChargeW, s.Devices.ReturnLevel = devices.WhenDepleted, 10, share/charges
			s.Devices.ChargeDelayS = 20 // the radio sleeps then
			f := start(t, s, 1)
			if o := f.Play(8); o.Stalled == "" != enough || f.Clients().Try(0) > 10 {
				t.Errorf("enough = %t, states %t: %q after %d rounds, %d attempts", enough, states, o.Stalled,
					len(o.Rounds), f.Clients().Try(0))
			}
		}
	}
}
