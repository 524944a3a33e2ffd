package clients

import (
	"math"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/tools/expect"
)

// hot returns one client that does 10^9 FLOP/s at 5.5 W and idles at 0.5 W, without time for messages, whose device
// has R = 6 K/W and C = 100 J/K: as the cases of the oracle say. change may be nil.
func hot(change func(*Setup)) Setup {
	return setup(1, func(s *Setup) {
		d, l := &s.Devices, &s.Network
		d.ClockGHz, d.FlopsPerCycle, d.IdleW, d.ComputeW, d.KPerW, d.JPerK = 1, 1, 0.5, 5.5, 6, 100
		l.DownlinkMbps, l.UplinkMbps, l.RTTms = 1e9, 1e9, 0
		if change != nil {
			change(s)
		}
	})
}

// throttling adds up how long clients were throttled, and their FLOPs until 450 s.
type throttling struct {
	slow  engine.Time
	flops float64
}

func (j *throttling) Note(e Entry) {
	if e.Kind == Span && e.Activity == Compute {
		j.slow += e.Throttled
		if e.To <= 450*second {
			j.flops += e.Amount
		}
	}
}

// attempts runs attempts of some GFLOP that begin at instants. It returns the end of each, the joules until the last
// end, and the journal. Each minute the spans are cut.
func attempts(t *testing.T, s Setup, gflop, at []float64) (ends []float64, joules float64, j *throttling, c *Clients) {
	j = &throttling{}
	s.Journal = j
	ended := func() {
		c.Batteries().AccountAll(c.Now())
		joules = c.Batteries().Spent(0)
		ends = append(ends, c.Now().Seconds())
	}
	c = start(t, s, Listener{Responded: func(int) { ended() }, Failed: func(int, Reason) { ended() }})
	for i := range gflop {
		c.RunUntil(engine.FromSeconds(at[i]))
		c.Start(0, Attempt{BytesDown: 1, Work: devices.Work{FLOPs: gflop[i] * 1e9}, BytesUp: 1})
	}
	for minute := c.Now(); minute < 10_000*second; minute += 60 * second {
		c.RunUntil(minute)
		c.CutSpans()
		c.Batteries().AccountAll(c.Now()) // accounts move no instant
	}
	return ends, joules, j, c
}

// TestHeatAgainstItsOracle compares with a program that integrates the equation of HeatConfig in closed form by
// stretches, and that was compared with Euler's method: 1 ns for each stretch, 10^-9 for energies.
func TestHeatAgainstItsOracle(t *testing.T) {
	away := staircase{[]engine.Time{0, 450 * second, 550 * second}, []float64{1, 0, 1}}
	for name, c := range map[string]struct {
		change     func(*Setup)
		gflop, at  []float64
		ends       []float64
		joules     float64
		throttledS float64 // -1: not known
		stretches  float64
	}{
		"S01, too short": {nil, []float64{400}, []float64{0}, []float64{400}, 2200, 0, 1},
		"S02": {nil, []float64{1000}, []float64{0}, []float64{1390.272386567}, 4992.64589746241,
			780.544773135, 7},
		"S04, the next attempt finds it warm": {nil, []float64{300, 600}, []float64{0, 900},
			[]float64{300, 1706.370007845}, 4981.71898980145, -1, 7},
		"S05, 35 C": {func(s *Setup) { s.Devices.AmbientC = 35 }, []float64{1000}, []float64{0},
			[]float64{1890.607065924}, 4342.21081429928, -1, 20},
		"S10, empty while throttled": {func(s *Setup) { s.Devices.BatteryWh = 0.75 }, []float64{5000}, []float64{0},
			[]float64{612.371310313}, 2700, 612.371310313 - 415.888308336, 2},
		"S11, cools while paused": {func(s *Setup) {
			s.Availability, s.Faults.OnReturn = away, devices.Resume
		}, []float64{800}, []float64{0}, []float64{1118.166831120}, 4166.38311954348, -1, 8},
		"S13, just below the threshold": {nil, []float64{415.888307920}, []float64{0}, []float64{415.888307920},
			415.888307920 * 5.5, 0, 1},
		"S13, just above": {nil, []float64{415.888308752}, []float64{0}, []float64{415.888309168}, -1, -1, 2},
		"S14, steady below it": {func(s *Setup) { s.Devices.KPerW = 2 }, []float64{1000}, []float64{0},
			[]float64{1000}, 5500, 0, 1},
	} {
		ends, joules, did, of := attempts(t, hot(c.change), c.gflop, c.at)
		throttledS := did.slow.Seconds()
		expect.Must(t, len(ends) == len(c.ends), "%s: ends %v", name, ends)
		for i, want := range c.ends {
			expect.That(t, math.Abs(ends[i]-want) <= c.stretches*1e-9+1e-12, "%s: ends at %.9f s, want %.9f", name,
				ends[i], want)
		}
		expect.That(t, c.joules < 0 || math.Abs(joules/c.joules-1) <= 1e-9, "%s: %.12g J, want %.12g", name, joules,
			c.joules)
		expect.That(t, c.throttledS < 0 || math.Abs(throttledS-c.throttledS) <= c.stretches*1e-9+1e-12,
			"%s: throttled for %.9f s, want %.9f", name, throttledS, c.throttledS)
		flops, want := of.Take().FLOPs, c.gflop[0]*1e9
		switch name {
		case "S04, the next attempt finds it warm":
			want = 900e9
		case "S10, empty while throttled":
			want = 514129809324.582
		case "S11, cools while paused":
			expect.That(t, math.Abs(did.flops/432.944154167984e9-1) <= 1e-9, "%s: %.12g FLOPs at 450 s", name,
				did.flops)
		}
		expect.That(t, math.Abs(flops/want-1) <= 1e-9, "%s: %.12g FLOPs, want %.12g", name, flops, want)
	}
	_, _, _, c := attempts(t, hot(nil), nil, nil)
	of, state, now := c.processors.machines.of, devices.State{}, engine.Time(0)
	for _, want := range []engine.Time{415888308336, 676069899381} { // S02: throttles, and recovers
		_, _, until := of.Pace(0, state, devices.Computing, now)
		state, now = of.After(0, state, devices.Computing, now, until), until
		expect.That(t, max(now-want, want-now) <= 2, "S02: throttles or recovers at %d, want %d ns", now, want)
	}
}

