package clients

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/tools/expect"
	"fedsim/network"
)

// rates are those of all uplinks.
type rates struct{ staircase }

func (rates) Downlink(_ int, usual float64, _ engine.Time) (float64, engine.Time) {
	return usual, engine.Never
}

func (r rates) Uplink(_ int, _ float64, at engine.Time) (float64, engine.Time) { return r.of(at) }

// upload is the uplink of a client without a downlink and without work.
type upload struct {
	network.TimeoutConfig
	mbps     staircase
	bytes    float64
	latencyS float64
	beginS   float64
	presence staircase // empty: always available
	cell     bool      // the rates are those of a cell, not of the link
}

// run returns when the uplink is over, whether it arrives, the bytes that were sent, and the number of connections.
func (u *upload) run(t testing.TB) (endS float64, arrives bool, bytes float64, connections int) {
	s := setup(1, func(s *Setup) {
		s.Network.DownlinkMbps, s.Network.RTTms, s.Network.TimeoutConfig = 1e9, 2e3*u.latencyS, u.TimeoutConfig
		if s.Network.UplinkMbps = u.mbps.value[0]; u.cell {
			left := staircase{at: u.mbps.at}
			for _, mbps := range u.mbps.value {
				left.value = append(left.value, mbps/s.Network.UplinkMbps)
			}
			s.Network.Cells, s.Network.CellUpMbps, s.Capacity = 1, s.Network.UplinkMbps, shares{0: left}
		} else {
			s.Bandwidth = rates{u.mbps}
		}
		if u.presence.at != nil {
			s.Availability, s.Faults.OnReturn = u.presence, devices.Resume
		}
	})
	j := &dialed{}
	s.Journal = j
	var c *Clients
	end := func(ok bool) { endS, arrives = c.Now().Seconds(), ok }
	endS = math.Inf(1)
	c = start(t, s, Listener{Responded: func(int) { end(true) }, Failed: func(_ int, why Reason) {
		expect.That(t, why == TimedOut, "fails: %v", why)
		end(false)
	}})
	c.RunUntil(engine.FromSeconds(u.beginS - u.latencyS)) // the latency of the downlink
	c.Start(0, Attempt{BytesUp: u.bytes})
	c.RunUntil(1e6 * second)
	expect.That(t, !c.AtWork(0), "%+v: still at work", u)
	return endS, arrives, c.Take().BytesUp, j.n
}

// dialed counts the connections of uplinks.
type dialed struct{ n int }

func (j *dialed) Note(e Entry) {
	if e.Kind == Span && e.Activity == Uplink && !e.Cut {
		j.n++
	}
}

