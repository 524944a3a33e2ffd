package carbon

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fedsim/clients"
	"fedsim/config"
	"fedsim/federation"
	"fedsim/federation/protocols"
	"fedsim/internal/tools/expect"
)

// server returns a server on which "clean" chooses one of so many clients.
func server(n int, features []clients.Feature, o *CleanOptions) (*federation.Server, error) {
	s := federation.Setup{System: setup(n, nil).System, Config: federation.Defaults()}
	s.Features = features
	s.Config.Protocol, s.Config.Clients.Count = protocols.Charged, 1
	s.Config.Selection, s.Config.SelectionOptions = Clean, o
	message := func(int) (down, up float64) { return 1, 1 }
	return federation.New(s, federation.Workload{Name: "none", Bytes: message}, idle{})
}

// idle is a driver without work.
type idle struct{ federation.Driver }

// "clean" draws a client in proportion to the intensity of its grid to the power -p. Intensities of 1e9 g/kWh at a
// power of 20 make weights whose ratio to 1 g/kWh is no number, and one of 0 counts as 1e-3. Over 20,000 rounds a
// share has a standard deviation of at most 0.0036, five of which are allowed.
func TestCleanDrawsByTheRatioOfIntensities(t *testing.T) {
	for _, c := range []struct {
		grams []float64
		power float64
	}{
		{[]float64{1e9, 1.01e9, 1.05e9, 1.1e9, 1.1e9, 1.2e9, 2e9}, 20},
		{[]float64{100, 200, 400, 100, 800, 50, 300}, 1},
		{[]float64{0, 1e-3, 2e-3, 4e-3, 1e-3, 8e-3, 1e-2}, 2},
	} {
		var rows strings.Builder
		for k, g := range c.grams {
			fmt.Fprintf(&rows, "%d,0,grid_g_per_kwh,%g\n%d,3600,end,\n", k, g, k)
		}
		f := expect.Value(server(7, []clients.Feature{Feature{Grid: gridOf(t, rows.String(), nil)}},
			&CleanOptions{Power: c.power}))(t)
		total, weights := 0.0, [7]float64{}
		for k, g := range c.grams {
			weights[k] = math.Pow(max(g, 1e-3)/max(slices.Min(c.grams), 1e-3), -c.power)
			total += weights[k]
		}
		var drawn [7]int
		const rounds = 20_000
		f.Begin()
		for range rounds {
			drawn[f.Select()[0]]++
			f.Start().Unplayed().Account()
		}
		for k, times := range drawn {
			if share, want := float64(times)/rounds, weights[k]/total; math.Abs(share-want) > 5*0.0036 {
				t.Errorf("%v: device %d is drawn in a share of %.4f of the rounds, want %.4f", c.grams, k, share, want)
			}
		}
	}
}

// Without grids there is nothing to choose by.
func TestCleanNeedsGrids(t *testing.T) {
	_, err := server(7, nil, &CleanOptions{Power: 1})
	want := (config.Problem{Key: "federation.selection", Value: Clean, Want: wantGrid}).Error()
	expect.That(t, err != nil && strings.Contains(err.Error(), want), "the error is %v, want %q", err, want)
}
