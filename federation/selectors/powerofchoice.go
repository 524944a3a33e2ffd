package selectors

import (
	"math"
	"slices"

	"fedsim/config"
	"fedsim/federation"
)

// powerOfChoice draws candidates without replacement, each with a probability in proportion to
// its rows, and selects those that the global model fits worst: by the losses of the present model on all their rows
// (pow-d), by those on a mini-batch (cpow-d), or by the losses that they reported last (rpow-d).
type powerOfChoice struct {
	candidates int
	losses     func(s *federation.Selection, candidates []int32) []float64
	reported   []float64
}

const powerOfChoicePaper = "Cho, Wang, Joshi: Towards Understanding Biased Client Selection in Federated Learning, " +
	"AISTATS 2022 (arXiv 2010.01243)"

func init() {
	federation.RegisterSelector(federation.SelectorFactory{
		Name:      "power-of-choice",
		Summary:   "the worst fits of the model among candidates",
		Reference: powerOfChoicePaper,
		Losses:    true,
		Options:   func() config.Options { return &federation.CandidateOptions{} },
		New: func(s federation.SelectorSetup, _ config.Options) (federation.Selector, error) {
			return &powerOfChoice{candidates: s.Candidates, losses: (*federation.Selection).Losses}, nil
		},
	})
	federation.RegisterSelector(federation.SelectorFactory{
		Name:          "cpow-d",
		Summary:       "the worst fits among candidates, by a mini-batch; the loss on one of each",
		Reference:     powerOfChoicePaper,
		SampledLosses: true,
		Options:       func() config.Options { return &cpowOptions{Batch: 32} },
		New: func(s federation.SelectorSetup, o config.Options) (federation.Selector, error) {
			batch := o.(*cpowOptions).Batch
			losses := func(s *federation.Selection, of []int32) []float64 { return s.SampledLosses(of, batch) }
			return &powerOfChoice{candidates: s.Candidates, losses: losses}, nil
		},
	})
	federation.RegisterSelector(federation.SelectorFactory{
		Name:      "rpow-d",
		Summary:   "the largest last losses among candidates; first those that have not responded",
		Reference: powerOfChoicePaper,
		History:   true,
		Losses:    true,
		Options:   func() config.Options { return &federation.CandidateOptions{} },
		New: func(s federation.SelectorSetup, _ config.Options) (federation.Selector, error) {
			p := &powerOfChoice{candidates: s.Candidates}
			p.losses = p.lastReported
			return p, nil
		},
	})
}

// cpowOptions are the settings of cpow-d.
type cpowOptions struct {
	federation.CandidateOptions
	// rows of the mini-batch on which a candidate estimates its loss
	Batch int `toml:"batch"`
}

// Validate reports everything wrong with the options.
func (o *cpowOptions) Validate(c *config.Checker) {
	o.CandidateOptions.Validate(c)
	c.Require(o.Batch >= 1 && o.Batch <= 1e9, "batch", o.Batch, "must be in [1, 1e9]")
}

func (p *powerOfChoice) Select(s *federation.Selection) []int32 {
	candidates := s.Weighted(p.candidates, s.Available(), func(client int32) float64 { return float64(s.Rows(client)) })
	losses := p.losses(s, candidates)
	return s.Lowest(s.Size, candidates, func(client int32) float64 {
		i, _ := slices.BinarySearch(candidates, client)
		return -losses[i]
	})
}

// lastReported returns the last reported losses, infinite for candidates that have
// reported none.
func (p *powerOfChoice) lastReported(s *federation.Selection, candidates []int32) []float64 {
	p.reported = p.reported[:0]
	for _, client := range candidates {
		loss := math.Inf(1)
		if h := s.History(client); h.Responses > 0 {
			loss = h.Loss
		}
		p.reported = append(p.reported, loss)
	}
	return p.reported
}
