package learning

import (
	"fmt"

	"fedsim/algorithms"
	"fedsim/algorithms/compress"
	"fedsim/algorithms/privacy"
	"fedsim/config"
	"fedsim/federation"
)

// ValidateCompression reports what in the table [compression] a method with the given options
// cannot live with, and the costs and links that do not know sizes of messages. Without
// learning, sizes must not depend on values. The places are those of a scenario's tables.
func ValidateCompression(c *config.Checker, f *federation.Config, codes *compress.Config, protects *privacy.Config, hubSize int, learns bool, method *algorithms.Description) {
	if !codes.On() {
		return
	}
	c.Require(f.Cost == "" || f.Cost == federation.Physical, "federation.cost", f.Cost, fmt.Sprintf("must be %q with compression: other costs do not depend on the size of a message", federation.Physical))
	c.Require(hubSize == 0, "network.hub_size", hubSize, "must be 0 with compression: hubs add up responses, and the sum of compressed ones is not compressed")
	if protects.Secure() {
		c.Require(false, "privacy.secure_aggregation", protects.SecureAggregation, "must be \"none\" with compression: masked values add up only when all have one code")
	}
	lossless := codes.Up == compress.None || codes.Up == compress.Sparse
	c.Require(lossless || !protects.Differential() || protects.Noise == 0, "compression.up", codes.Up, "must be \"none\" or \"sparse\" with privacy.mechanism: other codecs make clipped updates longer, and epsilon would be wrong")
	for _, side := range []struct{ key, codec string }{{"compression.up", codes.Up}, {"compression.down", codes.Down}} {
		if side.codec == compress.None {
			continue
		}
		c.Require(method.Messages.Coded, side.key, side.codec, fmt.Sprintf("must be \"none\": %s does not compress messages", method.Name))
		c.Require(learns || !codes.Varies(side.codec), side.key, side.codec, "must be a codec with messages of one size in run.mode \"timing\", where there are no values")
	}
	c.Require(learns || method.Asynchronous != algorithms.Yes || !compress.Biased(codes.Down), "compression.down", codes.Down,
		fmt.Sprintf("must be \"none\", \"float16\" or \"qsgd\" in run.mode \"timing\", where the steps of %s are not known: a device gets the changes of all that it has missed", method.Name))
	if !method.Messages.Coded {
		return
	}
	if method.Needs.Dual {
		validateDual(c, codes, method)
	}
	if method.Model == algorithms.TaskModels || method.Model == algorithms.DeviceModels {
		down := codes.Down
		c.Require(down == compress.None || down == compress.Float16, "compression.down", down, fmt.Sprintf("must be \"none\" or \"float16\": %s sends each task its own model, and others need what a device holds, or add noise to it", method.Name))
	}
}

// validateDual reports codes that break the certificate or the convergence of a dual method.
func validateDual(c *config.Checker, codes *compress.Config, method *algorithms.Description) {
	up := codes.Up
	lossless := up == compress.None || up == compress.Sparse
	fed := codes.FeedsBack() || up == compress.Float16
	switch {
	case method.Asynchronous == algorithms.Yes:
		c.Require(lossless, "compression.up", up, fmt.Sprintf("must be \"none\" or \"sparse\": the line search of %s needs the device's change without loss", method.Name))
	case up == compress.QSGD:
		c.Require(false, "compression.up", up, fmt.Sprintf("must be another: %s needs V = X a on the server up to what devices still send, and the errors of qsgd are never sent", method.Name))
	default:
		c.Require(lossless || fed, "compression.feedback", codes.Feedback, fmt.Sprintf("must be true: %s needs V = X a on the server up to what devices still send", method.Name))
	}
}
