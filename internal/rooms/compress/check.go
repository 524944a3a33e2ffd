package compress

import (
	"fmt"

	"fedsim/algorithms"
	"fedsim/config"
)

// Codes returns the codes of messages; nil: they have none.
func (c *Config) Codes() *algorithms.Coding {
	if !c.On() {
		return nil
	}
	code := func(codec string, o *Options) algorithms.Code {
		return algorithms.Code{
			New:  func(valueBytes int, unbiased bool) algorithms.Codec { return New(o, codec, valueBytes, unbiased) },
			None: codec == None, Lossless: lossless(codec), Biased: Biased(codec),
		}
	}
	return &algorithms.Coding{Up: code(c.Up, &c.UpOptions.Options), Down: code(c.Down, &c.DownOptions),
		FeedsBack: c.FeedsBack(), Check: c.check}
}

func lossless(codec string) bool { return codec == None || codec == Sparse }

// check is Coding.Check.
func (c *Config) check(check *config.Checker, method *algorithms.Description, learns, noisy bool) {
	check.Require(lossless(c.Up) || !noisy, "compression.up", c.Up,
		"must be \"none\" or \"sparse\" with privacy.mechanism: other codecs make clipped updates longer, "+
			"and epsilon would be wrong")
	for _, side := range []struct {
		key, codec string
		options    *Options
	}{{"compression.up", c.Up, &c.UpOptions.Options}, {"compression.down", c.Down, &c.DownOptions}} {
		if side.codec == None {
			continue
		}
		check.Require(method.Messages.Coded, side.key, side.codec,
			fmt.Sprintf("must be \"none\": %s does not compress messages", method.Name))
		check.Require(learns || !side.options.Varies(side.codec), side.key, side.codec,
			"must be a codec with messages of one size in run.mode \"timing\", where there are no values")
	}
	check.Require(learns || method.Asynchronous != algorithms.Yes || !Biased(c.Down), "compression.down", c.Down,
		fmt.Sprintf("must be \"none\", \"float16\" or \"qsgd\" in run.mode \"timing\", where the steps of %s are not "+
			"known: a device gets the changes of all that it has missed", method.Name))
	if !method.Messages.Coded {
		return
	}
	if method.Needs.Dual {
		c.checkDual(check, method)
	}
	if method.Model == algorithms.TaskModels || method.Model == algorithms.DeviceModels {
		down := c.Down
		check.Require(down == None || down == Float16, "compression.down", down,
			fmt.Sprintf("must be \"none\" or \"float16\": %s sends each task its own model, "+
				"and others need what a device holds, or add noise to it", method.Name))
	}
}

// checkDual reports codes that break the certificate or the convergence of a dual method.
func (c *Config) checkDual(check *config.Checker, method *algorithms.Description) {
	up := c.Up
	lossless := lossless(up)
	fed := c.FeedsBack() || up == Float16
	switch {
	case method.Asynchronous == algorithms.Yes:
		check.Require(lossless, "compression.up", up,
			fmt.Sprintf("must be \"none\" or \"sparse\": the line search of %s needs the device's change without loss",
				method.Name))
	case up == QSGD:
		check.Require(false, "compression.up", up,
			fmt.Sprintf("must be another: %s needs V = X a on the server up to what devices still send, "+
				"and the errors of qsgd are never sent", method.Name))
	default:
		check.Require(lossless || fed, "compression.up_options.feedback", c.UpOptions.Feedback,
			fmt.Sprintf("must be true: %s needs V = X a on the server up to what devices still send", method.Name))
	}
}
