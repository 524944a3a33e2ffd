package selectors

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"fedsim/config"
	"fedsim/federation"
	"fedsim/internal/tools/orderstat"
)

// tiflOptions are the settings of TiFL.
type tiflOptions struct {
	// number of tiers of clients with like response times
	Tiers int `toml:"tiers"`
	// probability of each tier, the fastest first
	Probabilities []float64 `toml:"probabilities" absent:"[]: equal ones"`
	// whether tiers with larger losses become more probable; false: the probabilities stay, and
	// clients report no losses
	Adaptive bool `toml:"adaptive"`
	// rounds from one look at the losses of tiers to the next, with adaptive
	Every int `toml:"every"`
	// how many rounds a tier can be drawn in
	Credits int `toml:"credits" absent:"0: no limit"`
}

// Validate reports everything wrong with the options.
func (o *tiflOptions) Validate(c *config.Checker) {
	c.Require(o.Tiers >= 1 && o.Tiers <= math.MaxUint8, "tiers", o.Tiers, "must be in [1, 255]")
	sum := 0.0
	for i, p := range o.Probabilities {
		c.Require(p >= 0 && p <= 1, fmt.Sprintf("probabilities[%d]", i), p, "must be in [0, 1]")
		sum += p
	}
	if n := len(o.Probabilities); n > 0 {
		c.Require(n == o.Tiers, "probabilities", o.Probabilities,
			fmt.Sprintf("must have %d values: one for each tier", o.Tiers))
		c.Require(math.Abs(sum-1) <= 1e-9, "probabilities", o.Probabilities, "must add up to 1")
	}
	c.Require(o.Every >= 1 && o.Every <= 1e9, "every", o.Every, "must be in [1, 1e9]")
	c.Require(o.Credits >= 0 && o.Credits <= 1e9, "credits", o.Credits, "must be in [0, 1e9]")
}

// tifl is TiFL: the clients of a round are drawn from one tier of clients that respond
// about equally fast (algorithm 1 of the paper). With adaptive, the probabilities of tiers
// follow the losses of their clients (algorithm 2): here the last losses that clients
// reported, weighted by rows, in place of accuracies on test data of a tier. Tiers that
// have reported nothing come before all others.
//
// Tiers are equal parts of the clients in the order of their expected response times, which
// stand for the profile. Memory is about 5 bytes for each client, beside its History.
type tifl struct {
	tiflOptions
	tiers   []uint8 // by client; made for the first round
	credits []int
	now     []float64 // probabilities
	last    int       // tier of the last round
	losses  []float64 // of tiers, when they were looked at last
	counts  []int     // available clients of each tier
	members []int32
	chosen  []int32
}

func init() {
	federation.RegisterSelector(federation.SelectorFactory{
		Name:    "tifl",
		Summary: "one tier of like response times; tiers with larger losses more often",
		Reference: "Chai, Ali, Zawad, Truex, Anwar, Baracaldo, Zhou, Ludwig, Yan, Cheng: TiFL: " +
			"A Tier-based Federated Learning System, HPDC 2020",
		Options: func() config.Options { return &tiflOptions{Tiers: 5, Adaptive: true, Every: 10} },
		Declare: func(o config.Options, f *federation.SelectorFactory) {
			adaptive := o.(*tiflOptions).Adaptive
			f.History, f.Losses = adaptive, adaptive
		},
		New: func(_ federation.SelectorSetup, o config.Options) (federation.Selector, error) {
			t := &tifl{tiflOptions: *o.(*tiflOptions)}
			t.now = slices.Clone(t.Probabilities)
			for len(t.now) < t.Tiers {
				t.now = append(t.now, 1/float64(t.Tiers))
			}
			t.credits, t.counts = make([]int, t.Tiers), make([]int, t.Tiers)
			for i := range t.credits {
				t.credits[i] = t.Credits
			}
			return t, nil
		},
	})
}

func (t *tifl) Select(s *federation.Selection) []int32 {
	if t.tiers == nil {
		t.profile(s)
	}
	if t.Adaptive && s.Round > 0 && s.Round%t.Every == 0 {
		t.look(t.tierLosses(s))
	}
	clear(t.counts)
	for i := range s.Len() {
		t.counts[t.tiers[s.At(i)]]++
	}
	t.last = t.drawTier(s.Server().Float64())
	if t.Credits > 0 {
		t.credits[t.last] = max(0, t.credits[t.last]-1)
	}
	t.chosen = t.chosen[:0]
	for away := 0; len(t.chosen) < s.Size; away++ { // a faster tier before one that is slower by as much
		t.take(s, t.last-away)
		if away > 0 {
			t.take(s, t.last+away)
		}
	}
	return t.chosen
}

