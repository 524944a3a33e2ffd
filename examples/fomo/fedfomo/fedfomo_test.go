package fedfomo

import (
	"math"
	"testing"

	"fedsim/algorithms"
	"fedsim/data"
	"fedsim/mtl"
)

// Three clients with rows along one axis each: from models with known losses the local steps start at the mean that is
// computed here; with the least loss a client stays where it is. A discarded step leaves the model.
func TestClientsBeginAtTheMeanOfBetterModels(t *testing.T) {
	set := &data.Set{Features: 2}
	for _, row := range [][]float64{{1, 0}, {1, 0}, {0, 1}} {
		x := data.NewMatrix(2, 2)
		copy(x.Row(0), row)
		x.Row(1)[0], x.Row(1)[1] = -row[0], -row[1]
		set.Clients = append(set.Clients, data.Client{X: x, Y: []float64{1, -1}})
	}
	cfg := mtl.Defaults()
	cfg.Loss = mtl.LossLogistic
	p, err := mtl.NewProblem(cfg, data.Split{Train: set, Test: set})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := algorithms.Lookup("fedfomo")
	o := f.Options().(*options)
	o.Step, o.Epochs = 1e-300, 1 // the start is all
	m, err := f.Start(algorithms.Setup{Problem: p, Shape: p.Shape, Rows: p.RowCounts(), Workers: 1}, o)
	if err != nil {
		t.Fatal(err)
	}
	models := [][]float64{{0, 3}, {2, 3}, {1, 3.5}}
	w := m.Model().W
	for k := range models {
		copy(w.Row(k), models[k])
	}
	loss := func(z float64) float64 { return math.Log1p(math.Exp(-z)) } // both rows of a client have it
	a1, a2 := (loss(0)-loss(2))/2, (loss(0)-loss(1))/math.Hypot(1, 0.5)
	want := [][]float64{{(2*a1 + a2) / (a1 + a2), (3*a1 + 3.5*a2) / (a1 + a2)}, {2, 3}, {1, 3.5}}
	if _, err := m.Begin(); err != nil {
		t.Fatal(err)
	}
	for k := range models {
		m.Solve(algorithms.Request{Device: k, Steps: algorithms.NoLimit})
	}
	m.Discard(2)
	for k := range want {
		if k < 2 {
			m.Commit(k, 1)
		}
		for j, x := range want[k] {
			if got := w.Row(k)[j]; math.Abs(got-x) > 1e-14 {
				t.Errorf("value %d of client %d is %g, want %g", j, k, got, x)
			}
		}
	}
}
