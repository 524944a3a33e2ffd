package methods

import (
	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/config"
	"fedsim/internal/tools/rng"
)

// componentOptions are the settings of methods whose server has several models; their options embed them.
type componentOptions struct {
	kit.AverageOptions
	// standard deviation of the normal numbers that are added to the values of each model at the
	// start, from the seed of the run and the number of the model; models that start equal stay
	// equal; one model has none
	Spread float64 `toml:"spread"`
}

// check reports everything wrong with the options under a number of models, which is that of an option.
func (o *componentOptions) check(c *config.Checker, key string, models int) {
	o.AverageOptions.Check(c, 0)
	c.Require(models >= 1 && models <= 1000, key, models, "must be in [1, 1000]")
	c.Require(o.Spread >= 0 && o.Spread <= 1e6, "spread", o.Spread, "must be in [0, 1e6]")
}

// start returns the first values of so many models. The error is a config.Problem where there are more than clients.
func (o *componentOptions) start(s algorithms.Setup, models int) ([]float64, error) {
	p := s.Problem
	if problem := s.Description.Learns.Fewer(p.Clients()); problem != nil {
		return nil, problem
	}
	d := p.Values()
	w := make([]float64, models*d)
	for m := range models {
		p.Initial(s.Seed, w[m*d:(m+1)*d])
		if models == 1 {
			continue
		}
		draw := rng.New(s.Seed, rng.Initial, -2, m)
		for j := range len(p.Trained(w[m*d : (m+1)*d])) {
			w[m*d+j] += float64(o.Spread * draw.Normal())
		}
	}
	return w, nil
}