// euler integrates the heat of a device of hot by steps of a millisecond: it returns when some work is done that begins
// after a time of work and one of rest, and the joules of computing beyond idling until then.
func euler(h *devices.HeatConfig, slow bool, warm, rest, work float64) (end, joules float64) {
	const dt = 1e-3
	x, t, throttled := h.AmbientC+h.KPerW*0.5, 0.0, false
	step := func(computes bool) float64 {
		clock, power := 1.0, 1.0
		if slow {
			clock, power = 0.5, 0.32
		}
		if volts := 0.6 + 0.4*h.ThrottleClock; throttled {
			clock, power = min(clock, h.ThrottleClock), min(power, h.ThrottleClock*volts*volts)
		}
		watts := 0.5
		if computes {
			watts += 5 * power
			joules += 5 * power * dt
		}
		x += dt * (watts - (x-h.AmbientC)/h.KPerW) / h.JPerK
		t += dt
		throttled = !throttled && x >= h.ThrottleC || throttled && x > h.RecoverC
		if !computes {
			return 0
		}
		return clock * dt
	}
	for done := 0.0; done < warm; done += step(true) {
	}
	for from := t; t < from+rest; {
		step(false)
	}
	for done := 0.0; done < work; done += step(true) {
	}
	return t, joules
}

// TestHeatAgainstEuler compares devices with heat, and with a low battery, with steps of a millisecond.
func TestHeatAgainstEuler(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := devices.HeatConfig{
			KPerW: rapid.Float64Range(4, 12).Draw(r, "K/W"), JPerK: rapid.Float64Range(5, 20).Draw(r, "J/K"),
			AmbientC: rapid.Float64Range(-10, 20).Draw(r, "ambient"), ThrottleC: 43, RecoverC: 41.1,
			ThrottleClock: rapid.Float64Range(0.2, 0.9).Draw(r, "clock"),
		}
		slow := rapid.Bool().Draw(r, "slow")
		warm, rest := rapid.Float64Range(0, 200).Draw(r, "warm"), rapid.Float64Range(0, 200).Draw(r, "rest")
		work := rapid.Float64Range(1, 300).Draw(r, "work")
		s := hot(func(s *Setup) {
			s.Devices.HeatConfig = h
			if slow {
				s.Devices.BatteryWh, s.Devices.LowBattery, s.Devices.LowBatteryAction = 1000, 0.99, devices.Slow
				s.Devices.InitialCharge = 0.9
			}
		})
		c := start(t, s, Listener{})
		c.Start(0, Attempt{BytesDown: 1, Work: devices.Work{FLOPs: warm * 1e9}, BytesUp: 1})
		for c.AtWork(0) && c.Step() {
		}
		c.RunUntil(c.Now().Add(engine.FromSeconds(rest)))
		c.Start(0, Attempt{BytesDown: 1, Work: devices.Work{FLOPs: work * 1e9}, BytesUp: 1})
		for c.AtWork(0) && c.Step() {
		}
		c.Batteries().AccountAll(c.Now())
		joules := c.Batteries().Spent(0) - 0.5*c.Now().Seconds()
		end, want := euler(&h, slow, warm, rest, work)
		// Each change may be a step late, and each step makes an error in x of its second order.
		if math.Abs(c.Now().Seconds()-end) > 1e-3*end+0.05 || math.Abs(joules-want) > 2e-3*want+0.5 {
			r.Fatalf("ends at %v with %g J, Euler's method at %g s with %g J", c.Now(), joules, end, want)
		}
	})
}

