package prediction

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/expect"
)

// system returns two clients a and b of 1 and 2 GFLOP/s, with links of 8 Mbit/s both ways.
func system(t *testing.T) *System {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scenario.toml")
	text := "name = \"log\"\n[data]\nsource = \"external\"\n[data.external]\nclients = 2\nfeatures = 10\n[run]\n" +
		"mode = \"timing\"\n[methods.fedavg]\n"
	expect.NoError(t, os.WriteFile(file, []byte(text), 0o666))
	class := func(name string, gflops float64) fleets.Class {
		return fleets.Class{
			Name: name, Share: .5, ClockGHz: gflops, FlopsPerCycle: 1, IdleW: 1, ComputeW: 2, BatteryWh: devices.Mains,
			Link: "ethernet", DownlinkMbps: 8, UplinkMbps: 8, RTTms: 1e-6,
		}
	}
	return &System{Scenario: file,
		Fleet: &fleets.Fleet{Classes: []fleets.Class{class("a", 1), class("b", 2)}, InTurn: []uint8{0, 1}}, Seed: 1}
}

// readLog reads a log of messages of 1 MB both ways and 2 GFLOP: round, client, instants and outcome.
func readLog(t *testing.T, settings, rows string) *attemptlog.Run {
	t.Helper()
	var b strings.Builder
	for _, s := range strings.Fields(settings) {
		b.WriteString("#! " + s + "\n")
	}
	b.WriteString("round,client,sent_s,seen_s,outcome,bytes_down,bytes_up,flops\n")
	for _, row := range strings.Split(strings.TrimSpace(rows), "\n") {
		b.WriteString(strings.TrimSpace(row) + ",1e6,1e6,2e9\n")
	}
	path := filepath.Join(t.TempDir(), "run.csv")
	expect.NoError(t, os.WriteFile(path, []byte(b.String()), 0o666))
	log := expect.Value(attemptlog.Read(path))(t)
	return log.Runs[0]
}

// play plays a log on the system.
func play(t *testing.T, on *System, run *attemptlog.Run) *Played {
	t.Helper()
	p := expect.Value(Play(t.Context(), run, on))(t)
	return p
}

// near fails unless numbers agree to a microsecond.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	expect.That(t, math.Abs(got-want) < 1e-6 || math.IsNaN(got) && math.IsNaN(want),
		"%s: %g, must be %g", what, got, want)
}

// Client a responds after 1 + 2 + 1 s and b after 1 + 1 + 1 s. The instants of the log do not
// matter.
const twoRounds = `0,a,10,11,taken
0,b,10,12,taken
1,a,20,21,taken
1,b,20,22,taken`

// A round that waits for all takes 4 s, and the server needs half a second between rounds.
func TestPlayWaitsForAll(t *testing.T) {
	on := system(t)
	on.Gap = .5
	p := play(t, on, readLog(t, "", twoRounds))
	for i, want := range []Attempt{{Sent: 0, Seen: 4, Compute: 2}, {Sent: 0, Seen: 3, Compute: 1},
		{Sent: 4.5, Seen: 8.5, Compute: 2}, {Sent: 4.5, Seen: 7.5, Compute: 1}} {
		a := p.Attempts[i]
		near(t, "sent", a.Sent, want.Sent)
		near(t, "seen", a.Seen, want.Seen)
		near(t, "compute", a.Compute, want.Compute)
		near(t, "downlink", a.Downlink, 1)
		near(t, "uplink", a.Uplink, 1)
		expect.That(t, a.Taken, "attempt %d is not taken", i)
	}
	near(t, "makespan", p.Makespan, 8.5)
	near(t, "round 0", p.Rounds[0].Length(), 4.5) // up to the next round
	near(t, "round 1", p.Rounds[1].Length(), 4)
}

// A log has transfers from their first byte on: the latency of 10 ms each way is in none.
func TestPlayLatency(t *testing.T) {
	on := system(t)
	on.Fleet.Classes[0].RTTms = 20
	a := &play(t, on, readLog(t, "", twoRounds)).Attempts[0]
	near(t, "received", a.Received, .01)
	near(t, "downlink", a.Downlink, 1)
	near(t, "uplink", a.Uplink, 1)
	near(t, "seen", a.Seen, 4.02)
}

// Under a deadline of 3.5 s, a is late in round 0 and busy in the next.
func TestPlayDeadline(t *testing.T) {
	p := play(t, system(t),
		readLog(t,
			`federation.protocol="deadline" federation.deadline_s=3.5 federation.protocol_options.fit_work=false `+
				`federation.late="keep"`, twoRounds))
	near(t, "late response", p.Attempts[0].Seen, 4)
	near(t, "client that is not asked", p.Attempts[2].Seen, math.NaN())
	near(t, "in time", p.Attempts[3].Seen, 6.5)
	for i, want := range []bool{false, true, false, true} {
		expect.That(t, p.Attempts[i].Taken == want, "attempt %d: taken %t", i, p.Attempts[i].Taken)
	}
	near(t, "round 0", p.Rounds[0].Length(), 3.5)
	near(t, "makespan", p.Makespan, 6.5)
}

