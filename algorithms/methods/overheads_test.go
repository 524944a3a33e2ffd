package methods

import (
	"reflect"
	"testing"

	"fedsim/algorithms"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// Mini-batches and memory traffic of each method by hand, for steps of a device with 12 rows, 6
// features, one output and mini-batches of 5 rows. A linear model has D = 6 values, T = 14 for a
// row, M = 12 for a mini-batch, and 32 for a step of SDCA. A network with 4 hidden units has D = 33,
// T = 2 (6 + 4) + 2 (4 + 1) + 4 = 34 and M = 66 + 4.
func TestOverheadsByHand(t *testing.T) {
	linear, network := mtl.Shape{Features: 6, Outputs: 1}, mtl.Shape{Features: 6, Outputs: 1, Hidden: mtl.Widths{4}}
	const (
		d, row, batch, sdca      = 6, 14, 12, 32
		wide, wideRow, wideBatch = 33, 34, 70
	)
	for _, c := range []struct {
		method  string
		options map[string]any
		shape   mtl.Shape
		steps   int
		batches int
		values  float64
	}{
		{"mocha", nil, linear, 30, 30, 30 * sdca},
		{"local", nil, linear, 30, 30, 30 * sdca},
		{"cocoa", nil, linear, 30, 30, 30 * sdca},
		{"async-mocha", nil, linear, 30, 30, 30 * sdca},
		{"mocha", nil, mtl.Shape{Features: 6, Outputs: 3}, 30, 30, 30 * 3 * sdca},
		{"mb-sdca", nil, linear, 7, 1, 7 * sdca},
		{"mb-sgd", nil, linear, 7, 1, 7*row + batch},
		{"mb-sgd", nil, network, 7, 1, 7*wideRow + wideBatch},
		{"mb-sgd", nil, linear, 0, 0, 0},
		{"fedavg", nil, linear, 12, 3, 12*row + 3*(batch+4*d)},
		{"fedavg", nil, linear, 29, 3 + 3 + 1, 29*row + 7*(batch+4*d)},
		{"fedavg", nil, network, 12, 3, 12*wideRow + 3*(wideBatch+4*wide)},
		{"fedavg", map[string]any{"Batch": 0}, linear, 24, 2, 24*row + 2*(batch+4*d)},
		{"fedavg", map[string]any{"Momentum": 0.5}, linear, 12, 3, 12*row + 3*(batch+6*d)},
		{"fedavg", map[string]any{"Clip": 1.}, linear, 12, 3, 12*row + 3*(batch+5*d)},
		{"fedprox", nil, linear, 12, 3, 12*row + 3*(batch+4*d)},
		{"fednova", nil, linear, 12, 3, 12*row + 3*(batch+4*d)},
		{"fedau", nil, linear, 12, 3, 12*row + 3*(batch+4*d)},
		{"mifa", nil, linear, 12, 3, 12*row + 3*(batch+4*d)},
		{"fedvarp", nil, linear, 12, 3, 12*row + 3*(batch+4*d)},
		{"feddyn", nil, linear, 12, 3, 12*row + 3*(batch+5*d)},
		{"scaffold", nil, linear, 12, 3, 12*row + 3*(batch+5*d)},
		{"scaffold", map[string]any{"Option": "gradient"}, linear, 24, 4, 24*row + 4*(batch+5*d)},
		{"ditto", nil, linear, 24, 6, 24*row + 6*(batch+4*d)},
		{"apfl", nil, linear, 12, 6, 24*row + 6*(batch+4*d)},
		{"per-fedavg", map[string]any{"Variant": "first-order"}, linear, 12, 6, 24*row + 6*(batch+4*d)},
		{"per-fedavg", map[string]any{"Variant": "hessian-free"}, linear, 12, 12, 48*row + 12*(batch+4*d)},
		{"gossip", nil, linear, 12, 3, 12*row + 3*(batch+4*d)},
		{"hierfavg", nil, linear, 12, 3, 12*row + 3*(batch+4*d)},
	} {
		f, ok := algorithms.Lookup(c.method)
		expect.Must(t, ok, "no method is named %q", c.method)
		o := f.Options()
		set := func(field string, value any) {
			if of := reflect.ValueOf(o).Elem().FieldByName(field); of.IsValid() {
				of.Set(reflect.ValueOf(value).Convert(of.Type()))
			} else if c.options[field] != nil {
				t.Fatalf("%s has no option %s", c.method, field)
			}
		}
		set("Batch", 5)
		for field, value := range c.options {
			set(field, value)
		}
		work := f.Describe(o, c.shape).Work
		if batches, traffic := work.Overheads(12, c.steps); batches != c.batches || traffic != 8*c.values {
			t.Errorf("%s %v, %d steps: %d mini-batches and %g values, want %d and %g", c.method, c.options, c.steps,
				batches, traffic/8, c.batches, c.values)
		}
	}
}