// TestTimeoutsAgainstTheirOracle compares with a program that follows connections in fractions.
func TestTimeoutsAgainstTheirOracle(t *testing.T) {
	steady := func(mbps float64) staircase { return staircase{[]engine.Time{0}, []float64{mbps}} }
	gap := staircase{[]engine.Time{0, 40 * second, 70 * second}, []float64{8, 0, 8}}
	waves := staircase{}
	for k := range engine.Time(8) {
		waves.at = append(waves.at, k*3660*second, (k*3660+3600)*second)
		waves.value = append(waves.value, 688*8./778, 0)
	}
	type timeout = network.TimeoutConfig
	const restart, resume = network.Restart, network.Proceed
	none := staircase{}
	for name, c := range map[string]struct {
		upload
		endS        float64
		arrives     bool
		bytes       float64
		connections int
	}{
		"S29": {upload{mbps: steady(4), bytes: 758e6}, 1516, true, 758e6, 1},
		"S31": {upload{timeout{TimeoutS: 300, Resends: 3, Retransmit: restart, ReconnectS: 5}, steady(4), 758e6,
			0, 0, none, false}, 1215, false, 6e8, 4},
		"S32": {upload{timeout{TimeoutS: 300, Resends: 10, Retransmit: resume, ReconnectS: 5}, steady(4), 758e6,
			0.05, 0.05, none, false}, 1541.3, true, 758e6, 6},
		"S34": {upload{timeout{TimeoutS: 300, Resends: 10, Retransmit: resume, ResumeBytes: 160e6, ReconnectS: 5},
			steady(4), 758e6, 0.05, 0.05, none, false}, 3350, false, 1649725000, 11},
		"S35": {upload{timeout{IdleTimeoutS: 40, Resends: 3, Retransmit: restart, ReconnectS: 5}, gap, 1e8, 0, 0,
			none, false}, 130, true, 1e8, 1},
		"S37": {upload{timeout{IdleTimeoutS: 20, Resends: 3, Retransmit: resume, ReconnectS: 5}, gap, 1e8, 0, 0,
			none, false}, 130, true, 1e8, 2},
		"S38": {upload{timeout{IdleTimeoutS: 10, Resends: 1, Retransmit: restart, ReconnectS: 5}, gap, 1e8, 0, 0,
			none, false}, 65, false, 4e7, 2},
		"S40": {upload{timeout{IdleTimeoutS: 30, Resends: 5, Retransmit: resume, ReconnectS: 5}, waves, 688e6, 0,
			3000, none, false}, 3838, true, 688e6, 2},
		"S41": {upload{timeout{IdleTimeoutS: 30, Retransmit: restart}, steady(0.001), 1e6, 0, 0, none, false}, 8000,
			true, 1e6, 1},
		"S43, a tie with the last bit": {upload{timeout{TimeoutS: 100, Retransmit: restart}, steady(8), 1e8, 0, 0,
			none, false}, 100, true, 1e8, 1},
		"a tie of idling with its end": {upload{timeout{IdleTimeoutS: 30, Retransmit: restart}, gap, 1e8, 0, 0,
			none, false}, 70, false, 4e7, 1},
	} {
		for _, c.cell = range []bool{false, true} {
			endS, arrives, bytes, connections := c.run(t)
			shift := 0.0
			if c.latencyS > 0 {
				shift = c.beginS // the oracle begins at 0
			}
			expect.That(t, math.Abs(endS-shift-c.endS) <= 1e-9*float64(c.connections+3) && arrives == c.arrives &&
				math.Abs(bytes-c.bytes) <= 1 && connections == c.connections,
				"%s (cell %t): ends at %.9f s (arrives: %t) with %.9g bytes on %d connections", name, c.cell,
				endS-shift, arrives, bytes, connections)
		}
	}
}

// loop follows the connections of an uplink, one stretch of constant rate after the other.
func (u *upload) loop() (endS float64, arrives bool, bytes float64) {
	seconds := func(at engine.Time) float64 {
		if at == engine.Never {
			return math.Inf(1)
		}
		return at.Seconds()
	}
	now, kept := u.beginS, 0.0
	for resend := 0; ; resend++ {
		began, quiet, latency, moved := now, now, u.latencyS, 0.0
		for {
			mbps, until := u.mbps.of(engine.FromSeconds(now + 1e-7))
			here, changes := 1.0, engine.Never
			if u.presence.at != nil {
				here, changes = u.presence.of(engine.FromSeconds(now + 1e-7))
			}
			rate, step := 0.0, min(seconds(until), seconds(changes))-now
			switch {
			case here == 0:
				if moved == 0 {
					latency = u.latencyS // begins again
				}
			case latency > 0:
				step = min(step, latency)
			default:
				rate = mbps * 1e6 / 8
			}
			stop := math.Inf(1)
			if u.TimeoutS > 0 {
				stop = began + u.TimeoutS
			}
			if rate > 0 {
				step = min(step, (u.bytes-kept-moved)/rate)
			} else if u.IdleTimeoutS > 0 {
				stop = min(stop, quiet+u.IdleTimeoutS)
			}
			gives := stop < now+step
			if gives {
				step = stop - now
			}
			if math.IsInf(step, 1) {
				return step, false, bytes
			}
			now += step
			moved += rate * step
			bytes += rate * step
			if here > 0 && latency > 0 {
				latency = max(0, latency-step)
				if latency < 1e-9 {
					latency = 0
				}
			}
			if rate > 0 {
				quiet = now
			}
			if gives {
				break
			}
			if kept+moved >= u.bytes-1e-3 {
				return now, true, bytes
			}
		}
		if u.Retransmit == network.Proceed {
			if kept += moved; u.ResumeBytes > 0 {
				kept = math.Floor(kept/u.ResumeBytes+1e-9) * u.ResumeBytes
			}
		}
		if resend >= u.Resends {
			return now, false, bytes
		}
		now += u.ReconnectS
		for u.presence.at != nil {
			here, changes := u.presence.of(engine.FromSeconds(now + 1e-7))
			if here > 0 {
				break
			}
			now = seconds(changes)
		}
	}
}