// The first of two responses ends a round.
func TestPlayFirst(t *testing.T) {
	p := play(t, system(t),
		readLog(t, `federation.protocol="first" federation.clients_per_round=1 `+
			`federation.protocol_options.over_selection=2`, twoRounds))
	for i, want := range []bool{false, true, false, true} {
		expect.That(t, p.Attempts[i].Taken == want, "attempt %d: taken %t", i, p.Attempts[i].Taken)
	}
	near(t, "makespan", p.Makespan, 6)
}

// A server that keeps late responses ends a round with them: b responds at 3 s, a at 4 s, in round 1, b again at
// 6 s, and a at 8 s. While a is at work, b gets its next message, which the log has in a later round.
func TestPlayFirstAndKeepLate(t *testing.T) {
	settings := `federation.protocol="first" federation.clients_per_round=1 ` +
		`federation.protocol_options.over_selection=2 ` +
		`federation.late="keep"`
	all := "0,a,10,14,late\n0,b,10,13,taken\n1,b,13,16,late\n2,a,14,18,late\n3,b,16,19,late"
	other := "0,a,10,12,taken\n0,b,10,13,late\n1,a,12,16,late\n2,b,13,16,late\n3,b,16,19,late"
	for _, rows := range []string{all, other} {
		run := readLog(t, settings, rows)
		p := play(t, system(t), run)
		for i, want := range []Attempt{{Sent: 0, Seen: 4}, {Sent: 0, Seen: 3}, {Client: "b", Sent: 3, Seen: 6},
			{Client: "a", Sent: 4, Seen: 8}} {
			a := &p.Attempts[i]
			if want.Client != "" && a.Client != want.Client {
				a = &p.Attempts[5-i]
			}
			near(t, a.Client+" is sent", a.Sent, want.Sent)
			near(t, a.Client+" is seen", a.Seen, want.Seen)
		}
		for i, want := range []float64{3, 1, 2, 2} {
			near(t, "round", p.Rounds[i].Length(), want)
		}
		near(t, "makespan", p.Makespan, 8)
		e := Compare(p, p)
		expect.That(t, len(p.Rounds[1].Taken) == 1 && p.Rounds[1].Taken[0] == 0 && e.Equal == 1, "taken: %v", p.Rounds)
	}
	// The server needs 1.5 s between rounds. The response of a comes meanwhile, and ends round 1 when it begins.
	on := system(t)
	on.Gap = 1.5
	p := play(t, on, readLog(t, settings, other))
	near(t, "b is sent", p.Attempts[3].Sent, 4.5)
	near(t, "a is sent", p.Attempts[2].Sent, 6)
	m := Measured(readLog(t, settings, all))
	near(t, "measured", m.Makespan, 8) // the first response after the start of round 3 at 6 s
}

// Without rounds each client is sent its next message when its response arrives: b responds at 3
// and 6 s, a at 4 and 8 s. The first response of a comes after one other.
func TestPlayWithoutRounds(t *testing.T) {
	p := play(t, system(t),
		readLog(t, `federation.protocol="asynchronous" methods.fedbuff.options.buffer=2`, twoRounds))
	for i, want := range []float64{4, 3, 8, 6} {
		near(t, "seen", p.Attempts[i].Seen, want)
	}
	for i, want := range []float64{1, 0, 1, 1} {
		near(t, "staleness", p.Attempts[i].Staleness, want)
	}
	near(t, "makespan", p.Makespan, 8)
	p = play(t, system(t),
		readLog(t, `federation.protocol="asynchronous"`,
			strings.Replace(twoRounds, "1,b,20,22,taken", "1,b,20,22,late", 1)))
	near(t, "makespan of the first three responses", p.Makespan, 6)
	expect.That(t, len(p.Rounds) == 0, "%d rounds", len(p.Rounds))
}

// A client that failed in the log is not asked, and the round does not wait for it.
func TestPlayFaults(t *testing.T) {
	p := play(t, system(t), readLog(t, "", "0,a,10,,failed\n0,b,10,12,taken\n1,a,20,,lost\n1,b,20,22,taken"))
	near(t, "failed", p.Attempts[0].Seen, math.NaN())
	near(t, "makespan", p.Makespan, 6)
}

