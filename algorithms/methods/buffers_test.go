package methods

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"fedsim/algorithms"
	"fedsim/algorithms/kit"
	"fedsim/data"
	"fedsim/internal/tools/expect"
	"fedsim/mtl"
)

// countingModel is an external model of two numbers with the loss 1/2 |w - (k, k)|^2 for the rows of
// client k, and of a third that counts mini-batches where buffers is 1.
type countingModel struct {
	buffers int
	single  bool
	asked   *atomic.Int32 // gradients; nil: they are not counted
}

func (m countingModel) Sizes() mtl.Sizes {
	return mtl.Sizes{Values: 2 + m.buffers, RowFLOPs: 1, Buffers: m.buffers, Single: m.single}
}

func (m countingModel) ValueName(int) string { return "" }

func (m countingModel) Metrics() []mtl.NamedMetric { return nil }

func (m countingModel) Initial(_ uint64, w []float64) error { w[0], w[1] = 3, -1; return nil }

func (m countingModel) Gradient(client int, _ []int32, _, w []float64, _ uint64, scale float64,
	into, buffers []float64) (float64, error) {
	if m.asked != nil {
		m.asked.Add(1)
	}
	for j := range into {
		into[j] = scale * (w[j] - float64(client))
	}
	for j := range buffers {
		buffers[j] = w[2+j] + 1
	}
	return 0, nil
}

func (countingModel) Losses(int, int, []float64) (data.Matrix, error) {
	return data.Matrix{}, errors.ErrUnsupported
}

func (m countingModel) Evaluate(int, []int32, []float64, []mtl.Measure) error { return nil }

// A value without a gradient is set by each mini-batch, whatever the step size, momentum, clipping,
// decay and proximal term, and averaged by the weights of clients. It changes nothing else.
func TestValuesWithoutAGradient(t *testing.T) {
	t.Parallel()
	shape := func(o algorithms.Options) {
		local := o.(kit.LocalOptions).Local()
		local.Batch, local.Step, local.Momentum, local.Clip, local.L2 = 2, 0.05, 0.5, 0.7, 0.01
	}
	for _, name := range []string{"fedavg", "fedprox", "scaffold", "ditto", "gossip", "hierfavg"} {
		var with []float64
		for _, buffers := range []int{1, 0} {
			cfg := mtl.Defaults()
			cfg.Model, cfg.Regularizer = mtl.ModelExternal, mtl.RegIndependent
			rows := []int32{2, 4, 6} // one, two and three mini-batches in a round
			p := expect.Value(mtl.NewExternalProblem(cfg, *data.RowsElsewhere(true, rows, rows, nil),
				countingModel{buffers: buffers}))(t)
			a := startWith(t, name, algorithms.Setup{Problem: p, HubSize: 3}, shape)
			expect.That(t, a.Describe().Means, "%s: does not average models", name)
			for h := range 2 {
				round(a, p, h, algorithms.NoLimit, nil)
			}
			w := a.Model().W.Row(0)
			if buffers == 0 {
				expect.That(t, slices.Equal(with[:2], w), "%s: %v with a third value, %v without", name, with[:2], w)
				continue
			}
			with = slices.Clone(w)
			want := 2 * (2*1 + 4*2 + 6*3) / 12.0 // weights by rows
			if name == "scaffold" || name == "gossip" {
				want = 2 * (1 + 2 + 3) / 3.0
			}
			diff := w[2] - want
			expect.That(t, diff <= 1e-12 && diff >= -1e-12, "%s: counted %g mini-batches, want %g", name, w[2], want)
		}
	}
	m, _ := algorithms.Lookup("fedadam")
	expect.That(t, !m.Describe(m.Options(), mtl.Shape{}).Means, "fedadam moves values without a gradient by its step")
}

// An interrupted run asks an external model for no further gradient once its overtime is over, which
// counts the FLOPs of the model.
func TestAHaltEndsTheRequestsToAnExternalModel(t *testing.T) {
	t.Parallel()
	for most, want := range map[int64]int32{0: 0, 200: 3, 1e9: 10} {
		cfg := mtl.Defaults()
		cfg.Model, cfg.Regularizer = mtl.ModelExternal, mtl.RegIndependent
		rows, asked := []int32{10}, new(atomic.Int32)
		p := expect.Value(mtl.NewExternalProblem(cfg, *data.RowsElsewhere(true, rows, rows, nil),
			countingModel{asked: asked}))(t)
		a := startWith(t, "fedavg", algorithms.Setup{Problem: p},
			func(o algorithms.Options) { o.(kit.LocalOptions).Local().Batch = 1 })
		expect.Value(a.Begin())(t)
		a.Solve(
			algorithms.Request{Steps: algorithms.NoLimit, Halt: algorithms.NewHalt(most, func() bool { return true })})
		n := asked.Load()
		expect.That(t, n == want, "%d gradients in an overtime of %d, want %d", n, most, want)
	}
}
