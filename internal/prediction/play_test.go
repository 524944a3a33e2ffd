package prediction

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedsim/devices"
	"fedsim/devices/fleets"
	"fedsim/internal/attemptlog"
)

// system returns two clients a and b of 1 and 2 GFLOP/s, with links of 8 Mbit/s both ways.
func system(t *testing.T) *System {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scenario.toml")
	text := "name = \"log\"\n[data]\nsource = \"external\"\n[data.external]\nclients = 2\nfeatures = 10\n[run]\nmode = \"timing\"\n[methods.fedavg]\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	class := func(name string, gflops float64) fleets.Class {
		return fleets.Class{
			Name: name, Share: .5, ClockGHz: gflops, FlopsPerCycle: 1, IdleW: 1, ComputeW: 2, BatteryWh: devices.Mains,
			Link: "ethernet", DownlinkMbps: 8, UplinkMbps: 8, RTTms: 1e-6,
		}
	}
	return &System{Scenario: file, Fleet: &fleets.Fleet{Classes: []fleets.Class{class("a", 1), class("b", 2)}, InTurn: []uint8{0, 1}}, Seed: 1}
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
	if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	log, err := attemptlog.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return log.Runs[0]
}

// play plays a log on the system.
func play(t *testing.T, on *System, run *attemptlog.Run) *Played {
	t.Helper()
	p, err := Play(t.Context(), run, on)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// near fails unless numbers agree to a microsecond.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) < 1e-6) && !(math.IsNaN(got) && math.IsNaN(want)) {
		t.Errorf("%s: %g, must be %g", what, got, want)
	}
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
	for i, want := range []Attempt{{Sent: 0, Seen: 4, Compute: 2}, {Sent: 0, Seen: 3, Compute: 1}, {Sent: 4.5, Seen: 8.5, Compute: 2}, {Sent: 4.5, Seen: 7.5, Compute: 1}} {
		a := p.Attempts[i]
		near(t, "sent", a.Sent, want.Sent)
		near(t, "seen", a.Seen, want.Seen)
		near(t, "compute", a.Compute, want.Compute)
		near(t, "downlink", a.Downlink, 1)
		near(t, "uplink", a.Uplink, 1)
		if !a.Taken {
			t.Errorf("attempt %d is not taken", i)
		}
	}
	near(t, "makespan", p.Makespan, 8.5)
	near(t, "round 0", p.Rounds[0].Length(), 4.5) // up to the next round
	near(t, "round 1", p.Rounds[1].Length(), 4)
}

// Under a deadline of 3.5 s, a is late in round 0 and busy in the next.
func TestPlayDeadline(t *testing.T) {
	p := play(t, system(t), readLog(t, `federation.protocol="deadline" federation.deadline_s=3.5 federation.fit_work=false federation.late="keep"`, twoRounds))
	near(t, "late response", p.Attempts[0].Seen, 4)
	near(t, "client that is not asked", p.Attempts[2].Seen, math.NaN())
	near(t, "in time", p.Attempts[3].Seen, 6.5)
	for i, want := range []bool{false, true, false, true} {
		if p.Attempts[i].Taken != want {
			t.Errorf("attempt %d: taken %t", i, p.Attempts[i].Taken)
		}
	}
	near(t, "round 0", p.Rounds[0].Length(), 3.5)
	near(t, "makespan", p.Makespan, 6.5)
}

// The first of two responses ends a round.
func TestPlayFirst(t *testing.T) {
	p := play(t, system(t), readLog(t, `federation.protocol="first" federation.clients_per_round=1 federation.over_selection=2`, twoRounds))
	for i, want := range []bool{false, true, false, true} {
		if p.Attempts[i].Taken != want {
			t.Errorf("attempt %d: taken %t", i, p.Attempts[i].Taken)
		}
	}
	near(t, "makespan", p.Makespan, 6)
}

// Without rounds each client is sent its next message when its response arrives: b responds at 3
// and 6 s, a at 4 and 8 s. The first response of a comes after one other.
func TestPlayWithoutRounds(t *testing.T) {
	p := play(t, system(t), readLog(t, `federation.protocol="asynchronous" methods.fedbuff.options.buffer=2`, twoRounds))
	for i, want := range []float64{4, 3, 8, 6} {
		near(t, "seen", p.Attempts[i].Seen, want)
	}
	for i, want := range []float64{1, 0, 1, 1} {
		near(t, "staleness", p.Attempts[i].Staleness, want)
	}
	near(t, "makespan", p.Makespan, 8)
	p = play(t, system(t), readLog(t, `federation.protocol="asynchronous"`, strings.Replace(twoRounds, "1,b,20,22,taken", "1,b,20,22,late", 1)))
	near(t, "makespan of the first three responses", p.Makespan, 6)
	if len(p.Rounds) != 0 {
		t.Errorf("%d rounds", len(p.Rounds))
	}
}

// A client that failed in the log is not asked, and the round does not wait for it.
func TestPlayFaults(t *testing.T) {
	p := play(t, system(t), readLog(t, "", "0,a,10,,failed\n0,b,10,12,taken\n1,a,20,,lost\n1,b,20,22,taken"))
	near(t, "failed", p.Attempts[0].Seen, math.NaN())
	near(t, "makespan", p.Makespan, 6)
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
	if m.Attempts[1].Taken || !m.Attempts[0].Taken {
		t.Error("a response in time is taken, a late one is not")
	}
}