// TestTimeoutsAgainstALoop compares transfers whose rates change, of devices that come and go, with the loop.
func TestTimeoutsAgainstALoop(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		stairs := func(name string, values ...float64) (s staircase) {
			at := engine.Time(0)
			for range rapid.IntRange(1, 6).Draw(r, name) {
				s.at, s.value = append(s.at, at), append(s.value, rapid.SampledFrom(values).Draw(r, name))
				at += engine.FromSeconds(rapid.Float64Range(1, 60).Draw(r, name))
			}
			s.at, s.value = append(s.at, at), append(s.value, slices.Max(values))
			s.value[0] = slices.Max(values)
			return s
		}
		u := upload{
			mbps: stairs("rates", 0, 0.5, 2, 8), bytes: math.Round(rapid.Float64Range(1e5, 1e8).Draw(r, "bytes")),
			latencyS: 0.25, beginS: 0.25, cell: rapid.Bool().Draw(r, "cell"),
		}
		u.Retransmit = rapid.SampledFrom([]string{network.Restart, network.Proceed}).Draw(r, "retransmit")
		if rapid.Bool().Draw(r, "timeout") {
			u.TimeoutS = rapid.Float64Range(0.3, 100).Draw(r, "timeout_s")
		}
		if rapid.Bool().Draw(r, "idle") || u.TimeoutS == 0 {
			u.IdleTimeoutS = rapid.Float64Range(0.3, 40).Draw(r, "idle_timeout_s")
		}
		u.Resends = rapid.IntRange(0, 6).Draw(r, "resends")
		u.ReconnectS = rapid.Float64Range(0, 20).Draw(r, "reconnect_s")
		if rapid.Bool().Draw(r, "pieces") {
			u.ResumeBytes = math.Round(rapid.Float64Range(1e3, 2e7).Draw(r, "resume_bytes"))
		}
		if rapid.Bool().Draw(r, "away") {
			u.presence = stairs("presence", 0, 1)
		}
		endS, arrives, bytes, n := u.run(t)
		wantS, want, wantBytes := u.loop()
		if arrives != want || math.Abs(endS-wantS) > 1e-6 || math.Abs(bytes-wantBytes) > 10+1e-6*bytes {
			r.Fatalf("%+v: ends at %.9f s (arrives: %t) with %.9g bytes, in the loop at %.9f s (%t) with %.9g", u, endS,
				arrives, bytes, wantS, want, wantBytes)
		}
		seen[fmt.Sprint(arrives, n > 1)]++
	})
	expect.That(t, len(seen) == 4 || testing.Short(),
		"%v: transfers with one and more connections must arrive and fail", seen)
}

// A client that is canceled, or fails for another reason, hears of no timeout of its last transfer, and its timers are
// those of its server.
func TestTimeoutsEndWithTheirTransfer(t *testing.T) {
	timers := 0
	s := setup(1, func(s *Setup) {
		s.Network.TimeoutConfig = network.TimeoutConfig{TimeoutS: 3, Resends: 2, Retransmit: network.Proceed,
			ReconnectS: 1}
	})
	c := start(t, s, Listener{Timer: func(int) { timers++ }, Failed: func(int, Reason) { t.Error("fails") }})
	for n, at := range []float64{1, 3.5, 5} { // in a connection, in the pause, in the next connection
		c.Start(0, Attempt{Number: n, BytesDown: 1e6})
		c.RunUntil(c.Now().Add(engine.FromSeconds(at)))
		c.Cancel(0)
		c.SetTimer(0, c.Now().Add(second))
		c.RunUntil(c.Now().Add(10 * second))
		expect.That(t, timers == n+1 && c.Idle(0), "canceled after %g s: %d timers", at, timers)
	}
	c.Start(0, Attempt{Number: 5, BytesDown: 1e6, BytesUp: 1e6})
	c.RunUntil(c.Now().Add(40 * second))
	got := c.Take()
	expect.That(t, c.Idle(0) && timers == 3 && got.BytesUp == 1e6, "%+v", c.State(0))
}
