package network

import (
	"math"
	"testing"

	"fedsim/engine"
	"fedsim/internal/tools/expect"
)

func links(t *testing.T, n int, change func(*Config)) *Links {
	t.Helper()
	cfg := Defaults()
	change(&cfg)
	got := problems(cfg)
	expect.Must(t, got == nil, "%v", got)
	return NewLinks(cfg, n, 21)
}

// 1000 bytes are 8000 bits: at 2 Mbps 4 ms, at 0.5 Mbps 16 ms; 10 ms of latency
// each way.
func TestClosedForm(t *testing.T) {
	l := links(t, 2, func(n *Config) { n.DownlinkMbps, n.UplinkMbps, n.RTTms = 2, 0.5, 20 })
	const ms = engine.Time(1e6)
	for device := range 2 {
		if got := l.Send(Down, device, 3, 1, 1000); got != (Transfer{Duration: 14 * ms}) {
			t.Errorf("downlink: %+v, want 14 ms", got)
		}
		if got := l.Send(Up, device, 3, 1, 1000); got != (Transfer{Duration: 26 * ms}) {
			t.Errorf("uplink: %+v, want 26 ms", got)
		}
		expect.That(t, l.Expected(Down, device, 1000) == 14*ms && l.Expected(Up, device, 1000) == 26*ms,
			"expected %v and %v, want 14 ms and 26 ms", l.Expected(Down, device, 1000), l.Expected(Up, device, 1000))
		if got := l.Send(Up, device, 0, 0, 0).Duration; got != 10*ms {
			t.Errorf("a message of 0 bytes takes %v, want half the round trip", got)
		}
	}
}

func TestBytes(t *testing.T) {
	got := links(t, 1, func(*Config) {}).Bytes(561)
	expect.That(t, got == 64+561*8, "561 values of 8 bytes and a header are %g bytes", got)
	got = links(t, 1, func(n *Config) { n.PayloadBytesPerValue, n.HeaderBytes = 4, 0 }).Bytes(561)
	expect.That(t, got == 561*4, "561 values of 4 bytes are %g bytes", got)
}

// Huang et al.'s model at the profile's rates: LTE 438.39 x 5.6 + 1288.04 mW up,
// 51.97 x 12.7 + 1288.04 mW down.
func TestRadioPower(t *testing.T) {
	l := links(t, 1, func(*Config) {})
	got := l.Power(Up, 0)
	expect.That(t, math.Abs(got-3.743024) <= 1e-12, "%v W up, want 3.743024", got)
	got = l.Power(Down, 0)
	expect.That(t, math.Abs(got-1.948059) <= 1e-12, "%v W down, want 1.948059", got)
	wire := links(t, 1, func(n *Config) { n.Profile = "ethernet" })
	expect.That(t, wire.Power(Up, 0) == 0 && wire.Power(Down, 0) == 0, "a wire has a radio")
}

// The mean is within four standard errors of the expected duration, and the coefficient
// of variation within 5 %, both including latency.
func TestJitterKeepsTheMean(t *testing.T) {
	const n, cv = 40_000, 0.45
	l := links(t, 1, func(n *Config) { n.Jitter = cv })
	for name, send := range map[string]func(round int) Transfer{
		"down": func(round int) Transfer { return l.Send(Down, 0, round, 0, 5000) },
		"up":   func(round int) Transfer { return l.Send(Up, 0, round, 0, 5000) },
	} {
		expected := l.Expected(Down, 0, 5000).Seconds()
		if name == "up" {
			expected = l.Expected(Up, 0, 5000).Seconds()
		}
		var sum, squares float64
		for round := range n {
			x := send(round).Duration.Seconds() / expected
			sum += x
			squares += (x - 1) * (x - 1)
		}
		mean := sum / n
		expect.That(t, math.Abs(mean-1) <= 4*cv/math.Sqrt(n), "%s: mean %g times the expected duration", name, mean)
		sd := math.Sqrt(squares / n)
		expect.That(t, math.Abs(sd/cv-1) <= 0.05, "%s: sigma/mu %g, want %g", name, sd, cv)
	}
}

