package fleets

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"

	"fedsim/internal/tools/filetest"
)

// Every number lies in its bin, and bins have round edges.
func TestBins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Exp(rapid.Float64Range(-60, 60).Draw(t, "log"))
		i := bin(x)
		expect.Must(t, edge(i) <= x && x < edge(i+1), "%v lies in [%v, %v)", x, edge(i), edge(i+1))
	})
	for _, c := range []struct{ x, low, high float64 }{{1, 1, 1.5}, {0.07, 0.07, 0.1}, {0.0999, 0.07, 0.1},
		{12.7, 10, 15}, {50, 50, 70}, {1000, 1000, 1500}, {0.3, 0.3, 0.5}} {
		if i := bin(c.x); edge(i) != c.low || edge(i+1) != c.high {
			t.Errorf("%v lies in [%v, %v), must be [%v, %v)", c.x, edge(i), edge(i+1), c.low, c.high)
		}
	}
}

// All devices are counted once, in the bins of their classes.
func TestHistograms(t *testing.T) {
	f, _ := BuiltIn("sensors")
	all := f.Histograms(1000, 3)
	expect.Must(t, len(all) == 3, "%d histograms", len(all))
	for _, h := range all {
		sum := 0.0
		for _, share := range h.Shares {
			sum += share
		}
		expect.That(t, math.Abs(sum-1) <= 1e-9 && len(h.Shares) == len(h.Edges)-1,
			"%s: the shares add up to %g in %d bins of %d edges", h.Quantity, sum, len(h.Shares), len(h.Edges))
	}
	// Gateways, a tenth of the devices, are equal, and no other class has links of 1000 Mbit/s.
	for i, low := range map[int]float64{1: 1000, 2: 1000} {
		if b := slices.Index(all[i].Edges, low); b < 0 || all[i].Shares[b] != 0.1 {
			t.Errorf("%s: bins from %v have %v of the devices, must have a tenth from %g on", all[i].Quantity,
				all[i].Edges, all[i].Shares, low)
		}
	}
	one := shared(1)
	if h := one.Histograms(1, 1)[0]; len(h.Edges) != 2 || h.Shares[0] != 1 {
		t.Errorf("one device has %+v", h)
	}
}

// A distribution function gives the share of a class's devices that have at most a
// value. It has one step for a class without spread.
func TestDistributions(t *testing.T) {
	f, _ := BuiltIn("sensors")
	const n, seed = 1000, 3
	quantities, class := f.measure(n, seed)
	for i, d := range f.Distributions(n, seed) {
		for k, e := range d.Classes {
			last := len(e.X) - 1
			expect.Must(t, e.Up[0] == 0 && e.Up[last] == 1 && e.X[0] == d.Classes[0].X[0],
				"%s, class %d: from %v at %v to %v", d.Quantity, k, e.Up[0], e.X[0], e.Up[last])
			for j := 1; j <= last; j++ {
				expect.Must(t, e.X[j] > e.X[j-1] && e.Up[j] >= e.Up[j-1],
					"%s, class %d: step %d goes back", d.Quantity, k, j)
				below, all := 0, 0
				for device := range n {
					if int(class[device]) == k {
						all++
						if quantities[i].of(device) <= e.X[j] {
							below++
						}
					}
				}
				if want := float64(below) / float64(all); e.Up[j] != want {
					t.Fatalf("%s, class %d: %v of the devices are at most at %v, must be %v", d.Quantity, k, e.Up[j],
						e.X[j], want)
				}
			}
		}
		// Gateways are equal: a single step.
		if gateways := d.Classes[0]; len(gateways.X) != 3 || gateways.X[1] != []float64{6, 1000, 1000}[i] ||
			gateways.Up[1] != 1 {
			t.Errorf("%s: gateways are %+v", d.Quantity, gateways)
		}
	}
	if e := newECDF(nil, 1, 2); len(e.X) != 0 {
		t.Errorf("no device: %+v", e)
	}
}

func TestText(t *testing.T) {
	f := expect.Value(Read(filetest.New(t, "x.toml", inTOML)))(t)
	f.Classes[0].SpeedSpread = 0
	// P90/P10 by hand: 7 over 0.5 GFLOP/s, and (1/1 + 1/0.4) over (1/50 + 1/20) s/Mbit.
	b := f.Text(8, 1)
	const want = `                             device
  class    share  devices    GFLOP/s  spread  idle W  compute W  battery
  ----------------------------------------------------------------------
  old       25 %        2        0.5       0    0.27          1     5 Wh
  7         75 %        6          7       0     0.1          2    mains

           link
  class    down Mbit/s  up Mbit/s  spread  RTT ms
  -----------------------------------------------
  old                1        0.4       0     200
  7                 50         20       0      12

rank correlation in a class: 0 of rate and speed, 0 of rows and speed

heterogeneity of 8 devices (docs/time.md#levels)
DevMC-R  0.000; 1: every trip of FLHetBench's model within its deadline
DevMC-T  293.1; 1: trips take no time
P90/P10  14 of times to compute, 50 of trips, 34.7 of both (1 TFLOP, the model)

speed, GFLOP/s
       0.5 to 0.7       25.0 %  ################
       0.7 to 1          0.0 %
         1 to 1.5        0.0 %
       1.5 to 2          0.0 %
         2 to 3          0.0 %
         3 to 5          0.0 %
         5 to 7          0.0 %
         7 to 10        75.0 %  ################################################

downlink, Mbit/s
`
	expect.That(t, strings.HasPrefix(b, want), "%s\nmust begin with\n%s", b, want)
}
