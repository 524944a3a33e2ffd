package selectors

import (
	"fedsim/config"
	"fedsim/federation"
)

// byData selects clients in proportion to their rows.
type byData struct{}

func init() {
	federation.RegisterSelector(federation.SelectorFactory{
		Name:    "data",
		Summary: "in proportion to their rows",
		New:     func(federation.SelectorSetup, config.Options) (federation.Selector, error) { return byData{}, nil },
	})
}

func (byData) Select(s *federation.Selection) []int32 {
	return s.Weighted(s.Size, s.Available(), func(client int32) float64 { return float64(s.Rows(client)) })
}
