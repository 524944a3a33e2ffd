package network

import (
	"math"
	"strings"
	"testing"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// The polls of a grid by hand: at the first, between two, at one, and where time ends.
func TestNextPoll(t *testing.T) {
	for _, c := range []struct{ first, period, at, want engine.Time }{
		{5, 10, 0, 5}, {5, 10, 5, 5}, {5, 10, 6, 15}, {5, 10, 15, 15}, {5, 10, 16, 25}, {0, 1, 7, 7}, {0, 3, 7, 9},
		{20, 7, 3, 20}, {0, 1 << 62, 1<<62 + 1, engine.Never},
	} {
		if got := NextPoll(c.first, c.period, c.at); got != c.want {
			t.Errorf("polls from %d on, each %d, after %d: %d, want %d", c.first, c.period, c.at, got, c.want)
		}
	}
}

// Random phases are uniform in a period: by Kolmogorov and Smirnov at the level of 0.1 %. They
// depend on the seed, the device and the poller, fixed ones on nothing.
func TestFirstPollsAreUniform(t *testing.T) {
	const n, period = 20_000, engine.Time(3e9)
	c := RuntimeConfig{PollPhase: RandomPhase}
	const bins = 1000
	var count [bins]int
	for device := range n {
		at := c.FirstPoll(MessagePoller, 7, device, period)
		expect.Must(t, at >= 0 && at < period, "device %d first polls at %d", device, at)
		count[at*bins/period]++
	}
	below, most := 0, 0.0
	for i, k := range count {
		below += k
		most = max(most, math.Abs(float64(below)/n-float64(i+1)/bins))
	}
	limit := 1.95 / math.Sqrt(n)
	expect.That(t, most <= limit, "the distribution differs from the uniform one by %g, must be below %g", most, limit)
	one := c.FirstPoll(MessagePoller, 7, 1, period)
	for what, other := range map[string]engine.Time{
		"device": c.FirstPoll(MessagePoller, 7, 2, period), "seed": c.FirstPoll(MessagePoller, 8, 1, period),
		"poller": c.FirstPoll(LaunchPoller, 7, 1, period),
	} {
		expect.That(t, other != one, "another %s polls at the same instant", what)
	}
	if c.PollPhase = FixedPhase; c.FirstPoll(MessagePoller, 7, 1, period) != 0 {
		t.Error("a fixed phase is not 0")
	}
}

// A key overrides the runtime's value, 0 among others; without a runtime nothing is added.
func TestRuntimeInForce(t *testing.T) {
	c := Defaults()
	r := c.InForce()
	expect.That(t, !r.Adds() && !r.Polls(), "the defaults add %+v", r)
	c.Runtime, c.ServerPollS, c.ColdStartS = "flower-1.41", 0, 2
	want := runtimes.All()[0]
	want.ServerPollS, want.ColdStartS = 0, 2
	r = c.InForce()
	expect.That(t, r == want, "%+v, want %+v", r, want)
	c = Defaults()
	c.LaunchPollS = 1
	r = c.InForce()
	expect.That(t, r == (Runtime{LaunchPollS: 1}), "%+v", r)
}

func TestRuntimeErrors(t *testing.T) {
	for key, change := range map[string]func(*Config){
		"runtime":          func(c *Config) { c.Runtime = "flower" },
		"client_poll_s":    func(c *Config) { c.ClientPollS = 1e-7 },
		"server_poll_s":    func(c *Config) { c.ServerPollS = -2 },
		"launch_poll_s":    func(c *Config) { c.LaunchPollS = 2e9 },
		"launch_s":         func(c *Config) { c.LaunchS = -0.5 },
		"launch_gflop":     func(c *Config) { c.LaunchGFLOP = 1e10 },
		"cold_start_s":     func(c *Config) { c.ColdStartS = math.NaN() },
		"poll_phase":       func(c *Config) { c.PollPhase = FixedPhase },
		"wire.factor":      func(c *Config) { c.WireFactor = 0.9 },
		"wire.burst_bytes": func(c *Config) { c.BurstBytes = -1 },
	} {
		c := Defaults()
		change(&c)
		check := config.NewChecker()
		c.Validate(check)
		c.RuntimeConfig.Validate(check)
		problems := check.Problems()
		expect.That(t, len(problems) == 1 && problems[0].Key == key, "%s: %v", key, problems)
	}
}

// Headers lengthen a transfer, and the burst of a shaper shortens it; half of the round trip
// stays when all of a message passes at once.
func TestWireBytes(t *testing.T) {
	c := Defaults()
	c.DownlinkMbps, c.UplinkMbps, c.RTTms, c.WireFactor, c.BurstBytes = 8, 4, 10, 1.25, 4000
	l := NewLinks(c, 1, 1)
	for _, x := range []struct {
		way   Direction
		bytes float64
		want  engine.Time
	}{
		{Down, 1e6, 5e6 + 1_246_000_000}, {Up, 1e6, 5e6 + 2_492_000_000}, {Down, 3200, 5e6}, {Down, 3201, 5e6 + 1250},
		{Down, 0, 5e6},
	} {
		got := l.Expected(x.way, 0, x.bytes)
		expect.That(t, got == x.want, "%g bytes take %d ns, want %d", x.bytes, got, x.want)
		got = l.Send(x.way, 0, 3, 0, x.bytes).Duration
		expect.That(t, got == x.want, "a message of %g bytes takes %d ns, want %d", x.bytes, got, x.want)
	}
	if got := l.LatencyShare(Down, 0, 100); got != 1 {
		t.Errorf("a message that passes at once has a share of latency of %g", got)
	}
	// A class has its own; another one those of the table.
	mix := Mix{Profiles: []Profile{c.Link(), c.Link()}, Class: []uint8{0, 1}}
	mix.Profiles[1].WireFactor, mix.Profiles[1].BurstBytes = 2, 1e6
	l = NewMixedLinks(c, mix, 1)
	a, b := l.Expected(Down, 0, 1e6), l.Expected(Down, 1, 1e6)
	expect.That(t, a == 5e6+1_246_000_000 && b == 5e6+1e9, "1e6 bytes take %d and %d ns", a, b)
}

// deployment is a round of the log of a Flower deployment.
type deployment struct {
	polls   []engine.Time // of the server
	replies []int         // that each poll returned
	rows    []map[string]engine.Time
}

// readDeployment reads the log of a deployment: polls from its comment, and the instants of
// attempts.
func readDeployment(t *testing.T) []deployment {
	t.Helper()
	path := filetest.Real(t, "logs/flower_b1.csv")
	number := func(s string) float64 { return filetest.Number(t, s) }
	var rounds []deployment
	for line := range strings.Lines(string(filetest.Read(t, path))) {
		_, polls, ok := strings.Cut(strings.TrimSpace(line), "server polls a round (start:end:replies): ")
		if !ok {
			continue
		}
		for _, round := range strings.Split(polls, " | ") {
			d := deployment{}
			for _, poll := range strings.Split(round, ";") {
				part := strings.Split(poll, ":")
				d.polls = append(d.polls, engine.FromSeconds(number(part[0])))
				d.replies = append(d.replies, int(number(part[2])))
			}
			rounds = append(rounds, d)
		}
	}
	records := filetest.Rows(t, path)
	for _, r := range records[1:] {
		row := map[string]engine.Time{}
		for i, key := range records[0] {
			row[key] = engine.FromSeconds(number(r[i]))
		}
		round := int(row["round"] / 1e9)
		rounds[round].rows = append(rounds[round].rows, row)
	}
	return rounds
}

// The polls of a real deployment, given the instants of its replies: those of the server that
// returned them, and those of clients that fetched the next message. The goal is four of five.
func TestRuntimeMatchesADeployment(t *testing.T) {
	rounds := readDeployment(t)
	r := runtimes.All()[0]
	server, client := engine.FromSeconds(r.ServerPollS), engine.FromSeconds(r.ClientPollS)
	launch := engine.FromSeconds(r.LaunchPollS)
	const near = engine.Time(150e6)
	answered := map[engine.Time]engine.Time{} // by client, the end of its last reply
	phase := map[engine.Time]engine.Time{}    // by client, of its launches
	right, polls, fetched, fetches, launched, launches := 0, 0, 0, 0, 0, 0
	for _, round := range rounds {
		replies := make([]int, len(round.replies))
		for _, row := range round.rows {
			at := NextPoll(round.polls[0], server, row["reply_sent_s"])
			if k := int((at - round.polls[0]) / server); k < len(replies) {
				replies[k]++
			}
			id := row["client"]
			if last, ok := answered[id]; ok {
				fetches++
				if d := row["received_s"] - NextPoll(last+client, client, row["pushed_s"]); d > -near && d < near {
					fetched++
				}
			}
			if first, ok := phase[id]; ok {
				launches++
				if d := row["born_s"] - NextPoll(first, launch, row["fetched_s"]); d > -near && d < near {
					launched++
				}
			}
			answered[id], phase[id] = row["reply_sent_s"], row["born_s"]%launch
		}
		for k, n := range round.replies {
			polls++
			if replies[k] == n {
				right++
			}
		}
	}
	t.Logf("right: %d of %d polls of the server, %d of %d of clients, %d of %d launches", right, polls, fetched,
		fetches, launched, launches)
	expect.Must(t, polls == 29 && fetches == 21 && launches == 21, "the log has another size")
	expect.That(t, 5*right >= 4*polls && 5*fetched >= 4*fetches && 5*launched >= 4*launches,
		"fewer than four of five are right")
}