func TestRateSpread(t *testing.T) {
	const n, cv = 20_000, 0.45
	l := links(t, n, func(n *Config) { n.RateSpread = cv })
	p := l.Profile(0)
	var sum, squares float64
	for d := range n {
		x := l.Mbps(Down, d) / p.DownlinkMbps
		up := l.Mbps(Up, d) / p.UplinkMbps
		expect.Must(t, math.Abs(up/x-1) <= 1e-12, "device %d: %g times the rate down, %g times up", d, x, up)
		sum += x
		squares += (x - 1) * (x - 1)
	}
	mean := sum / n
	expect.That(t, math.Abs(mean-1) <= 4*cv/math.Sqrt(n), "mean %g, want 1", mean)
	sd := math.Sqrt(squares / n)
	expect.That(t, math.Abs(sd/cv-1) <= 0.1, "sigma/mu %g, want %g", sd, cv)
	small := links(t, 5, func(n *Config) { n.RateSpread = cv })
	for d := range 5 {
		expect.That(t, small.Mbps(Up, d) == l.Mbps(Up, d), "device %d differs with fewer devices", d)
	}
}

// Losses are binomial: within 4 sigma of n p. A transfer lost at one probability is lost
// at every higher one, whatever the jitter.
func TestLosses(t *testing.T) {
	const devices, rounds = 50, 100
	ways := map[string]func(l *Links, device, round, attempt int) Transfer{
		"down": func(l *Links, d, h, a int) Transfer { return l.Send(Down, d, h, a, 100) },
		"up":   func(l *Links, d, h, a int) Transfer { return l.Send(Up, d, h, a, 100) },
	}
	var before *Links
	for _, p := range []float64{0, 0.05, 0.3, 1} {
		l := links(t, devices, func(n *Config) { n.LossProbability = p })
		jittery := links(t, devices, func(n *Config) { n.LossProbability, n.Jitter = p, 0.5 })
		for name, send := range ways {
			lost := 0
			for device := range devices {
				for round := range rounds {
					for attempt := range 2 {
						got := send(l, device, round, attempt)
						if got.Lost {
							lost++
						}
						expect.Must(t, got.Lost == send(jittery, device, round, attempt).Lost,
							"%s: jitter changes which transfers are lost", name)
						expect.Must(t, before == nil || !send(before, device, round, attempt).Lost || got.Lost,
							"%s: lost at a lower probability than %g only", name, p)
					}
				}
			}
			n := float64(2 * devices * rounds)
			expect.That(t, math.Abs(float64(lost)-n*p) <= 4*math.Sqrt(n*p*(1-p)),
				"%s, p = %g: %d of %g are lost", name, p, lost, n)
		}
		before = l
	}
}

// Jitter depends on seed, device, round, attempt and direction, and on nothing else.
func TestTransfersDiffer(t *testing.T) {
	jitter := func(n *Config) { n.Jitter, n.DownlinkMbps, n.UplinkMbps = 0.3, 10, 10 }
	l := links(t, 4, jitter)
	cfg := Defaults()
	jitter(&cfg)
	other := NewLinks(cfg, 4, 22)
	base := l.Send(Down, 1, 2, 0, 1000)
	again := links(t, 9, jitter).Send(Down, 1, 2, 0, 1000)
	expect.That(t, again == base, "second call: %+v, first: %+v", again, base)
	for name, got := range map[string]Transfer{
		"seed":    other.Send(Down, 1, 2, 0, 1000),
		"device":  l.Send(Down, 2, 2, 0, 1000),
		"round":   l.Send(Down, 1, 3, 0, 1000),
		"attempt": l.Send(Down, 1, 2, 1, 1000),
		"way":     l.Send(Up, 1, 2, 0, 1000),
	} {
		expect.That(t, got != base, "a different %s makes no difference", name)
	}
}

func TestTransferAllocatesNothing(t *testing.T) {
	l := links(t, 3, func(n *Config) { n.Jitter, n.LossProbability = 0.4, 0.1 })
	if n := testing.AllocsPerRun(100, func() { l.Send(Down, 1, 2, 0, 1e4); l.Send(Up, 1, 2, 3, 1e4) }); n != 0 {
		t.Errorf("a transfer allocates %v times", n)
	}
}
