package federation

import "fedsim/config"

// bySpeed selects clients in inverse proportion to their expected response times.
type bySpeed struct {
	weights []float64 // by client; made for the first round
}

func init() {
	RegisterSelector(SelectorFactory{
		Name:    "speed",
		Summary: "in inverse proportion to their expected response times",
		New:     func(SelectorSetup, config.Options) (Selector, error) { return &bySpeed{}, nil },
	})
}

func (b *bySpeed) Select(s *Selection) []int32 { return s.Weighted(s.Size, s.Available(), b.weight(s)) }

func (b *bySpeed) weight(s *Selection) func(client int32) float64 {
	if b.weights == nil {
		b.weights = make([]float64, s.Clients())
		for t := range b.weights {
			b.weights[t] = 1 / max(s.ExpectedResponse(int32(t)), 1).Seconds()
		}
	}
	return func(t int32) float64 { return b.weights[t] }
}
