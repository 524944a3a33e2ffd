package data

import (
	"testing"

	"fedsim/internal/tools/expect"

	"pgregory.net/rapid"
)

func TestSizesAreThoseOfThePreparedSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawn(t)
		cfg.ClientsPerTask = rapid.SampledFrom([]int{1, 1, 2}).Draw(t, "clients_per_task")
		split, err := Prepare(cfg)
		if err != nil {
			t.Skip(err) // tasks too small to be shared
		}
		rows, _, features, outputs, err := Sizes(cfg)
		expect.NoError(t, err)
		if outputs != split.Train.Outputs() || features != split.Train.Features ||
			len(rows) != len(split.Train.Clients) {
			t.Fatalf("%d devices with %d features, want %d with %d", len(rows), features, len(split.Train.Clients),
				split.Train.Features)
		}
		for k, n := range rows {
			want := split.Train.Clients[k].X.Rows
			expect.That(t, int(n) == want, "device %d has %d rows, want %d", k, n, want)
		}
	})
}