// profile divides the clients into tiers of equal sizes in the order of their expected
// response times; the first tiers have one more if the sizes differ.
func (t *tifl) profile(s *federation.Selection) {
	n := s.Clients()
	keys := make([]orderstat.Keyed, n)
	s.Parallel(n, func(i, _ int) {
		keys[i] = orderstat.Keyed{Key: s.ExpectedResponse(int32(i)).Seconds(), ID: int32(i)}
	})
	slices.SortFunc(keys, orderstat.Keyed.Compare)
	t.tiers = make([]uint8, n)
	from := 0
	for tier := range t.Tiers {
		to := from + n/t.Tiers
		if tier < n%t.Tiers {
			to++
		}
		for _, k := range keys[from:to] {
			t.tiers[k.ID] = uint8(tier)
		}
		from = to
	}
}

// tierLosses returns the mean of the last losses that the clients of each tier reported,
// weighted by their rows; infinite for a tier that has reported none.
func (t *tifl) tierLosses(s *federation.Selection) []float64 {
	sums, rows := make([]float64, t.Tiers), make([]float64, t.Tiers)
	for client := range int32(s.Clients()) {
		if h := s.History(client); h.Responses > 0 {
			tier, n := t.tiers[client], float64(s.Rows(client))
			sums[tier] += float64(n * h.Loss)
			rows[tier] += n
		}
	}
	for i := range sums {
		if sums[i] /= rows[i]; rows[i] == 0 {
			sums[i] = math.Inf(1)
		}
	}
	return sums
}

// look changes the probabilities if the loss of the tier of the last round has not fallen
// since the last look: of n tiers with credits, the one with the i-th largest loss,
// i = 1..n, has (n - i)/(n (n - 1)/2).
func (t *tifl) look(losses []float64) {
	before := t.losses
	t.losses = losses
	if before == nil || losses[t.last] < before[t.last] {
		return
	}
	var order []int
	for tier := range t.Tiers {
		t.now[tier] = 0
		if t.hasCredits(tier) {
			order = append(order, tier)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(losses[b], losses[a]) })
	n := len(order)
	for i, tier := range order {
		t.now[tier] = 1
		if n > 1 {
			t.now[tier] = float64(n-1-i) / (float64(n*(n-1)) / 2)
		}
	}
}

// hasCredits reports whether a tier can be drawn.
func (t *tifl) hasCredits(tier int) bool { return t.Credits == 0 || t.credits[tier] > 0 }

// drawTier draws a tier with available clients and with credits, by a number in [0, 1). If
// all such have probability 0 they are equally probable; if there are none, all tiers with
// available clients are.
func (t *tifl) drawTier(u float64) int {
	for attempt := range 3 {
		weight := func(tier int) float64 {
			switch {
			case attempt < 2 && !t.hasCredits(tier):
				return 0
			case attempt == 0:
				return t.now[tier]
			default:
				return 1
			}
		}
		sum := 0.0
		for tier, n := range t.counts {
			if n > 0 {
				sum += weight(tier)
			}
		}
		left, drawn := float64(u*sum), -1
		for tier, n := range t.counts {
			if n > 0 && weight(tier) > 0 && left >= 0 {
				drawn = tier
				left -= weight(tier)
			}
		}
		if drawn >= 0 {
			return drawn
		}
	}
	return 0 // no client is available
}

// take adds clients of a tier to those chosen, all with the same probability, until the
// round is full.
func (t *tifl) take(s *federation.Selection, tier int) {
	if tier < 0 || tier >= t.Tiers || len(t.chosen) == s.Size {
		return
	}
	t.members = t.members[:0]
	for i := range s.Len() {
		if client := s.At(i); int(t.tiers[client]) == tier {
			t.members = append(t.members, client)
		}
	}
	if len(t.members) > 0 {
		t.chosen = append(t.chosen, s.Uniform(s.Size-len(t.chosen), t.members)...)
	}
}
