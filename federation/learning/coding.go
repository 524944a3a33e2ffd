package learning

import (
	"fmt"

	"fedsim/algorithms"
	"fedsim/config"
	"fedsim/federation"
)

// ValidateCoding reports what the codes of messages do not go with: the method with the given options,
// and costs and links that do not know sizes of messages. Noisy is true when noise is
// added to clipped updates. The places are those of a scenario's tables.
func ValidateCoding(c *config.Checker, f *federation.Config, codes *algorithms.Coding, noisy bool,
	hubSize int, learns bool, method *algorithms.Description) {
	if codes == nil {
		return
	}
	c.Require(f.Cost == "" || f.Cost == federation.Physical, "federation.cost", f.Cost,
		fmt.Sprintf("must be %q with compression: other costs do not depend on the size of a message",
			federation.Physical))
	c.Require(hubSize == 0, "network.hubs.size", hubSize,
		"must be 0 with compression: hubs add up responses, and the sum of compressed ones is not compressed")
	codes.Check(c, method, learns, noisy)
}