// A server that waits for all gives up a lost response after detect_s, at a poll, and hears of a
// failure at once.
func TestPlayLost(t *testing.T) {
	rows := "0,a,10,,%s\n0,b,10,12,taken\n1,b,20,22,taken"
	for _, c := range []struct {
		settings, outcome string
		want              float64
	}{
		{"engine.detect_s=7", "lost", 7}, {"engine.detect_s=7", "failed", 3},
		{"engine.detect_s=2", "lost", 3}, {"", "lost", 3},
		{"engine.detect_s=7 overhead.server_poll_s=2", "lost", 8},
		{`engine.detect_s=7 federation.protocol="first" federation.clients_per_round=1`, "lost", 3},
	} {
		p := play(t, system(t), readLog(t, c.settings, fmt.Sprintf(rows, c.outcome)))
		near(t, c.settings+" "+c.outcome, p.Rounds[0].Length(), c.want)
	}
}

// What a log says of a run counts from its first message.
func TestMeasured(t *testing.T) {
	m := Measured(readLog(t, "", "3,a,10,14,taken\n3,b,10.5,13,late\n4,a,15,19,taken\n4,b,15,,lost"))
	near(t, "sent", m.Attempts[1].Sent, .5)
	near(t, "seen", m.Attempts[1].Seen, 3)
	near(t, "round 0", m.Rounds[0].Length(), 5)
	near(t, "round 1", m.Rounds[1].Length(), 4)
	near(t, "makespan", m.Makespan, 9)
	near(t, "staleness", m.Attempts[0].Staleness, 1)
	near(t, "lost", m.Attempts[3].Seen, math.NaN())
	expect.That(t, !m.Attempts[1].Taken && m.Attempts[0].Taken, "a response in time is taken, a late one is not")
}

// A launch, and the first time a cold start, is waiting, as in a log: 0.5 s and 1 GFLOP, and 2 s.
func TestPlayLaunches(t *testing.T) {
	on := system(t)
	on.Set = []string{"overhead.launch_s=0.5", "overhead.launch_gflop=1", "overhead.cold_start_s=2",
		"overhead.client_poll_s=7", "overhead.poll_phase='fixed'"}
	p := play(t, on, readLog(t, "", twoRounds))
	for i, want := range []Attempt{{Seen: 7.5, Waiting: 3.5, Compute: 2}, {Seen: 6, Waiting: 3, Compute: 1},
		{Seen: 20, Waiting: 1.5, Compute: 2}, {Seen: 17, Waiting: 1, Compute: 1}} {
		a := p.Attempts[i]
		near(t, "seen", a.Seen, want.Seen)
		near(t, "waiting", a.Waiting, want.Waiting)
		near(t, "compute", a.Compute, want.Compute)
	}
	near(t, "received", p.Attempts[2].Received, 14.5) // 7 s after the reply
}

// Clients draw 1 W, and 2 W while they compute: a takes 4 + 2 J and b 2 + 2 J, of which the log
// has half.
func TestEnergy(t *testing.T) {
	on, run := system(t), readLog(t, "", twoRounds)
	for i, joules := range []float64{3, 2, math.NaN(), 2} {
		run.Attempts[i].EnergyJ = joules
	}
	e := Compare(Measured(run), play(t, on, run))
	near(t, "assumed powers", e.EnergySum, math.NaN())
	on.Powers = true
	e = Compare(Measured(run), play(t, on, run))
	near(t, "all attempts", e.EnergySum, 1)
	near(t, "an attempt", e.Energy.P95, 1)
	expect.That(t, e.Energy.N == 3, "%d attempts", e.Energy.N)
}

// Powers are known once the fleet of the calibration has others than those assumed, for all classes.
func TestSetPowers(t *testing.T) {
	const class = "[[class]]\nname = %q\nshare = 0.5\nclock_ghz = 1\nflops_per_cycle = 1\nidle_w = %g\n" +
		"compute_w = 2\nbattery_wh = \"mains\"\nlink = \"ethernet\"\n"
	for _, c := range []struct {
		names [2]string
		idle  [2]float64
		want  bool
	}{
		{[2]string{"a", "b"}, [2]float64{3, 4}, true},
		{[2]string{"a", "b"}, [2]float64{3, 1}, false}, // that of b is assumed
		{[2]string{"a", "c"}, [2]float64{3, 4}, false}, // b has none
	} {
		file := filepath.Join(t.TempDir(), "fleet.toml")
		text := fmt.Sprintf(class, c.names[0], c.idle[0]) + fmt.Sprintf(class, c.names[1], c.idle[1])
		expect.NoError(t, os.WriteFile(file, []byte(text), 0o666))
		on := system(t)
		known, err := setPowers(on.Fleet, file)
		expect.That(t, err == nil && known == c.want, "%v: %t, %v", c, known, err)
		near(t, "power of a", on.Fleet.Classes[0].IdleW, c.idle[0])
	}
	if _, err := setPowers(system(t).Fleet, "absent.toml"); err == nil {
		t.Error("a file that is absent is read")
	}
}
