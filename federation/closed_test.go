package federation_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/servertest"
	"fedsim/internal/tools/parallel"
	"fedsim/internal/tools/racetest"
	"fedsim/network"
)

const nanosecond = 1e-9

// different makes devices and links of different speeds.
func different(s *Setup) {
	s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 0.5
	s.Network.RateSpread, s.Network.RTTms = 0.5, 30
	s.Network.DownlinkMbps, s.Network.UplinkMbps = 0.02, 0.01
}

func TestTheFirstResponsesEndARound(t *testing.T) {
	sorted := slices.Sorted(slices.Values(answers()))
	for k := 1; k <= len(sizes); k++ {
		o := start(t, world(First, func(s *Setup) {
			s.Config.Clients.Count, s.Config.Over = k,
				float64(len(sizes))/float64(k)
		}), 2).Play(6)
		for h, r := range o.Rounds {
			if want := float64(h+1) * sorted[k-1]; r.Participants != k || r.Late != len(sizes)-k || r.Dropped != 0 ||
				math.Abs(r.TimeS-want) > 1e-8 {
				t.Errorf("the first %d: %+v, want %.9f s", k, r, want)
			}
		}
	}
}

// Under late = "keep" a response is taken in the round in which it arrives: each device answers again and again without
// interruption, except that one that has answered waits for the end of the round, which is the same instant. Without
// rounds
// it is the same.
func TestResponsesAreTakenWhenTheyArrive(t *testing.T) {
	for _, protocol := range []string{First, Asynchronous} {
		o := start(t, world(protocol, func(s *Setup) {
			if protocol == First {
				s.Config.Clients.Count, s.Config.Over, s.Config.Late = 1, float64(len(sizes)), Keep
			}
		}), 2).Play(60)
		var expected []float64
		for _, once := range answers() {
			for at := once; at < o.Rounds[59].TimeS+1e-9; at += once {
				expected = append(expected, at)
			}
		}
		slices.Sort(expected)
		taken := 0
		for _, r := range o.Rounds {
			taken += r.Participants
			if at := expected[taken-1]; math.Abs(at-r.TimeS) > 1e-6 {
				t.Fatalf("%s: answer %d comes at %.6f s, want %.6f", protocol, taken, r.TimeS, at)
			}
		}
	}
}

// A device that drops at the start of an attempt with probability p takes part in a round with probability
// 1 - p^(1+retries). The share over 7 x 400 draws has a standard deviation below 0.0095; five of them are allowed.
func TestRetries(t *testing.T) {
	for _, retries := range []int{0, 1, 3} {
		o := start(t, world(Deadline, func(s *Setup) {
			s.Config.DeadlineS, s.Config.Fit, s.Config.Retries = 100, false, retries
			s.Faults.DropProbability.All = 0.5
		}), 2).Play(400)
		taken := 0
		for _, r := range o.Rounds {
			taken += r.Participants
		}
		share, want := float64(taken)/float64(400*len(sizes)), 1-math.Pow(0.5, float64(1+retries))
		if math.Abs(share-want) > 5*0.0095 {
			t.Errorf("%d retries: a share of %.4f takes part, want %.4f", retries, share, want)
		}
	}
}

// The server notices a drop when the response is overdue: a device that is asked k times takes k times as long, and
// works
// until it drops.
func TestRetryClosedForm(t *testing.T) {
	for _, where := range []string{devices.AtStart, devices.AtCompute, devices.AtUpload, devices.AtRandom} {
		s := world(WaitForAll, func(s *Setup) {
			s.Clients, s.Rows = 1, []int32{10}
			s.Faults.DropProbability.All, s.Faults.DropPhase = 0.6, where
		})
		f := start(t, s, 1)
		f.Begin()
		drops, err := devices.NewDrops(s.Faults, 1, s.Seed)
		if err != nil {
			t.Fatal(err)
		}
		once, before := 2*transferS+10*stepFLOPs/rate, 0.0
		for h := range 30 {
			r, _ := f.Next()
			attempts, flops := 1, 0.0
			for ; ; attempts++ {
				drop := drops.Draw(0, h, attempts-1)
				if !drop.Happens {
					break
				}
				at := drop.At
				switch where {
				case devices.AtUpload:
					at = 1
				case devices.AtRandom:
					at = (drop.At*once - transferS) / (once - 2*transferS)
				}
				flops += min(max(at, 0), 1)
			}
			if took := r.TimeS - before; f.Clients().Try(0) != attempts-1 ||
				!near(took, float64(attempts)*once, 1e-8) ||
				!near(r.FLOPs, (flops+1)*10*stepFLOPs, 1e-6) || r.Dropped != min(1, attempts-1) {
				t.Errorf("%s, round %d: %+v after %g s, want %d attempts of %g s and %g FLOPs", where, h, r, took,
					attempts, once, (flops+1)*10*stepFLOPs)
			}
			before = r.TimeS
		}
	}
}

