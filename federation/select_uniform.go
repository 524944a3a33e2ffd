package federation

import "fedsim/config"

// uniform selects all clients with the same probability.
type uniform struct{}

func init() {
	RegisterSelector(SelectorFactory{
		Name:    "uniform",
		Summary: "all with the same probability",
		New:     func(SelectorSetup, config.Options) (Selector, error) { return uniform{}, nil },
	})
}

func (uniform) Select(s *Selection) []int32 { return s.Uniform(s.Size, nil) }
