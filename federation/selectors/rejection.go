package selectors

import (
	"slices"

	"fedsim/config"
	"fedsim/federation"
)

// rejectionOptions are the settings of the selection by rejection.
type rejectionOptions struct {
	// most candidates that a round considers, for each client that it is to ask; with fewer clients
	// found it asks those
	Tries int `toml:"tries"`
}

// Validate reports everything wrong with the options.
func (o *rejectionOptions) Validate(c *config.Checker) {
	c.Require(o.Tries >= 1 && o.Tries <= 1_000_000, "tries", o.Tries, "must be in [1, 1000000]")
}

// rejection draws candidates from the stream of the server until enough can be asked. A candidate
// is client IntN(n). One that is selected already, that is not available, or that owes a response is
// passed over. So the selection knows of no client but the candidates.
type rejection struct {
	rejectionOptions
	candidates []int32
	askable    []bool // by candidate
	selected   map[int32]struct{}
	chosen     []int32
}

func init() {
	federation.RegisterSelector(federation.SelectorFactory{
		Name: "uniform-rejection", Unlisted: true, Fewer: true,
		Summary: "all with the same probability, by repeated draws; numbers are drawn until enough of the " +
			"clients are available",
		Options: func() config.Options { return &rejectionOptions{Tries: 1000} },
		New: func(_ federation.SelectorSetup, o config.Options) (federation.Selector, error) {
			return &rejection{rejectionOptions: *o.(*rejectionOptions), selected: map[int32]struct{}{}}, nil
		},
	})
}

func (r *rejection) Select(s *federation.Selection) []int32 {
	clear(r.selected)
	r.chosen = r.chosen[:0]
	for left := int64(r.Tries) * int64(s.Size); left > 0 && len(r.chosen) < s.Size; {
		left -= r.consider(s, left)
	}
	slices.Sort(r.chosen)
	return r.chosen
}

// consider draws some candidates, at most so many, and selects the first of them that are missing.
// It looks at them on all cores. Candidates behind the last one that is selected have no effect,
// since the next round has a stream of its own.
func (r *rejection) consider(s *federation.Selection, most int64) (drawn int64) {
	const fewest, largest = 64, 1 << 16
	n := min(most, int64(max(fewest, min(2*(s.Size-len(r.chosen)), largest))))
	r.candidates = r.candidates[:0]
	stream := s.Server()
	for range n {
		r.candidates = append(r.candidates, int32(stream.IntN(s.Clients())))
	}
	r.askable = slices.Grow(r.askable[:0], len(r.candidates))[:len(r.candidates)]
	s.Parallel(len(r.candidates), func(i, _ int) { r.askable[i] = s.Askable(r.candidates[i]) })
	for i, client := range r.candidates {
		if _, twice := r.selected[client]; !twice && r.askable[i] && len(r.chosen) < s.Size {
			r.selected[client] = struct{}{}
			r.chosen = append(r.chosen, client)
		}
	}
	return n
}