// A deadline is the global clock cycle: rounds end at its multiples, with any number of responses. Controllers fill it:
// they
// take the downlink and the expected uplink, longer by the margin, off it.
func TestDeadlineIsTheClockCycle(t *testing.T) {
	for _, p := range []float64{0, 0.5, 1} {
		for _, margin := range []float64{0, 0.5} {
			f := start(t, world(Deadline, func(s *Setup) {
				different(s)
				s.Config.DeadlineS, s.Config.Margin, s.Faults.DropProbability.All = 2.25, margin, p
			}), 100)
			f.Begin()
			for h := range 8 {
				r, _ := f.Next()
				if want := 2.25 * float64(h+1); math.Abs(r.TimeS-want) > nanosecond/2 || r.Late != 0 || p == 0 &&
					r.Participants != len(sizes) ||
					p == 1 && (r.Participants != 0 || r.FLOPs != 0) {
					t.Errorf("p = %g: %+v, want the end at %.10f s", p, r, want)
				}
				for k := range sizes {
					links := f.Clients().Links()
					down, up := 0.015+8*message/1e6/links.Mbps(network.Down, k),
						0.015+8*message/1e6/links.Mbps(network.Up, k)
					left := 2.25 - down - (1+margin)*up
					// The clock's resolution may decide at the very edge.
					low := int(math.Floor((left - 3*nanosecond) * f.Clients().Fleet().Rate(k) / stepFLOPs))
					high := int(math.Floor((left + 3*nanosecond) * f.Clients().Fleet().Rate(k) / stepFLOPs))
					if got := f.Attempt(k).Limit; got < low || got > high || got == 0 {
						t.Errorf("round %d: device %d may take %d steps, want %d", h, k, got, low)
					}
				}
			}
		}
	}
}

// "charged": every device is charged the time of steps_high n_min steps and does U[steps_low, 1] of them, at least one
// (appendix, "Systems Heterogeneity"). 1400 draws of floor(U[2, 20]) meet every value but 20 itself.
func TestChargedTakesTheSameTimeForAll(t *testing.T) {
	for _, c := range []struct {
		low, high    float64
		fewest, most int
	}{{0.1, 2.5, 2, 19}, {0.01, 0.02, 1, 1}} {
		f := start(t, world(Charged, func(s *Setup) { s.Config.StepsLow, s.Config.StepsHigh = c.low, c.high }), 100)
		f.Begin()
		charge := 2*transferS + max(1/rate*stepFLOPs, c.high*8*stepFLOPs/rate) // n_min = 8
		seen := map[int]bool{}
		for h := range 200 {
			if r, _ := f.Next(); math.Abs(r.TimeS-charge*float64(h+1)) > 3*nanosecond*float64(h+1) ||
				r.Participants != len(sizes) {
				t.Fatalf("%+v, want the end at %.10f s", r, charge*float64(h+1))
			}
			for k := range sizes {
				a := f.Attempt(k)
				seen[a.Steps] = true
				if a.Steps != a.Limit || a.Steps < c.fewest || a.Steps > c.most {
					t.Fatalf("round %d: device %d: %+v", h, k, a)
				}
			}
		}
		if len(seen) != c.most-c.fewest+1 {
			t.Errorf("%d different numbers of steps", len(seen))
		}
	}
}

// "relative": a round's communication costs 10 (WiFi), 100 (LTE) or 1000 (3G) times a pass over the smallest task
// (section 5.3), whatever the bytes. "authors" charges only work that was done, unless the protocol charges more.
func TestCostsOfThePaper(t *testing.T) {
	for profile, factor := range map[string]float64{"wifi": 10, "wifi-2012": 10, "lte": 100, "3g": 1000} {
		o := start(t, world(WaitForAll, func(s *Setup) {
			s.Config.Cost, s.Network.Profile = federation.Relative, profile
		}), 1).Play(1)
		want := factor*8*stepFLOPs/rate + 40*stepFLOPs/rate
		if r := o.Rounds[0]; math.Abs(r.TimeS-want) > 3*nanosecond || r.BytesDown != 7*message ||
			r.BytesUp != 7*message {
			t.Errorf("%s: %+v, want %.10f s", profile, r, want)
		}
	}
}

