package clients

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"fedsim/devices"
	"fedsim/engine"
)

// staircase is a function of time that has a value from each instant on, in order; the first instant is 0.
type staircase struct {
	at    []engine.Time
	value []float64
}

func (s staircase) of(at engine.Time) (value float64, until engine.Time) {
	until = engine.Never
	for i := range s.at {
		if s.at[i] > at {
			return value, s.at[i]
		}
		value = s.value[i]
	}
	return value, until
}

func (s staircase) Speed(_ int, at engine.Time) (float64, engine.Time) { return s.of(at) }

func (s staircase) Available(_ int, at engine.Time) (bool, engine.Time) {
	value, until := s.of(at)
	return value > 0, until
}

// fate is the end of an attempt.
type fate struct {
	at          engine.Time // of the response or of the failure; Never: it has no end
	why         Reason      // 0: it has responded
	flops       float64
	down, up, j float64 // bytes, and joules until then
}

// slowly simulates the attempt of one client at steps of a list: the changes of its availability and of its speed, and
// the
// ends of its phases. A transfer takes 5 ms of latency and 8 us for each byte. It drops at a share of a phase.
func slowly(a Attempt, speed, presence staircase, resume bool, drops phase, cut float64, lost flags) (f fate) {
	now, idleS, down, up := 0.0, 0.0, 0.0, 0.0
	seconds := func(at engine.Time) float64 {
		if at == engine.Never {
			return math.Inf(1)
		}
		return at.Seconds()
	}
	// advance does so much of a phase, at a rate of 1 or at the speed of the processor.
	advance := func(left float64, computes bool, doing func(seconds, done float64)) (why Reason) {
		for left > 1e-12 {
			at := engine.FromSeconds(now)
			present, changes := presence.Available(0, at)
			if !present {
				if !resume || changes == engine.Never {
					return BecameUnavailable
				}
				idleS += seconds(changes) - now
				now = seconds(changes)
				continue
			}
			rate, paced := 1.0, engine.Never
			if computes {
				rate, paced = speed.of(at)
			}
			length := min(seconds(changes)-now, seconds(paced)-now, left/rate)
			if math.IsInf(length, 1) {
				now = length
				return 0
			}
			doing(length, length*rate)
			now, left = now+length, left-length*rate
		}
		return 0
	}
	const latency, each = 0.005, 8e-6
	transfer := func(bytes, share, watts float64, moved *float64) (why Reason) {
		length := latency + each*bytes
		passed := 0.0
		why = advance(length*share, false, func(_, done float64) { passed += done })
		moves := max(0, passed-latency)
		f.j += passed*(idleW+lteBase) + moves*watts
		*moved = math.Floor(moves/each + 1e-3)
		return why
	}
	shareOf := func(p phase) float64 {
		if drops == p {
			return cut
		}
		return 1
	}
	end := func(why Reason) fate {
		f.at, f.why, f.down, f.up, f.j = engine.FromSeconds(now), why, down, up, f.j+idleS*idleW
		if math.IsInf(now, 1) {
			f.at = engine.Never
		}
		return f
	}
	if why := transfer(a.BytesDown, shareOf(downlink), lteDown, &down); why != 0 {
		return end(why)
	}
	if drops == downlink {
		return end(DroppedOut)
	}
	if lost&downlinkLost != 0 {
		return end(MessageLost)
	}
	why := advance(a.FLOPs/1000*shareOf(compute), true, func(seconds,
		done float64) {
		f.flops += done * 1000
		f.j += 2 * seconds
	})
	if why != 0 || math.IsInf(now, 1) {
		return end(why)
	}
	if drops == compute {
		return end(DroppedOut)
	}
	if why := transfer(a.BytesUp, shareOf(uplink), lteUp, &up); why != 0 {
		return end(why)
	}
	if drops == uplink {
		return end(DroppedOut)
	}
	if lost&uplinkLost != 0 {
		return end(MessageLost)
	}
	return end(0)
}

// An attempt under random changes of availability and of speed, which drops or whose messages are lost, ends when the
// slow
// twin says, for its reason, and has moved, computed and drawn as much.
func TestAttemptAgainstSlowTwin(t *testing.T) {
	ends := map[Reason]int{}
	rapid.Check(t, func(rt *rapid.T) {
		random := func(name string, values ...float64) (s staircase) {
			at := engine.Time(0)
			for range rapid.IntRange(0, 6).Draw(rt, name) {
				s.at, s.value = append(s.at, at), append(s.value, rapid.SampledFrom(values).Draw(rt, "value"))
				at += engine.Time(rapid.IntRange(1_000_000, 700_000_000).Draw(rt, "ns"))
			}
			return staircase{append(s.at, at), append(s.value, 1)}
		}
		a := Attempt{
			BytesDown: float64(rapid.IntRange(0, 40_000).Draw(rt, "down")), BytesUp: float64(rapid.IntRange(0,
				40_000).Draw(rt, "up")),
			Work: devices.Work{FLOPs: float64(rapid.IntRange(0, 2000).Draw(rt, "FLOPs"))},
		}
		speed, presence := random("speeds", 0, 0.25, 1, 3), random("presences", 0, 1)
		presence.value[0] = 1 // it is asked when it is available
		resume, leaves := rapid.Bool().Draw(rt, "resume"), rapid.Bool().Draw(rt, "leaves")
		if leaves && len(presence.at) > 1 {
			presence.value[len(presence.at)-1] = 0
		}
		drops := rapid.SampledFrom([]phase{idle, idle, downlink, compute, uplink}).Draw(rt, "drops")
		cut := rapid.Float64Range(0.01, 0.99).Draw(rt, "cut")
		lost := rapid.SampledFrom([]flags{0, 0, downlinkLost, uplinkLost}).Draw(rt, "lost")
		got := fate{at: engine.Never}
		var c *Clients
		hear := func(why Reason) {
			moved := c.Take()
			c.batteries.Account(0, c.Now())
			got = fate{c.Now(), why, moved.FLOPs, moved.BytesDown, moved.BytesUp, c.Batteries().Spent(0)}
			c.Stop()
		}
		c = start(t, setup(1, func(s *Setup) {
			if s.Availability, s.Speed = presence, speed; resume {
				s.Faults.OnReturn = devices.Resume
			}
		}), Listener{Responded: func(int) { hear(0) }, Failed: func(_ int, why Reason) { hear(why) }})
		c.SetBytesDown(a.BytesDown)
		c.PrepareDownlink(0, 0, 0)
		c.at(0).drops, c.at(0).cut = drops, cut
		c.SetWork(0, a.Work, a.BytesUp)
		c.PrepareUplink(0)
		c.at(0).set(lost, true)
		c.Send(0)
		c.Run()
		want := slowly(a, speed, presence, resume, drops, cut, lost)
		ends[want.why]++
		if want.at == engine.Never && got.at == engine.Never {
			return
		}
		if got.why != want.why || !near(got.at, want.at, 200) || !near(got.flops, want.flops, 1e-3) ||
			!near(got.down, want.down, 1) || !near(got.up, want.up, 1) || !near(got.j, want.j, 1e-5) {
			rt.Fatalf("%+v, drops %v at %g: %+v, want %+v", a, drops, cut, got, want)
		}
	})
	for _, why := range []Reason{0, DroppedOut, MessageLost, BecameUnavailable} {
		if ends[why] == 0 && !testing.Short() {
			t.Errorf("no attempt has ended by %v", why)
		}
	}
}
