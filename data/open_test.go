package data

import (
	"sync"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// Rows that are generated again equal the resident ones, in any order and concurrently.
func TestRowsGeneratedAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawn(t)
		cfg.Target = rapid.SampledFrom([]string{TargetClass, TargetClasses, TargetReal}).Draw(t, "target")
		cfg.Precision = rapid.SampledFrom([]string{PrecisionDouble, PrecisionSingle}).Draw(t, "precision")
		cfg.Split = rapid.Uint64().Draw(t, "split")
		resident := prepared(t, cfg)
		cfg.Resident = false
		again := prepared(t, cfg)
		for _, half := range []struct {
			name            string
			resident, again *Set
		}{{"training", resident.Train, again.Train}, {"test", resident.Test, again.Test}} {
			expect.Must(t, !half.again.Resident() && half.resident.Resident(),
				"%s: resident %v and %v", half.name, half.resident.Resident(), half.again.Resident())
			expect.Must(t, half.again.Features == half.resident.Features,
				"%s: %d features, want %d", half.name, half.again.Features, half.resident.Features)
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					for k := len(half.resident.Clients) - 1; k >= 0; k-- {
						want, got := half.resident.Open(k), half.again.Open(k)
						compare(t, half.name, want.Client, got.Client)
						diff := cmp.Diff(want.Y, half.again.Clients[k].Y, cmpopts.EquateEmpty())
						expect.That(t, diff == "", "%s: resident targets:\n%s", half.name, diff)
						want.Close()
						got.Close()
					}
				})
			}
			both.Wait()
		}
	})
}

// compare compares rows and targets bit by bit.
func compare(t *rapid.T, name string, want, got *Client) {
	if got.Name != want.Name || got.X.Rows != want.X.Rows || got.X.Cols != want.X.Cols {
		t.Errorf("%s: task %s is %d x %d, want %s, %d x %d", name, got.Name, got.X.Rows, got.X.Cols, want.Name,
			want.X.Rows, want.X.Cols)
		return
	}
	expect.That(t, (want.X.Single == nil) == (got.X.Single == nil),
		"%s: task %s is held in another precision", name, want.Name)
	one, other := make([]float64, want.X.Cols), make([]float64, want.X.Cols)
	for i := range want.Y {
		diff := cmp.Diff(want.X.Values(i, one), got.X.Values(i, other))
		expect.That(t, diff == "" && want.Y[i] == got.Y[i], "%s: task %s, row %d:\n%s", name, want.Name, i, diff)
	}
}
