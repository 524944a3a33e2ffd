package algorithms

import (
	"fmt"
	"strings"

	"fedsim/algorithms/privacy"
	"fedsim/config"
)

// averageOptions are the options of a method that embed AverageOptions.
type averageOptions interface{ averaged() *AverageOptions }

func (o *AverageOptions) averaged() *AverageOptions { return o }

// CheckPrivacy reports what of the table [privacy] a method with the given options cannot do.
func (f *Factory) CheckPrivacy(c *config.Checker, p *privacy.Config, o Options) {
	if !p.On() {
		return
	}
	key, value := "privacy.mechanism", p.Mechanism
	if !p.Differential() {
		key, value = "privacy.secure_aggregation", p.SecureAggregation
	}
	if !f.Private {
		var able []string
		for _, name := range Names() {
			if other, _ := Lookup(name); other.Private {
				able = append(able, name)
			}
		}
		c.Require(false, key, value, fmt.Sprintf("must be \"none\", or the method one of %s: the server of %s needs more than the sum of updates", strings.Join(able, ", "), f.Name))
		return
	}
	equal, ok := o.(averageOptions)
	c.Require(!ok || equal.averaged().Weights == equally, key, value, fmt.Sprintf("must be \"none\" unless %s has options.weights = \"equal\": every update counts the same", f.Name))
}
