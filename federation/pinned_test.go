package federation

import "testing"

// The bits of a run are part of what fedsim promises: the same on every machine,
// with the kernels in assembly and with those in Go (build tag purego). The
// problem is regularised without a coupling, so that no library takes part. A
// change of these figures is a change of every result: say so in CHANGELOG.md.
func TestBitsOfARunArePinned(t *testing.T) {
	for _, c := range []struct {
		method        string
		model, events uint64
	}{
		{"mocha", 0x9977de22467c19e5, 0x8db781298dae1c41},
		{"cocoa", 0xee3c230d1363b8e0, 0xdd90bd1bbefb1940},
		{"mb-sdca", 0x5a4b6f8a8fcea0c8, 0x16379de779f5855f},
		{"mb-sgd", 0x9cf9a003cbaf0d41, 0xf6d04c5d38872106},
	} {
		out := run(t, world(t, c.method, WaitForAll, func(s *Setup) {
			p := randomProblem(t, features, sizes...)
			cfg := p.Config
			cfg.Regularizer = "independent"
			s.Problem = withConfig(t, p, cfg)
			s.Plan.Rounds = 20
		}))
		if out.ModelHash != c.model || out.EventHash != c.events {
			t.Errorf("{%q, %#x, %#x},", c.method, out.ModelHash, out.EventHash)
		}
	}
}
