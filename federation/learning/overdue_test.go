package learning

import (
	"math"
	"strings"
	"testing"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/results"
)

// tens is a timed world of so many clients whose work takes 10 s, with messages that take no time.
func tens(t testing.TB, method, protocol string, n, rounds int, change func(*Setup)) Setup {
	return timed(t, world(t, method, protocol, func(s *Setup) {
		each := make([]int, n)
		for k := range each {
			each[k] = 4
		}
		s.Problem = randomProblem(t, features, each...)
		s.Schedule.Rounds, s.Schedule.EvalEvery = rounds, rounds
		s.Devices.ClockGHz, s.Devices.FlopsPerCycle, s.Devices.TaskS = 1, 1e9, 10
		s.Network.RTTms, s.Network.DownlinkMbps, s.Network.UplinkMbps = 0, 1e9, 1e9
		change(s)
	}))
}

// firstOf returns the mean time of a round that ends with the first k responses of c clients, or when the others are
// overdue. Their times are log-normal with mean 10 s and a coefficient of variation of 1; one arrives with
// a probability. With F the distribution of times, it is the integral over t of
// P(Bin(c, p F(t)) < k) - F(t)^c P(Bin(c, p) < k).
func firstOf(k, c int, p float64) float64 {
	fewer := func(p float64) float64 {
		sum := 0.0
		for j := range k {
			choose, _ := math.Lgamma(float64(c + 1))
			a, _ := math.Lgamma(float64(j + 1))
			b, _ := math.Lgamma(float64(c - j + 1))
			sum += math.Exp(choose-a-b) * math.Pow(p, float64(j)) * math.Pow(1-p, float64(c-j))
		}
		return sum
	}
	sigma := math.Sqrt(math.Ln2)
	total, step := 0.0, 1e-2
	for at := step / 2; at < 2000; at += step {
		f := math.Erfc(-(math.Log(at/10)/sigma+sigma/2)/math.Sqrt2) / 2
		total += step * (fewer(p*f) - math.Pow(f, float64(c))*fewer(p))
	}
	return total
}

// A server learns of a failure when the response is overdue, wherever the attempt fails: with no try left a round lasts
// until enough responses are there or the last is overdue. The closed form for 8 of 12 is 21.78 s if 0.3 of them fail,
// and 29.32 s for 0.5 (SciPy's integral); a server that knew at once would take 19.92 and 22.42 s.
func TestFirstWaitsForOverdueResponses(t *testing.T) {
	for _, q := range []struct{ fails, want float64 }{{0.3, 21.7815451}, {0.5, 29.3180115}} {
		if got := firstOf(8, 12, 1-q.fails); math.Abs(got-q.want) > 1e-4 {
			t.Fatalf("the integral is %g, SciPy's %g", got, q.want)
		}
		for _, phase := range []string{devices.AtStart, devices.AtCompute, devices.AtUpload, devices.AtRandom, "lost"} {
			const rounds = 10_000
			out := run(t, tens(t, "fedavg", federation.First, 12, rounds, func(s *Setup) {
				s.Config.Clients, s.Config.Over = 8, 1.5
				s.Devices.Jitter = 1
				if phase == "lost" { // one of two messages
					s.Network.LossProbability = 1 - math.Sqrt(1-q.fails)
				} else {
					s.Faults.DropProbability, s.Faults.DropPhase = q.fails, phase
				}
			}))
			z := zOf(t, out, q.want)
			if math.Abs(z) > 3 {
				t.Errorf("%g fail, %s: a round takes %.3f s, want %.3f: z %.1f", q.fails, phase, out.Rounds[rounds].TimeS/rounds, q.want, z)
			}
		}
	}
}

// zOf returns how many standard errors the mean length of rounds is above a value.
func zOf(t testing.TB, out *Outcome, want float64) float64 {
	t.Helper()
	n, sum, squares := float64(len(out.Rounds)-1), 0.0, 0.0
	for h := range out.Rounds[1:] {
		d := out.Rounds[h+1].TimeS - out.Rounds[h].TimeS - want
		sum, squares = sum+d, squares+d*d
	}
	mean := sum / n
	return mean / math.Sqrt((squares/n-mean*mean)/n)
}

// gone is a client that is away from 5 s in each 20 s on until 19 s.
type gone struct{}

func (gone) Available(_ int, at engine.Time) (bool, engine.Time) {
	const second = engine.Time(1e9)
	switch cycle := at - at%(20*second); {
	case at < cycle+5*second:
		return true, cycle + 5*second
	case at < cycle+19*second:
		return false, cycle + 19*second
	default:
		return true, cycle + 25*second
	}
}

