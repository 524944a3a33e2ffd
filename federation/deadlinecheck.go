package federation

import (
	"fmt"
	"slices"

	"fedsim/config"
	"fedsim/engine"
	"fedsim/results"
)

// checkDeadline reports a deadline that no device can ever meet: every round would end
// without a response. It uses lower bounds of response times, so it never refuses a
// deadline that a device can meet.
func (f *Federation) checkDeadline() error {
	cfg := &f.setup.Config
	if f.setup.anyDeadline || cfg.DeadlineS == 0 || cfg.Quantile > 0 || !cfg.uses("deadline_s") {
		return nil
	}
	if !f.traits.FitsWork && f.traits.Late { // a response counts in any round
		return nil
	}
	shortest := engine.Never
	for t := range f.devices {
		if slices.Contains(f.setup.Faults.Never, t) {
			continue
		}
		response := f.shortest(t)
		if response <= engine.FromSeconds(cfg.DeadlineS) {
			return nil
		}
		shortest = min(shortest, response)
	}
	if shortest == engine.Never {
		return nil // no device responds, for another reason
	}
	what := "download and upload"
	if f.traits.FitsWork {
		what = "download, one step and upload"
	}
	return config.Problem{Key: "federation.deadline_s", Value: cfg.DeadlineS, Want: fmt.Sprintf(
		"must be at least %.4g: the fastest response of any device takes %s for %s, so that no response would ever arrive", shortest.Seconds(), results.HumanTime(shortest.Seconds()), what)}
}

// shortest returns a lower bound of the response times of device t. With jitter or
// traces a transfer may be arbitrarily short, and a method may have no work. A device
// that fits its work into the clock cycle does at least one step, and leaves time for an
// uplink at its link's usual speed.
func (f *Federation) shortest(t int) engine.Time {
	bytes := f.clients.MessageBytes(0) // a method of a plugin may send as little as a header
	if m := &f.method.About.Messages; f.workload.Steps != nil && !m.Differ && !m.Bytes && !f.private.secure() {
		bytes = f.clients.MessageBytes(f.usual)
	}
	steady := f.setup.Network.Jitter == 0 && f.setup.Bandwidth == nil && f.setup.Network.HubSize == 0
	var least engine.Time
	if steady {
		least = f.clients.ExpectedDownlink(t, bytes)
	}
	switch {
	case f.traits.FitsWork:
		_, bytesUp := f.usualBytes(t)
		up := f.clients.ExpectedUplink(t, bytesUp).Seconds() * (1 + f.setup.Config.Margin)
		least = least.Add(engine.FromSeconds(up))
		if f.setup.Speed == nil {
			least = least.Add(f.clients.Fleet().ComputeTime(t, f.flopsOf(t, 1)))
		}
		least -= rounding
	case steady:
		least = least.Add(f.clients.ExpectedUplink(t, bytes))
	}
	return least
}

// rounding bounds the error, in nanoseconds, of sums of a few rounded times.
const rounding = 10
