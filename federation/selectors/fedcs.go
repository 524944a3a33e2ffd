package selectors

import (
	"slices"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/federation"
)

// fedcsOptions are the settings of FedCS.
type fedcsOptions struct {
	federation.CandidateOptions
	// time limit of a round in seconds, from the request to the last response
	RoundS float64 `toml:"round_s" absent:"0: deadline_s, counted from the request"`
	// bytes of the request for an estimate, and of the estimate
	ReportBytes float64 `toml:"report_bytes"`
	// how clients upload in the server's estimate of a round: "parallel", each on its own link, or
	// "sequential", one after the other on a shared channel, as in the paper
	Uploads string `toml:"uploads"`
}

// Validate reports everything wrong with the options.
func (o *fedcsOptions) Validate(c *config.Checker) {
	o.CandidateOptions.Validate(c)
	c.Require(o.RoundS >= 0 && o.RoundS <= 1e9, "round_s", o.RoundS, "must be in [0, 1e9] seconds")
	c.Require(o.ReportBytes >= 0 && o.ReportBytes <= 1e9, "report_bytes", o.ReportBytes, "must be in [0, 1e9]")
	c.OneOf("uploads", o.Uploads, "parallel", "sequential")
}

// fedcs is FedCS (algorithms 2 and 3 of the paper): it requests estimated times of random
// candidates and selects as many as the round's time limit allows, at most as many as a
// round asks. Each time it takes the candidate that lengthens the round least.
type fedcs struct {
	candidates int
	limit      engine.Time
	bytes      float64
	sequential bool
	order      []int // of the candidates left
	asked      []int32
	chosen     []int32
}

func init() {
	federation.RegisterSelector(federation.SelectorFactory{
		Name:    "fedcs",
		Summary: "as many as fit into the time limit of a round; by estimates that candidates report",
		Reference: "Nishio, Yonetani: Client Selection for Federated Learning with Heterogeneous Resources in " +
			"Mobile Edge, ICC 2019",
		Estimates: true,
		Fewer:     true,
		Options:   func() config.Options { return &fedcsOptions{ReportBytes: 128, Uploads: "parallel"} },
		New: func(s federation.SelectorSetup, o config.Options) (federation.Selector, error) {
			opts := o.(*fedcsOptions)
			limit := engine.FromSeconds(opts.RoundS)
			if limit == 0 {
				limit = s.Deadline
			}
			if limit == 0 {
				return nil,
					config.Problem{Key: "federation.selection_options.round_s", Value: opts.RoundS,
						Want: "must be positive: federation.deadline_s is not set"}
			}
			return &fedcs{candidates: s.Candidates, limit: limit, bytes: opts.ReportBytes,
				sequential: opts.Uploads == "sequential"}, nil
		},
	})
}

func (f *fedcs) Select(s *federation.Selection) []int32 {
	f.asked = append(f.asked[:0], s.Uniform(f.candidates, nil)...)
	estimates := s.Estimates(f.asked, f.bytes)
	f.chosen = f.chosen[:0]
	for _, i := range f.fit(estimates, s.Inquiry(), s.Size) {
		f.chosen = append(f.chosen, f.asked[i])
	}
	slices.Sort(f.chosen)
	return f.chosen
}

// fit returns which of the candidates the round takes, in the order in which it takes them.
// Its first steps have taken a while already. At least one is taken, even if it is too slow.
// Where the candidate that lengthens the round least does not fit, no other does.
func (f *fedcs) fit(estimates []federation.Estimate, began engine.Time, most int) []int {
	f.order = f.order[:0]
	for i := range estimates {
		f.order = append(f.order, i)
	}
	taken, end := 0, engine.Time(0) // of the uploads of those taken
	for taken < min(most, len(f.order)) {
		best, ends := taken, engine.Never
		for j, i := range f.order[taken:] {
			if at := f.end(end, &estimates[i]); at < ends || at == ends && i < f.order[best] {
				best, ends = taken+j, at
			}
		}
		if taken > 0 && began.Add(ends) > f.limit {
			break
		}
		f.order[taken], f.order[best] = f.order[best], f.order[taken]
		taken, end = taken+1, ends
	}
	return f.order[:taken]
}

// end returns when the uploads are over if a candidate joins those that are over at an
// instant (equation (3) of the paper for sequential uploads).
func (f *fedcs) end(uploads engine.Time, e *federation.Estimate) engine.Time {
	if !f.sequential {
		return max(uploads, e.Length())
	}
	return max(uploads, e.Down.Add(e.Compute)).Add(e.Up)
}
