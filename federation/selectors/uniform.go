package selectors

import (
	"fedsim/config"
	"fedsim/federation"
)

// uniform selects all clients with the same probability.
type uniform struct{}

func init() {
	federation.RegisterSelector(federation.SelectorFactory{
		Name:    "uniform",
		Summary: "all with the same probability",
		New:     func(federation.SelectorSetup, config.Options) (federation.Selector, error) { return uniform{}, nil },
	})
}

func (uniform) Select(s *federation.Selection) []int32 { return s.Uniform(s.Size, nil) }
