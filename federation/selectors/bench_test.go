package selectors

import (
	"testing"

	"fedsim/config"
	"fedsim/devices"
	"fedsim/engine"
	"fedsim/federation"
	"fedsim/federation/servertest"
	"fedsim/internal/tools/rng"
)

// BenchmarkSelection measures a round of each selector alone: of 10^6 clients three in four
// are available, half have responded before, and a round asks 1000. Losses are reported, not
// computed: the candidates of power-of-choice and cpow-d evaluate a model, which is the
// learner's time.
func BenchmarkSelection(b *testing.B) {
	const n, asked = 1_000_000, 1000
	rows := make([]int32, n)
	for client := range rows {
		rows[client] = int32(10 + client%191)
	}
	for _, name := range []string{"uniform", "data", "speed", "rpow-d", "oort", servertest.PaperOort, "tifl", "fedcs",
		"refl"} {
		b.Run(name, func(b *testing.B) {
			s := servertest.World(federation.WaitForAll, func(s *federation.Setup) {
				s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 1
				s.Clients, s.Rows = n, rows
			})
			cfg := s.Config
			servertest.SelectBy(&cfg, name, asked, 3*asked)
			options, _ := cfg.SelectionOptions.(config.Options)
			r := rehearse(b, cfg.Selection, options, federation.SelectorSetup{Clients: n, Size: asked,
				Candidates: 3 * asked}, func(to *federation.Setup) { *to = s })
			var available []int32
			draw := rng.New(1, rng.Sample, -1, 0)
			for client := range int32(n) {
				if draw.IntN(4) > 0 {
					available = append(available, client)
				}
				if draw.IntN(2) == 0 {
					h := federation.History{Loss: draw.Float64(), RMS: 1 + draw.Float64()}
					h.Time = engine.Time(1e9 * (1 + draw.Float64()))
					r.respond(client, h)
				}
			}
			r.open(0, asked, available)
			r.past = nil // stays
			round := 0
			pick := func() {
				round++
				if got := r.pick(round, asked, available); len(got) == 0 || len(got) > asked {
					b.Fatalf("%d clients", len(got))
				}
			}
			pick() // allocations of the first call
			b.ReportAllocs()
			for b.Loop() {
				pick()
			}
		})
	}
}
