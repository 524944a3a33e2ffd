package selectors

import (
	"fedsim/config"
	"fedsim/federation"
)

// bySpeed selects clients in inverse proportion to their expected response times.
type bySpeed struct {
	weights []float64 // by client; made for the first round
}

func init() {
	federation.RegisterSelector(federation.SelectorFactory{
		Name:    "speed",
		Summary: "in inverse proportion to expected response times",
		New:     func(federation.SelectorSetup, config.Options) (federation.Selector, error) { return &bySpeed{}, nil },
	})
}

func (b *bySpeed) Select(s *federation.Selection) []int32 {
	return s.Weighted(s.Size, s.Available(), b.weight(s))
}

func (b *bySpeed) weight(s *federation.Selection) func(client int32) float64 {
	if b.weights == nil {
		b.weights = make([]float64, s.Clients())
		for client := range b.weights {
			b.weights[client] = 1 / max(s.ExpectedResponse(int32(client)), 1).Seconds()
		}
	}
	return func(client int32) float64 { return b.weights[client] }
}
