package federation

import "fedsim/config"

// byData selects clients in proportion to their rows.
type byData struct{}

func init() {
	RegisterSelector(SelectorFactory{
		Name:    "data",
		Summary: "in proportion to their rows",
		New:     func(SelectorSetup, config.Options) (Selector, error) { return byData{}, nil },
	})
}

func (byData) Select(s *Selection) []int32 {
	return s.Weighted(s.Size, s.Available(), func(t int32) float64 { return float64(s.Rows(t)) })
}
