package federation

import (
	"slices"

	"fedsim/config"
)

// powerOfChoice draws candidates and selects those that the global model fits worst.
type powerOfChoice struct{ candidates int }

func init() {
	RegisterSelector(SelectorFactory{
		Name:       "power-of-choice",
		Summary:    "those that the model fits worst among candidates",
		Reference:  "Cho, Wang, Joshi: Client Selection in Federated Learning: Convergence Analysis and Power-of-Choice Selection Strategies, 2020",
		Candidates: true,
		Losses:     true,
		New: func(s SelectorSetup, _ config.Options) (Selector, error) {
			return &powerOfChoice{s.Candidates}, nil
		},
	})
}

func (p *powerOfChoice) Select(s *Selection) []int32 {
	candidates := s.Uniform(p.candidates, nil)
	losses := s.Losses(candidates)
	return s.Lowest(s.Size, candidates, func(t int32) float64 {
		i, _ := slices.BinarySearch(candidates, t)
		return -losses[i]
	})
}