// The short links of the tests: 5 ms and 8 bits in 2 us each way.
const shortMbps, shortRTTms = 0.5, 10.0

// behind puts devices behind hubs of that many.
func behind(s *Setup, size int) {
	s.Network.HubSize, s.Network.HubMbps, s.Network.HubRTTms = size, shortMbps, shortRTTms
}

// A round under wait-for-all takes as long as its slowest hub: its two transfers, each with all messages of its
// devices, and
// its slowest device between them. One line computes the same, on random setups.
func TestARoundLastsAsLongAsItsSlowestHub(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(1, len(sizes)).Draw(rt, "hub_size")
		s := world(WaitForAll, func(s *Setup) {
			different(s)
			behind(s, size)
			s.Seed = rapid.Uint64().Draw(rt, "seed")
			s.Network.Jitter = rapid.Float64Range(0, 2).Draw(rt, "jitter")
			s.Network.HubRTTms = rapid.Float64Range(0, 500).Draw(rt, "hub_rtt_ms")
		})
		f := start(t, s, 1)
		f.Begin()
		between := network.NewLinks(s.Network, s.Network.Hubs(len(sizes)), s.Seed)
		short, before := s.Network.HubRTTms/2e3+message*8/(shortMbps*1e6), 0.0
		for h := range 3 {
			r, _ := f.Next()
			slowest, bytes := 0.0, 0.0
			for g := range s.Network.Hubs(len(sizes)) {
				from, to, work := g*size, min((g+1)*size, len(sizes)), 0.0
				for k := from; k < to; k++ {
					work = max(work, f.Clients().State(k).FLOPs/f.Clients().Fleet().Rate(k))
				}
				all := 64.0 + 48 // one model for all, behind a header
				bytes += all
				slowest = max(slowest, between.Send(network.Down, g, h, 0,
					all).Duration.Seconds()+2*short+work+between.Send(network.Up, g, h, 0, all).Duration.Seconds())
			}
			if took := r.TimeS - before; !near(took, slowest, 20*nanosecond) || r.BytesDown != bytes ||
				r.BytesUp != bytes {
				rt.Fatalf("%+v takes %.9f s, want %.9f", r, took, slowest)
			}
			before = r.TimeS
		}
	})
}

// A hub's lost message is sent again half a round trip after it was due. Under wait-for-all there is no limit;
// otherwise
// retries is the limit, and then all devices behind the hub are dropped for the round.
func TestHubsRepeatMessagesThatAreLost(t *testing.T) {
	for _, c := range []struct {
		protocol string
		retries  int
	}{{WaitForAll, 0}, {Deadline, 0}, {Deadline, 2}} {
		s := world(c.protocol, func(s *Setup) {
			s.Clients, s.Rows = 2, []int32{10, 10}
			behind(s, 2)
			s.Network.LossProbability, s.Config.Retries = 0.5, c.retries
			if c.protocol == Deadline {
				s.Config.Fit, s.Config.DeadlineS = false, 100
			}
		})
		f := start(t, s, 1)
		f.Begin()
		between := network.NewLinks(s.Network, 1, s.Seed)
		tries := func(h int, way network.Direction) (n int, arrived bool) {
			for n = 1; between.Send(way, 0, h, n-1, message).Lost; n++ {
				if c.protocol != WaitForAll && n == c.retries+1 {
					return n, false
				}
			}
			return n, true
		}
		gaveUp, before := 0, 0.0
		for h := range 40 {
			r, _ := f.Next()
			down, there := tries(h, network.Down)
			up, back := 0, false
			if there {
				up, back = tries(h, network.Up)
			}
			took := 2
			if !back {
				took = 0
				gaveUp++
			}
			const short = shortRTTms/2e3 + message*8/(shortMbps*1e6)
			want := float64(down+up)*transferS + float64(down+up-2)*0.005 + 2*short + 10*stepFLOPs/rate
			if r.BytesDown != float64(down)*message || r.BytesUp != float64(up)*message || r.Participants != took ||
				r.Dropped != 2-took || r.Late != 0 ||
				c.protocol == WaitForAll && !near(r.TimeS-before, want, 20*nanosecond) {
				t.Fatalf("%+v: %+v, want %d messages down, %d up, %.9f s", c, r, down, up, want)
			}
			before = r.TimeS
		}
		if gaveUp == 0 != (c.protocol == WaitForAll) {
			t.Errorf("%+v: the answers of %d rounds never came", c, gaveUp)
		}
	}
}

