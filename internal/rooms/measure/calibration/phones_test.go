package calibration

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedsim/internal/rooms/measure/attemptlog"
	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/filetest"
)

// layers are the kinds of layers of the measured phones, and the FLOPs of a batch of each as a share of those of the
// largest shape, from the shares of input width, layer width, rows and sequence length. Those of lstm are in the README
// of the data. At the full width, rows and length, output layers on the Nexus 6 take 3.14, 5.09, 7.26 and 9.64 ms for
// the input widths 1/4 to 1, and with a quarter of the layer width 0.80, 1.31, 1.81 and 2.42 ms: the product of all
// four, and a smaller part that does not depend on the input, as activations do.
var layers = []struct {
	name  string
	flops func(input, width, rows, length float64) float64
}{
	{"lstm", func(input, width, rows, length float64) float64 { return rows * length * width * (input + width) / 2 }},
	{"output", func(input, width, rows, length float64) float64 { return rows * length * width * input }},
}

var phones = []string{"nexus6", "redmi-note-8"}

// phoneLog returns the even or the odd rows of a file of measured batches as a log of computations, one after another.
// The largest shape has 10^9 FLOPs and 10^9 bytes of activations: the files have shares only. Steps are the length of
// the sequence, in units of the shortest. It skips the test if there is no file.
func phoneLog(t *testing.T, phone string, layer, odd int) *attemptlog.Log {
	t.Helper()
	path := filetest.Real(t, filepath.Join("flash", phone+"-"+layers[layer].name+".csv"))
	source := filetest.Read(t, path)
	var text strings.Builder
	text.WriteString("run,round,client,bytes_down,bytes_up,flops,traffic_bytes,steps,sent_s,seen_s,compute_s,gflops\n")
	now := 0.0
	for i, line := range strings.Split(strings.TrimSpace(string(source)), "\n")[1:] {
		var input, width, rows, length, ms float64
		_, err := fmt.Sscanf(line, "%g,%g,%g,%g,%g", &input, &width, &rows, &length, &ms)
		expect.Must(t, err == nil, "%s:%d: %v", path, i+2, err)
		if i%2 == odd {
			fmt.Fprintf(&text, "%s,%d,%s,0,0,%g,%g,%g,%.9f,%.9f,%.9f,1\n", phone, i, phone,
				1e9*layers[layer].flops(input, width, rows, length), 1e9*rows*length*width, 5*length, now, now+ms/1000,
				ms/1000)
			now += ms / 1000
		}
	}
	return parse(text.String())
}

// phoneModels are the models of a batch, by the columns that they do not use.
var phoneModels = []struct {
	name string
	drop func(*attemptlog.Attempt)
}{
	{"and a constant", func(a *attemptlog.Attempt) { a.TrafficBytes, a.Steps = math.NaN(), math.NaN() }},
	{"and activations", func(a *attemptlog.Attempt) { a.Steps = math.NaN() }},
	{"and steps", func(*attemptlog.Attempt) {}},
}

// factored returns the error of times that are known up to a factor on the odd rows, with the factor that has the least
// on the even ones: the median of measured over predicted, weighted by the reciprocal.
func factored(even, odd *attemptlog.Log, predicted func(*attemptlog.Attempt) float64) float64 {
	var ratios []float64
	for _, a := range even.Runs[0].Attempts {
		ratios = append(ratios, a.Compute/predicted(&a))
	}
	slices.Sort(ratios)
	total, passed, factor := 0.0, 0.0, 0.0
	for _, r := range ratios {
		total += 1 / r
	}
	for _, r := range ratios {
		if passed += 1 / r; passed >= total/2 {
			factor = r
			break
		}
	}
	sum := 0.0
	for _, a := range odd.Runs[0].Attempts {
		sum += math.Abs(factor*predicted(&a)/a.Compute - 1)
	}
	return sum / float64(len(odd.Runs[0].Attempts))
}

// Batches of layers on phones, measured (FLASH): half of the shapes predict the other half. The limits of lstm are 15 %
// and 18 %; ordinary least squares reach 13.5 % and 17 %, and single cells stand out by 30 %. Output layers have no
// limit. FLOPs alone, and the whole model on the other phone, have one factor, that of the least error on half of the
// shapes. With -v the test prints a table.
func TestPhones(t *testing.T) {
	if testing.Short() {
		t.Skip("fits 80,000 batches several times")
	}
	limit := map[string]float64{"nexus6-lstm": 0.15, "redmi-note-8-lstm": 0.18}
	var table strings.Builder
	for layer := range layers {
		for k, phone := range phones {
			even, odd := phoneLog(t, phone, layer, 0), phoneLog(t, phone, layer, 1)
			name, other := phone+"-"+layers[layer].name, phones[1-k]
			flops := func(a *attemptlog.Attempt) float64 { return a.FLOPs }
			alone := factored(even, odd, flops)
			fmt.Fprintf(&table, "| %s | %.1f", name, 100*alone)
			var c *Calibration
			last := alone
			for _, m := range phoneModels {
				var err error
				if c, err = Fit(changed(phoneLog(t, phone, layer, 0), m.drop), Options{Resamples: -1}); err != nil {
					t.Fatal(err)
				}
				got := c.InSample(odd)[0]
				fmt.Fprintf(&table, " | %.1f", 100*got.Mean)
				expect.That(t, got.Part == "compute" && got.Attempts == 10000, "%s: %+v", name, got)
				expect.That(t, got.Mean <= last+0.005,
					"%s: FLOPs %s: %.1f %%, with a term less %.1f %%", name, m.name, 100*got.Mean, 100*last)
				last = got.Mean
			}
			if most, ok := limit[name]; ok && !(last <= most) {
				t.Errorf("%s: %.1f %% error, at most %.0f %% is the goal", name, 100*last, 100*most)
			}
			half, rest := phoneLog(t, other, layer, 0), phoneLog(t, other, layer, 1)
			to := factored(half, rest, func(a *attemptlog.Attempt) float64 {
				b := *a
				b.Client = phone
				return c.index().predict(&b).Compute
			})
			if naive := factored(half, rest, flops); !(to < naive) {
				t.Errorf("%s predicts the other phone with an error of %.1f %%, FLOPs alone with %.1f %%", name, 100*to,
					100*naive)
			}
			fmt.Fprintf(&table, " | %.1f |\n", 100*to)
		}
	}
	t.Log("mean absolute errors of the other half of the shapes, in %\n" +
		"| phone and layer | FLOPs alone | and a constant | and activations | and steps | to the other phone |\n" +
		"|---|---|---|---|---|---|\n" + table.String())
}
