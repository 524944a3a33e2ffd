package learning

import (
	"bytes"
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/state"
)

// posted is federated averaging whose messages to devices differ: device k gets 10 k + h
// numbers in round h.
type posted struct {
	algorithms.Stateful
	h     int
	asked map[int]int // by device, how often the size of its message was asked for
}

func (p *posted) Describe() algorithms.Description {
	d := p.Stateful.Describe()
	d.Messages.Differ, d.Inspected = true, false // it wraps no Inspected
	d.Messages.Usual = func(k int) (down, up int) { return 10 * k, features + k }
	return d
}

func (p *posted) Begin() (algorithms.Sent, error) {
	p.h++
	sent, err := p.Stateful.Begin()
	sent.To = func(k int) int {
		p.asked[k]++
		return 10*k + p.h
	}
	return sent, err
}

func (p *posted) State(c *algorithms.Coder) {
	c.Int(&p.h)
	p.Stateful.State(c)
}

// postedWorld is a world of a posted; its instances are appended to made.
func postedWorld(t testing.TB, protocol string, made *[]*posted, change func(*Setup)) Setup {
	s := world(t, "fedavg", protocol, change)
	inner := s.Factory.New
	s.Factory.New = func(setup algorithms.Setup, o algorithms.Options) (algorithms.Algorithm, error) {
		a, err := inner(setup, o)
		if err != nil {
			return nil, err
		}
		p := &posted{Stateful: a.(algorithms.Stateful), asked: map[int]int{}}
		*made = append(*made, p)
		return p, nil
	}
	return s
}

// postedBytes is the size of the message to device k in round h.
func postedBytes(k, h int) float64 { return float64(64 + 8*(10*k+h)) }

// Every device receives the message that is for it: the bytes are the sum, and a round
// takes as long as its slowest device.
func TestMessagesThatDifferBySizeClosedForm(t *testing.T) {
	var made []*posted
	f := start(t, postedWorld(t, federation.WaitForAll, &made, nil))
	f.clients.Begin()
	before := 0.0
	for h := 1; h <= 4; h++ {
		r := f.runRound()
		sum, slowest := 0.0, 0.0
		for k := range sizes {
			down := postedBytes(k, h)
			sum += down
			slowest = max(slowest, latencyS+8*down/1e6+f.workOf(k).FLOPs/rate+transferS)
		}
		if r.BytesDown != sum || r.BytesUp != float64(message*len(sizes)) {
			t.Errorf("round %d: %g bytes down, %g up, want %g and %d", h, r.BytesDown, r.BytesUp, sum,
				message*len(sizes))
		}
		if !near(r.TimeS-before, slowest, 10*nanosecond) {
			t.Errorf("round %d takes %.9f s, want %.9f", h, r.TimeS-before, slowest)
		}
		for k := range sizes {
			if made[0].asked[k] != h {
				t.Errorf("round %d: device %d was asked for %d times, want once a round", h, k, made[0].asked[k])
			}
		}
		before = r.TimeS
	}
	// Selectors expect 10 k numbers down and features + k up.
	for k, n := range sizes {
		want := 2*latencyS + 8*float64(64+80*k+64+8*(features+k))/1e6 + f.work.flops(k, n)/rate
		if got := expectedResponse(f, k).Seconds(); !near(got, want, 10*nanosecond) {
			t.Errorf("device %d: a response is expected after %.9f s, want %.9f", k, got, want)
		}
	}
}

// A device that is asked again is sent its own message again.
func TestARepeatedMessageKeepsItsSize(t *testing.T) {
	var made []*posted
	f := start(t, postedWorld(t, federation.WaitForAll, &made, func(s *Setup) { s.Network.LossProbability = 0.4 }))
	f.clients.Begin()
	again := 0
	for h := 1; h <= 10; h++ {
		r := f.runRound()
		sum := 0.0
		for k := range sizes {
			again += f.clients.Try(k)
			sum += float64(f.clients.Try(k)+1) * postedBytes(k, h)
		}
		if r.BytesDown != sum {
			t.Errorf("round %d: %g bytes down, want %g", h, r.BytesDown, sum)
		}
	}
	if again == 0 {
		t.Fatal("no message was lost: the test shows nothing")
	}
}

// Between server and hub a message has the largest part of each model: of one model its
// largest, of one model a device the sum.
func TestHubsCarryMessagesThatDiffer(t *testing.T) {
	for _, one := range []bool{true, false} {
		var made []*posted
		f := start(t, postedWorld(t, federation.WaitForAll, &made, func(s *Setup) {
			behind(s, 3)
			described(s, func(d *algorithms.Description) {
				if d.Model = algorithms.DeviceModels; one {
					d.Model = algorithms.OneModel
				}
			})
		}))
		f.clients.Begin()
		want := 0.0
		for g := 0; g < len(sizes); g += 3 {
			most, sum := 0.0, 0.0
			for k := g; k < min(g+3, len(sizes)); k++ {
				most, sum = postedBytes(k, 1)-64, sum+postedBytes(k, 1)-64
			}
			if one {
				sum = most
			}
			want += 64 + sum
		}
		if r := f.runRound(); r.BytesDown != want {
			t.Errorf("one model %v: %g bytes down, want %g", one, r.BytesDown, want)
		}
	}
}

// The sizes are in the replay log: a resumed run has the same bytes and events.
func TestMessagesThatDifferAreResumed(t *testing.T) {
	make := func() Setup {
		var made []*posted
		return postedWorld(t, protocols.First, &made, func(s *Setup) {
			s.Config.Clients.Count, s.Config.Selection = 4, "speed"
			s.Config.Late, s.Config.DeadlineS = federation.Keep, 0.3
			s.Faults.DropProbability.All = 0.2
			s.Network.Jitter = 0.3
		})
	}
	s := make()
	checkpoints := withCheckpoints(&s)
	want := run(t, s)
	for _, at := range []int{1, 5, 9} {
		s := make()
		s.Resume = state.Reading(bytes.NewReader((*checkpoints)[at-1]))
		got := run(t, s)
		if got.EventHash != want.EventHash || got.ModelHash != want.ModelHash {
			t.Errorf("resumed after %d rounds: events %x, model %x, want %x, %x", at, got.EventHash, got.ModelHash,
				want.EventHash, want.ModelHash)
		}
		for h := range want.Rounds {
			if math.Float64bits(got.Rounds[h].BytesDown) != math.Float64bits(want.Rounds[h].BytesDown) {
				t.Errorf("resumed after %d rounds: %g bytes down in round %d, want %g", at, got.Rounds[h].BytesDown, h,
					want.Rounds[h].BytesDown)
			}
		}
	}
}
