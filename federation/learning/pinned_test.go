package learning

import (
	"testing"

	"fedsim/federation"
	"fedsim/mtl"
)

// The bits of a run are part of what fedsim promises: the same on every machine,
// with the kernels in assembly and with those in Go (build tag purego). The
// problem is regularized without a coupling, so that no library takes part. A
// change of these figures is a change of every result: say so in CHANGELOG.md.
func TestBitsOfARunArePinned(t *testing.T) {
	for _, c := range []struct {
		method        string
		model, events uint64
	}{
		{"mocha", 0x9977de22467c19e5, 0x8db781298dae1c41},
		{"cocoa", 0xc7a3181421de26f, 0xc8ef6561a44c84c5},
		{"mb-sdca", 0x5a4b6f8a8fcea0c8, 0x16379de779f5855f},
		{"mb-sgd", 0x9cf9a003cbaf0d41, 0xf6d04c5d38872106},
	} {
		out := run(t, world(t, c.method, federation.WaitForAll, func(s *Setup) {
			p := randomProblem(t, features, sizes...)
			cfg := p.Config
			cfg.Regularizer = "independent"
			s.Problem = withConfig(t, p, cfg)
			s.Schedule.Rounds = 20
		}))
		if out.ModelHash != c.model || out.EventHash != c.events {
			t.Errorf("{%q, %#x, %#x},", c.method, out.ModelHash, out.EventHash)
		}
	}
}

// Likewise rows of a length that takes a kernel's blocks, its vectors and its
// rest, under losses whose steps need no logarithm.
func TestBitsOfLongRowsArePinned(t *testing.T) {
	for _, c := range []struct {
		method, loss string
		model        uint64
	}{
		{"mocha", mtl.LossHinge, 0x7964500e256e2585},
		{"mocha", mtl.LossSmoothedHinge, 0xdbef056d14db3162},
		{"cocoa", mtl.LossSquaredHinge, 0x2ad57a5b423d71c0},
		{"mb-sdca", mtl.LossAbsolute, 0x34d7ac892f4958fe},
		{"mb-sgd", mtl.LossSquared, 0x2089fc4f3fe1bb08},
	} {
		out := run(t, world(t, c.method, federation.WaitForAll, func(s *Setup) {
			p := randomProblem(t, 37, sizes...)
			cfg := p.Config
			cfg.Regularizer, cfg.Loss = "independent", c.loss
			s.Problem = withConfig(t, p, cfg)
			s.Schedule.Rounds = 20
		}))
		if out.ModelHash != c.model {
			t.Errorf("{%q, %q, %#x},", c.method, c.loss, out.ModelHash)
		}
	}
}
