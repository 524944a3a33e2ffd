package traces

import (
	"fedsim/engine"
	"fedsim/internal/tools/rng"
)

// speeds draws the rates of a device.
func (f *flashReader) speeds(name string, rates map[string]float64) error {
	// With a positive mean, at least half of the draws are positive.
	const most = 1e9
	for i := 0; i < len(rateFields); i += 2 {
		mean, sigma := rates[rateFields[i]], rates[rateFields[i+1]]
		if !(mean > 0 && mean < most) {
			return f.fail(name, "%s = %v: must be in (0, %g), kB/s", rateFields[i], mean, most)
		}
		if !(sigma >= 0 && sigma < most) {
			return f.fail(name, "%s = %v: must be in [0, %g), kB/s", rateFields[i+1], sigma, most)
		}
	}
	const kB = 1024 * 8 / 1e6 // in Mbit
	r := &f.trace
	r.reset(name, engine.FromSeconds(f.options.Days*86400))
	hold := engine.FromSeconds(f.options.HoldS)
	for i, kind := range [2]Kind{DownMbps, UpMbps} {
		mean, sigma := rates[rateFields[2*i]], rates[rateFields[2*i+1]]
		stream := rng.New(f.options.Seed, rng.Recorded, f.devices-1, int(kind))
		for at := engine.Time(0); at < r.Span; at = at.Add(hold) {
			rate := 0.0
			for rate <= 0 {
				rate = mean + float64(sigma*stream.Normal())
			}
			r.add(kind, at, rate*kB)
		}
	}
	return nil
}
