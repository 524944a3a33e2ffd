package algorithms

import (
	"fmt"
	"strings"

	"fedsim/algorithms/privacy"
	"fedsim/config"
)

// equalOptions are options that may weigh devices the same.
type equalOptions interface{ weighsEqually() bool }

func (o *AverageOptions) weighsEqually() bool { return o.Weights == equally }

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
	equal, ok := o.(equalOptions)
	c.Require(!ok || equal.weighsEqually(), key, value, fmt.Sprintf("must be \"none\", or the option weights of %s \"equal\": every update counts the same", f.Name))
}
