package selectors

import (
	"math"
	"slices"
	"testing"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/federation/servertest"
)

// Selecting clients uniformly allocates nothing, for a sample or all, whether all clients
// are available or some.
func TestUniformSelectionAllocatesNothing(t *testing.T) {
	for _, available := range []float64{0.5, 1} {
		f := servertest.Start(t, servertest.World(protocols.Charged, func(s *federation.Setup) {
			s.Config.Clients.Count = 3
			if available < 1 {
				s.Availability = servertest.Coins{Seed: 7, Share: available}
			}
		}), 1)
		f.Begin()
		f.Select()
		if n := testing.AllocsPerRun(20, func() { f.Select() }); n != 0 {
			t.Errorf("%g of the clients available: %g allocations", available, n)
		}
	}
}

// counting is a selector that also counts the clients that it could choose, one by one.
type counting struct {
	uniform
	clients *clients.Clients
	seen    []int
	owed    bool // an available client owed a response
}

var count *counting

func init() {
	federation.RegisterSelector(federation.SelectorFactory{Name: "counting",
		New: func(federation.SelectorSetup, config.Options) (federation.Selector, error) { return count, nil }})
}

func (c *counting) Select(s *federation.Selection) []int32 {
	n := 0
	for client := range s.Clients() {
		available, owes := c.clients.Available(client), s.Owes(int32(client))
		if available && !owes {
			n++
		}
		c.owed = c.owed || available && owes
	}
	c.seen = append(c.seen, n)
	return c.uniform.Select(s)
}

// A round records how many clients could be asked when it began: available ones that owe no
// response. Nobody counts before the first round, nor without rounds.
func TestRoundsCountTheClientsThatCouldBeAsked(t *testing.T) {
	for _, available := range []float64{0.6, 1} {
		count = &counting{}
		f := servertest.Start(t, servertest.World(protocols.First, func(s *federation.Setup) {
			s.Config.Clients.Count, s.Config.Over, s.Config.Late, s.Config.Selection = 3, 2, federation.Keep, "counting"
			s.Network.Jitter = 0.9
			if available < 1 {
				s.Availability = servertest.Coins{Seed: 7, Share: available}
			}
		}), 1)
		count.clients = f.Clients()
		f.Begin()
		var got []int
		for range 60 {
			f.Next()
			got = append(got, f.Askable)
		}
		if !slices.Equal(got, count.seen) {
			t.Errorf("rounds had %v clients, want %v", got, count.seen)
		}
		if available == 1 && !count.owed {
			t.Error("no client owed a response while it was available")
		}
	}
}

// One device is drawn in proportion to its weight; over 20,000 rounds a share has a
// standard deviation of at most 0.0036, five of which are allowed.
func TestSelectionByWeights(t *testing.T) {
	for name, weight := range map[string]func(n int) float64{
		"data": func(n int) float64 { return float64(n) },
		"speed": func(n int) float64 {
			return 1 / (2*servertest.TransferS + float64(n)*servertest.StepFLOPs/servertest.Rate)
		},
	} {
		r, total := rehearse(t, name, nil, federation.SelectorSetup{}, nil), 0.0
		for _, n := range servertest.Rows {
			total += weight(n)
		}
		drawn := make([]int, len(servertest.Rows))
		const rounds = 20_000
		for round := range rounds {
			drawn[r.pick(round, 1, nil)[0]]++
		}
		for k, times := range drawn {
			want := weight(servertest.Rows[k]) / total
			if share := float64(times) / rounds; math.Abs(share-want) > 5*0.0036 {
				t.Errorf("%s: device %d is drawn in a share of %.4f of the rounds, want %.4f", name, k, share, want)
			}
		}
	}
}