// Responses behind one hub arrive together: a round that ends with the first one takes them all, and those of other
// hubs are
// late. The slowest device of a hub delays the others; with a controller that knows the hub's transfers all are in
// time.
func TestResponsesBehindAHubArriveTogether(t *testing.T) {
	for _, c := range []struct {
		protocol    string
		fit         bool
		taken, late int // 31 steps of device 1 and 40 of 5 do not fit into 0.9 s
	}{{First, false, 3, 4}, {Deadline, false, 1, 6}, {Deadline, true, 7, 0}} {
		o := start(t, world(c.protocol, func(s *Setup) {
			behind(s, 3) // devices 0..2, 3..5 and 6
			if s.Config.Fit = c.fit; c.protocol == Deadline {
				s.Config.DeadlineS = 0.9
				return
			}
			s.Config.Clients.Count, s.Config.Over = 2, 3.5
		}), 1).Play(4)
		for _, r := range o.Rounds {
			if r.Participants+r.Late != len(sizes) || c.protocol == Deadline && r.Late != c.late ||
				c.protocol == First && r.Participants != 4 && r.Participants != 3 {
				t.Errorf("%+v: %+v", c, r)
			}
		}
	}
}

// Loops over many clients are parallel: one worker selects, prepares and sends as four do.
func TestManyClientsHaveTheSameBits(t *testing.T) {
	for _, name := range append(SelectorNames(), servertest.PaperOort) {
		if factory, _ := LookupSelector(name); factory.Reference == "" && name != servertest.PaperOort &&
			name != "uniform" && name != "uniform-rejection" {
			continue
		}
		of := func(workers int) outcome {
			return start(t, world(Deadline, func(s *Setup) {
				s.Clients, s.Rows, s.Pool = 3000, slices.Repeat([]int32{4}, 3000), parallel.NewPool(workers)
				s.Config.DeadlineS = 1
				servertest.SelectBy(&s.Config, name, 300, 500)
			}), 1).Play(4)
		}
		one := of(1)
		if diff := same(one, of(4)); diff != "" || one.Rounds[0].Participants < 256 {
			t.Errorf("%s: %+v, 4 workers: %s", name, one.Rounds[0], diff)
		}
	}
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

// tens is a world of so many clients whose work takes 10 s, with messages that take no time.
func tens(protocol string, n int, change func(*Setup)) Setup {
	return world(protocol, func(s *Setup) {
		s.Clients, s.Rows = n, slices.Repeat([]int32{4}, n)
		s.Devices.ClockGHz, s.Devices.FlopsPerCycle, s.Devices.TaskS = 1, 1e9, 10
		s.Network.RTTms, s.Network.DownlinkMbps, s.Network.UplinkMbps = 0, 1e9, 1e9
		change(s)
	})
}

// A round with one client, which fails, takes the 10 s that its response was due after, and with a try left as long
// again.
// Without rounds a failed attempt holds its place until its response was due: when no response ever comes, the run ends
// after
// 1,000 attempts for each client and 100,001 more.
func TestALostRoundLastsUntilTheResponseIsOverdue(t *testing.T) {
	for _, w := range []struct {
		name   string
		change func(*Setup)
		tries  bool // it is asked again in its place
	}{
		{"drops at the start", func(s *Setup) {
			s.Faults.DropProbability.All, s.Faults.DropPhase = 1,
				devices.AtStart
		}, true},
		{"drops in its work", func(s *Setup) {
			s.Faults.DropProbability.All, s.Faults.DropPhase = 1,
				devices.AtCompute
		}, true},
		{"message lost", func(s *Setup) { s.Network.LossProbability = 1 }, true},
		{"battery empty", func(s *Setup) { joules(s, 10) }, false},
		{"battery empty, charged before", func(s *Setup) {
			joules(s, 10)
			s.Devices.ChargeW,
				s.Devices.ReturnLevel = 10, 0.1
		}, true},
		{"away", func(s *Setup) { s.Availability = gone{} }, false},
		{"away while work pauses", func(s *Setup) {
			s.Availability, s.Faults.OnReturn = window{From: engine.FromSeconds(5), To: engine.Never}, devices.Resume
		}, false},
	} {
		for retries := range 2 {
			for _, behindHub := range []bool{false, true} {
				f := start(t, tens(First, 1, func(s *Setup) {
					if s.Config.Clients.Count, s.Config.Retries = 1, retries; behindHub {
						s.Network.HubSize, s.Network.HubRTTms, s.Network.HubMbps = 1, 0, 1e9
						s.Network.RTTms = 1000 // a message to or from the hub takes 0.5 s
					}
					w.change(s)
				}), 1)
				f.Begin()
				r, _ := f.Next()
				want := 10.0
				if w.tries {
					want *= float64(retries + 1)
				}
				if behindHub {
					switch want += 0.5; w.name {
					case "message lost":
						want = 0.5 + float64(retries) + 10 + 0.5 // half a round trip passes before each try
					case "away":
						want = 10.5
					}
				}
				if math.Abs(r.TimeS-want) > 1e-6 || r.Participants != 0 || r.Dropped != 1 {
					t.Errorf("%s, %d retries, hub %t: %+v, want %g s", w.name, retries, behindHub, r, want)
				}
			}
		}
		if w.name == "drops in its work" || w.name == "message lost" {
			f := start(t, tens(Asynchronous, 4, func(s *Setup) { s.Config.Clients.Count = 1; w.change(s) }), 1)
			if o := f.Play(1); o.Stalled == "" || math.Abs(f.Clients().Now().Seconds()-104_001*10) > 0.01 {
				t.Errorf("%s: %q after %.3f s", w.name, o.Stalled, f.Clients().Now().Seconds())
			}
		}
	}
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
	total, step := 0.0, 5e-2
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
	racetest.Skip(t, "compares moments of many rounds, which one goroutine makes")
	for _, q := range []struct{ fails, want float64 }{{0.3, 21.7815451}, {0.5, 29.3180115}} {
		if got := firstOf(8, 12, 1-q.fails); math.Abs(got-q.want) > 1e-4 {
			t.Fatalf("the integral is %g, SciPy's %g", got, q.want)
		}
		for _, phase := range []string{devices.AtStart, devices.AtCompute, devices.AtUpload, devices.AtRandom, "lost"} {
			o := start(t, tens(First, 12, func(s *Setup) {
				s.Config.Clients.Count, s.Config.Over = 8, 1.5
				if s.Devices.Jitter = 1; phase == "lost" { // one of two messages
					s.Network.LossProbability = 1 - math.Sqrt(1-q.fails)
				} else {
					s.Faults.DropProbability.All, s.Faults.DropPhase = q.fails, phase
				}
			}), 1).Play(600)
			n, before, sum, squares := float64(len(o.Rounds)), 0.0, 0.0, 0.0
			for _, r := range o.Rounds {
				d := r.TimeS - before - q.want
				before, sum, squares = r.TimeS, sum+d, squares+d*d
			}
			mean := sum / n
			if z := mean / math.Sqrt((squares/n-mean*mean)/n); math.Abs(z) > 3 {
				t.Errorf("%g fail, %s: a round takes %.3f s, want %.3f: z %.1f", q.fails, phase, q.want+mean, q.want, z)
			}
		}
	}
}

// arrivals is a journal of the instants at which the server has responses.
type arrivals []engine.Time

func (a *arrivals) Note(e Entry) {
	if e.Kind == federation.ResponseArrived {
		*a = append(*a, e.To)
	}
}

// Without rounds the server polls from time 0 on. It waits for the poll that delivers the responses, though no client
// can ever
// be available again.
func TestAsynchronousServersPoll(t *testing.T) {
	var all, one arrivals
	start(t, world(Asynchronous, func(s *Setup) { s.Network.ServerPollS, s.Journal = 0.25, &all }), 1).Play(10)
	polls := map[engine.Time]bool{}
	for _, at := range all {
		polls[at] = at%engine.FromSeconds(0.25) == 0
	}
	if len(all) < 30 || len(polls) < 10 {
		t.Errorf("%d responses at %d polls", len(all), len(polls))
	}
	for at, polled := range polls {
		if !polled {
			t.Errorf("a response is seen at %v", at)
		}
	}
	start(t, world(Asynchronous, func(s *Setup) {
		s.Network.ServerPollS, s.Journal = 1000, &one
		joules(s, 3)
	}), 1).Play(2)
	if len(one) == 0 || one[0] != engine.FromSeconds(1000) {
		t.Errorf("responses are seen at %v", one)
	}
}

// Under a protocol that waits for all, min_reports is that of other methods' protocols.
func TestMinReportsIsOfItsProtocols(t *testing.T) {
	for protocol, want := range map[string]int{WaitForAll: len(sizes), Charged: 0} {
		f := start(t, world(protocol, func(s *Setup) { s.Config.MinReports = len(sizes) + 1 }), 1)
		f.Begin()
		if r, _ := f.Next(); r.Participants != want {
			t.Errorf("%s: the server took %d updates, want %d", protocol, r.Participants, want)
		}
	}
}