// failing are worlds of one client that fails.
var failing = []struct {
	name   string
	change func(*Setup)
	tries  bool // it is asked again in its place
}{
	{"drops at the start", func(s *Setup) { s.Faults.DropProbability, s.Faults.DropPhase = 1, devices.AtStart }, true},
	{"drops in its work", func(s *Setup) { s.Faults.DropProbability, s.Faults.DropPhase = 1, devices.AtCompute }, true},
	{"message lost", func(s *Setup) { s.Network.LossProbability = 1 }, true},
	{"battery empty", func(s *Setup) { joules(s, 10) }, false},
	{"battery empty, charged before", func(s *Setup) { joules(s, 10); s.Devices.ChargeW, s.Devices.ReturnLevel = 10, 0.1 }, true},
	{"away", func(s *Setup) { s.Availability = gone{} }, false},
	{"away while work pauses", func(s *Setup) { s.Availability, s.Faults.OnReturn = leaves{}, devices.Resume }, false},
}

// leaves is a client that is away from 5 s on for ever.
type leaves struct{}

func (leaves) Available(_ int, at engine.Time) (bool, engine.Time) {
	if at < 5e9 {
		return true, 5e9
	}
	return false, engine.Never
}

// A round with one client, which fails, takes the 10 s that its response was due after, and with a try left as long again.
func TestALostRoundLastsUntilTheResponseIsOverdue(t *testing.T) {
	for _, w := range failing {
		for retries := range 2 {
			for _, behindHub := range []bool{false, true} {
				f := start(t, tens(t, "fedavg", federation.First, 1, 1, func(s *Setup) {
					if s.Config.Clients, s.Config.Retries = 1, retries; behindHub {
						s.Network.HubSize, s.Network.HubRTTms, s.Network.HubMbps = 1, 0, 1e9
						s.Network.RTTms = 1000 // a message to or from the hub takes 0.5 s
					}
					w.change(s)
				}))
				f.clients.Begin()
				r := f.runRound()
				want := 10.0
				if w.tries {
					want *= float64(retries + 1)
				}
				if name := w.name; behindHub {
					switch want += 0.5; {
					case name == "message lost":
						want = 0.5 + float64(retries) + 10 + 0.5 // half a round trip passes before each try
					case name == "away":
						want = 10.5
					}
				}
				if math.Abs(r.TimeS-want) > 1e-6 || r.Participants != 0 || r.Dropped != 1 {
					t.Errorf("%s, %d retries, hub %t: %+v, want %g s", w.name, retries, behindHub, r, want)
				}
			}
		}
	}
}

// Without rounds a failed attempt holds its place until its response was due, also if its battery was empty and is charged
// again: when no response ever comes, the run ends after 1,000 attempts for each client and 100,001 more.
func TestAFailedAttemptHoldsItsPlace(t *testing.T) {
	for _, w := range failing {
		if !w.tries {
			continue
		}
		f := start(t, tens(t, "fedasync", federation.Asynchronous, 4, 1, func(s *Setup) {
			s.Config.Clients = 1
			w.change(s)
		}))
		out := finish(t, f)
		if want := 104_001 * 10.0; out.Status != results.Stalled || math.Abs(f.clients.Now().Seconds()-want) > 0.01 {
			t.Errorf("%s: %v after %.3f s, want %g", w.name, out.Status, f.clients.Now().Seconds(), want)
		}
	}
}

// still has rates and speeds of 0.
type still struct{}

func (still) Downlink(int, float64, engine.Time) (float64, engine.Time) { return 0, engine.Never }
func (still) Uplink(int, float64, engine.Time) (float64, engine.Time)   { return 0, engine.Never }
func (still) Speed(int, engine.Time) (float64, engine.Time)             { return 0, engine.Never }
func (still) Available(int, engine.Time) (bool, engine.Time)            { return false, engine.Never }

// The reason of a stall is why no response comes, and not the battery that empties meanwhile.
func TestAStallHasItsCause(t *testing.T) {
	for what, change := range map[string]func(*Setup){
		"of 0 Mbit/s forever":  func(s *Setup) { s.Bandwidth = still{} },
		"unavailable forever":  func(s *Setup) { s.Availability = still{} },
		"a speed of 0 forever": func(s *Setup) { s.Speed = still{} },
		"battery":              func(*Setup) {},
	} {
		for method, protocol := range map[string]string{"fedavg": federation.WaitForAll, "fedprox": federation.First, "fedasync": federation.Asynchronous} {
			for _, battery := range []bool{true, false} {
				if what == "battery" && !battery {
					continue
				}
				out := run(t, tens(t, method, protocol, 3, 5, func(s *Setup) {
					if change(s); battery {
						joules(s, 10)
					}
				}))
				if out.Status != results.Stalled || !strings.Contains(out.Reason, what) || what != "battery" && strings.Contains(out.Reason, "battery") {
					t.Errorf("%s, battery %t: %s: %q, want %q", protocol, battery, out.Status, out.Reason, what)
				}
			}
		}
	}
}
