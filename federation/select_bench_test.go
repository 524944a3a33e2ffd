package federation

import (
	"testing"

	"fedsim/devices"
	"fedsim/engine"
	"fedsim/internal/tools/rng"
)

// BenchmarkSelection measures a round of each selector alone: of 10^6 clients three in four
// are available, half have responded before, and a round asks 1000. Losses are reported, not
// computed: the candidates of power-of-choice and cpow-d evaluate a model, which is the
// learner's time.
func BenchmarkSelection(b *testing.B) {
	const n, asked = 1_000_000, 1000
	rows := make([]int32, n)
	for t := range rows {
		rows[t] = int32(10 + t%191)
	}
	for _, name := range []string{"uniform", "data", "speed", "rpow-d", "oort", paperOort, "tifl", "fedcs", "refl"} {
		b.Run(name, func(b *testing.B) {
			s := world(WaitForAll, nil)
			s.Devices.Spread, s.Devices.SpreadWidth = devices.LogNormal, 1
			s.Clients, s.Rows = n, rows
			f := start(b, s, 1)
			s.Config.Clients = asked
			selectBy(&s, name, asked, 3*asked)
			declared, options, _ := s.Config.selector()
			selector, err := declared.New(SelectorSetup{Clients: n, Size: asked, Candidates: s.Config.Candidates}, options)
			if err != nil {
				b.Fatal(err)
			}
			f.reports = newReports(n, declared)
			v := &f.selection
			v.declared, v.asked = declared, asked
			var available []int32
			draw := rng.New(1, rng.Sample, -1, 0)
			for t := range n {
				if draw.IntN(4) > 0 {
					available = append(available, int32(t))
				}
				if draw.IntN(2) == 0 {
					r := &f.reports.clients[t]
					r.loss, r.rms = draw.Float64(), 1+draw.Float64()
					f.reports.ask([]int32{int32(t)}, 0, 0)
					f.reports.respond(t, engine.Time(1e9*(1+draw.Float64())))
				}
			}
			round := 0
			pick := func() {
				round++
				v.open(round, true, available)
				if got := selector.Select(v); len(got) == 0 || len(got) > asked {
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
