package selectors

import (
	"math"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
)

// reflOptions are the settings of REFL's selection.
type reflOptions struct {
	// length of the cycle in which the availability of clients repeats, in seconds
	PeriodS float64 `toml:"period_s"`
	// parts of the cycle, for each of which the availability of a client is predicted
	Slots int `toml:"slots"`
	// weight of the earlier rounds in the expected length of a round
	Smooth float64 `toml:"smooth"`
	// rounds in which a client is not asked after one that asked it and to which it responded
	Holdoff int `toml:"holdoff"`
}

// Validate reports everything wrong with the options.
func (o *reflOptions) Validate(c *config.Checker) {
	c.Require(o.PeriodS > 0 && o.PeriodS <= 1e9, "period_s", o.PeriodS, "must be in (0, 1e9] seconds")
	c.Require(o.Slots >= 1 && o.Slots <= 1000, "slots", o.Slots, "must be in [1, 1000]")
	c.Require(o.Smooth >= 0 && o.Smooth < 1, "smooth", o.Smooth, "must be in [0, 1)")
	c.Require(o.Holdoff >= 0 && o.Holdoff <= 1e9, "holdoff", o.Holdoff, "must be in [0, 1e9]")
}

// refl is the selection of REFL (algorithm 1 of the paper): of the available clients those
// that are least likely to be available in [mu, 2 mu] from now, where mu is the expected
// length of a round; equal predictions in random order. The prediction is the share of the
// earlier rounds that began in the same slots of the cycle in which the client was
// available. Of a slot in which no round has begun it is that of the last slot before.
// Memory is 2 bytes for each client and slot, beside the client's History.
type refl struct {
	reflOptions
	seen   [][]uint16 // by slot and client: rounds in which it was available
	rounds []uint16   // by slot
	mu     float64    // seconds; 0: not known yet
	began  engine.Time
	slots  []int // scratch
	chosen []int32
}

func init() {
	federation.RegisterSelector(federation.SelectorFactory{
		Name:      "refl",
		Summary:   "the least likely to be available soon; as predicted from their own past",
		Reference: "Abdelmoniem, Sahu, Canini, Fahmy: REFL: Resource-Efficient Federated Learning, EuroSys 2023",
		History:   true,
		Options:   func() config.Options { return &reflOptions{PeriodS: 86400, Slots: 24, Smooth: 0.25, Holdoff: 5} },
		New: func(_ federation.SelectorSetup, o config.Options) (federation.Selector, error) {
			opts := o.(*reflOptions)
			return &refl{reflOptions: *opts, seen: make([][]uint16, opts.Slots), rounds: make([]uint16, opts.Slots)},
				nil
		},
	})
}

func (r *refl) Select(s *federation.Selection) []int32 {
	now := s.Now()
	if s.Round > 0 {
		length := (now - r.began).Seconds()
		if r.mu > 0 {
			length = float64(r.Smooth*r.mu) + float64((1-r.Smooth)*length)
		}
		r.mu = length
	}
	r.began = now
	r.predictFor(now.Seconds())
	r.chosen = append(r.chosen[:0], s.Lowest(s.Size, s.Available(), func(client int32) float64 {
		key := r.predict(client)
		if h := s.History(client); h.Responses > 0 && s.Round-int(h.Round) <= r.Holdoff {
			key += 2 // only if there are too few others
		}
		stream := s.Client(client)
		return key + float64(1e-9*stream.Float64())
	})...)
	r.observe(s, r.slot(now.Seconds()))
	return r.chosen
}

// slot returns the slot of an instant in seconds.
func (r *refl) slot(at float64) int {
	return min(int(math.Mod(at, r.PeriodS)/r.PeriodS*float64(r.Slots)), r.Slots-1)
}

// predictFor lists the slots that predict the availability in [mu, 2 mu] from now.
func (r *refl) predictFor(now float64) {
	r.slots = r.slots[:0]
	length := r.PeriodS / float64(r.Slots)
	span := math.Floor((now+float64(2*r.mu))/length) - math.Floor((now+r.mu)/length)
	first := r.slot(now + r.mu)
	for i := range int(min(span, float64(r.Slots-1))) + 1 {
		at := (first + i) % r.Slots
		for back := 0; back < r.Slots && r.rounds[at] == 0; back++ {
			at = (at + r.Slots - 1) % r.Slots
		}
		if r.rounds[at] > 0 {
			r.slots = append(r.slots, at)
		}
	}
}

// predict returns the predicted availability of a client; 0 in the first round.
func (r *refl) predict(client int32) float64 {
	sum := 0.0
	for _, slot := range r.slots {
		sum += float64(r.seen[slot][client]) / float64(r.rounds[slot])
	}
	return sum / float64(max(1, len(r.slots)))
}

// observe notes which clients are available in a slot. Those at work for an earlier round
// are.
func (r *refl) observe(s *federation.Selection, slot int) {
	if r.seen[slot] == nil {
		r.seen[slot] = make([]uint16, s.Clients())
	}
	seen := r.seen[slot]
	if r.rounds[slot] == math.MaxUint16 { // forget half of the past
		for client := range seen {
			seen[client] /= 2
		}
		r.rounds[slot] /= 2
	}
	r.rounds[slot]++
	for i := range s.Len() {
		seen[s.At(i)]++
	}
	if s.Len() == s.Clients() {
		return
	}
	for client := range seen {
		if s.Owes(int32(client)) {
			seen[client]++
		}
	}
}
