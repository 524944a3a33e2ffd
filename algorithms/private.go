package algorithms

import (
	"fmt"
	"strings"

	"fedsim/algorithms/privacy"
	"fedsim/config"
	"fedsim/mtl"
)

// CheckPrivacy reports what of the table [privacy] a method cannot do.
func (d *Description) CheckPrivacy(c *config.Checker, p *privacy.Config) {
	if !p.On() {
		return
	}
	key, value := "privacy.mechanism", p.Mechanism
	if !p.Differential() {
		key, value = "privacy.secure_aggregation", p.SecureAggregation
	}
	if !d.Messages.Private {
		var able []string
		for _, name := range Names() {
			if other, _ := Lookup(name); other.Describe(other.Options(), mtl.Shape{}).Messages.Private {
				able = append(able, name)
			}
		}
		c.Require(false, key, value, fmt.Sprintf("must be \"none\", or the method one of %s: the server of %s needs more than the sum of updates", strings.Join(able, ", "), d.Name))
		return
	}
	c.Require(!d.Messages.Unequal, key, value, fmt.Sprintf("must be \"none\" unless %s has options.weights = \"equal\": every update counts the same", d.Name))
}
