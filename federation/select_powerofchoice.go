package federation

import (
	"math"
	"slices"

	"fedsim/config"
)

// powerOfChoice draws candidates without replacement, each with a probability in proportion to
// its rows, and selects those that the global model fits worst: by the losses of the present model on all their rows (pow-d), by those on a mini-batch (cpow-d),
// or by the losses that they reported last (rpow-d).
type powerOfChoice struct {
	candidates int
	losses     func(s *Selection, candidates []int32) []float64
	reported   []float64
}

const powerOfChoicePaper = "Cho, Wang, Joshi: Towards Understanding Biased Client Selection in Federated Learning, AISTATS 2022 (arXiv 2010.01243)"

func init() {
	RegisterSelector(SelectorFactory{
		Name:       "power-of-choice",
		Summary:    "those that the model fits worst among candidates",
		Reference:  powerOfChoicePaper,
		Candidates: true,
		Losses:     true,
		New: func(s SelectorSetup, _ config.Options) (Selector, error) {
			return &powerOfChoice{candidates: s.Candidates, losses: (*Selection).Losses}, nil
		},
	})
	RegisterSelector(SelectorFactory{
		Name:       "cpow-d",
		Summary:    "those that the model fits worst among candidates, by the loss on a mini-batch of each",
		Reference:  powerOfChoicePaper,
		Candidates: true, SampledLosses: true,
		Options: func() config.Options { return &cpowOptions{Batch: 32} },
		New: func(s SelectorSetup, o config.Options) (Selector, error) {
			batch := o.(*cpowOptions).Batch
			return &powerOfChoice{candidates: s.Candidates, losses: func(s *Selection, candidates []int32) []float64 {
				return s.SampledLosses(candidates, batch)
			}}, nil
		},
	})
	RegisterSelector(SelectorFactory{
		Name:       "rpow-d",
		Summary:    "those with the largest last reported losses among candidates, and first those that have not responded",
		Reference:  powerOfChoicePaper,
		Candidates: true,
		History:    true,
		Losses:     true,
		New: func(s SelectorSetup, _ config.Options) (Selector, error) {
			p := &powerOfChoice{candidates: s.Candidates}
			p.losses = p.lastReported
			return p, nil
		},
	})
}

// cpowOptions are the settings of cpow-d.
type cpowOptions struct {
	Batch int `toml:"batch" doc:"rows of the mini-batch on which a candidate estimates its loss"`
}

// Validate reports everything wrong with the options.
func (o *cpowOptions) Validate(c *config.Checker) {
	c.Require(o.Batch >= 1 && o.Batch <= 1e9, "batch", o.Batch, "must be in [1, 1e9]")
}

func (p *powerOfChoice) Select(s *Selection) []int32 {
	candidates := s.Weighted(p.candidates, s.Available(), func(t int32) float64 { return float64(s.Rows(t)) })
	losses := p.losses(s, candidates)
	return s.Lowest(s.Size, candidates, func(t int32) float64 {
		i, _ := slices.BinarySearch(candidates, t)
		return -losses[i]
	})
}

// lastReported returns the last reported losses, infinite for candidates that have
// reported none.
func (p *powerOfChoice) lastReported(s *Selection, candidates []int32) []float64 {
	p.reported = p.reported[:0]
	for _, t := range candidates {
		loss := math.Inf(1)
		if h := s.History(t); h.Responses > 0 {
			loss = h.Loss
		}
		p.reported = append(p.reported, loss)
	}
	return p.reported
}