// Heat that throttles nobody changes no event and no joule.
func TestHeatOutOfReachChangesNothing(t *testing.T) {
	for _, battery := range []float64{devices.Mains, 1.2} {
		run := func(throttleC float64) (digest uint64, events int64, joules float64) {
			s := hot(func(s *Setup) {
				s.Devices.BatteryWh, s.Devices.LowBattery, s.Devices.Charging = battery, 0.3, devices.WhenDepleted
				s.Devices.ChargeW, s.Network.DownlinkMbps, s.Network.RTTms = 7, 1, 50
				s.Availability = staircase{[]engine.Time{0, 100 * second, 150 * second}, []float64{1, 0, 1}}
				s.Faults.OnReturn = devices.Resume
				if s.Devices.ThrottleC = throttleC; throttleC == 0 {
					s.Devices.KPerW, s.Devices.JPerK = 0, 0
				}
			})
			c := start(t, s, Listener{})
			for n := range 10 {
				c.RunUntil(engine.Time(n) * 500 * second)
				if c.Idle(0) {
					c.Start(0, Attempt{Number: n, BytesDown: 1e6, Work: devices.Work{FLOPs: 4.5e11}, BytesUp: 1e6})
				}
			}
			c.RunUntil(6000 * second)
			c.Batteries().AccountAll(c.Now())
			return c.Clock().Digest(), c.Events(), c.Batteries().Spent(0)
		}
		digest, events, joules := run(0)
		d, e, j := run(900)
		expect.That(t, d == digest && e == events && math.Float64bits(j) == math.Float64bits(joules),
			"%v Wh: %d events, %g J with heat, %d events, %g J without", battery, e, j, events, joules)
		d, _, _ = run(43)
		expect.That(t, d != digest, "%v Wh: heat within reach changes nothing", battery)
	}
}

// A device with a machine has 32 bytes more, and none without.
func TestMachinesTakeFewBytes(t *testing.T) {
	expect.That(t, unsafe.Sizeof(carried{}) == 32, "%d bytes", unsafe.Sizeof(carried{}))
	expect.That(t, start(t, setup(1, nil), Listener{}).processors.machines == nil, "a device without heat has a state")
}

// The work that a device with heat does in a time takes that time, and a plan knows that it cools during a downlink.
func TestPlansKnowTheHeat(t *testing.T) {
	c := start(t, hot(nil), Listener{})
	for _, seconds := range []float64{1, 400, 600, 900, 5000} {
		flops := c.FLOPsWithin(0, 0, seconds)
		length := c.PresentCompute(0, 0, devices.Work{FLOPs: flops})
		expect.That(t, math.Abs(length.Seconds()-seconds) <= 1e-8, "%g s have %g FLOPs, which take %v", seconds, flops,
			length)
		expect.That(t, seconds <= 400 == (flops == seconds*1e9), "%g s have %g FLOPs", seconds, flops)
		c.SetWork(0, devices.Work{FLOPs: flops}, 1)
		expect.That(t, math.Abs(c.computeTime(0).Seconds()-seconds) <= 1e-7, "%g FLOPs take %v", flops,
			c.computeTime(0))
	}
	c.Start(0, Attempt{BytesDown: 1, Work: devices.Work{FLOPs: 3e11}, BytesUp: 1})
	c.RunUntil(300 * second)
	now, later := c.FLOPsWithin(0, 0, 300), c.FLOPsWithin(0, 60*second, 300)
	expect.That(t, now < later && later < 3e11, "%g FLOPs now, %g after a long downlink", now, later)
}
