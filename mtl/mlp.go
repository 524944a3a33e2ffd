package mtl

import (
	"math"

	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/rng"
)

// Names of models.
const (
	ModelLinear = "linear" // x . w_c for each output c
	ModelMLP    = "mlp"    // a network with hidden layers
)

// layer is a layer of a network: a = W x + b. Its weights start at offset at of the model's
// values, row by row, and its biases follow them.
type layer struct{ in, out, at int }

// weights and bias return the parts of a model's values.
func (l layer) weights(w []float64) []float64 { return w[l.at:][: l.in*l.out : l.in*l.out] }

func (l layer) bias(w []float64) []float64 { return w[l.at+l.in*l.out:][:l.out:l.out] }

// Initial sets w to the values that a model starts with: zeros, or those of a network or of an
// external model.
func (l *RowLoss) Initial(seed uint64, w []float64) {
	clear(w)
	if l.program != nil {
		l.program.try(func() error { return l.program.Initial(seed, w) })
	}
	for i, above := range l.layers {
		above.initial(rng.New(seed, rng.Initial, -1, i), w)
	}
}

// initial draws the weights from U(-b, b) with b = sqrt(6/(in + out)) (Glorot and Bengio,
// AISTATS 2010). Biases are 0.
func (l layer) initial(stream Stream, w []float64) {
	bound := math.Sqrt(6 / float64(l.in+l.out))
	weights := l.weights(w)
	for i := range weights {
		weights[i] = float64(bound * (float64(2*stream.Float64()) - 1))
	}
}

// activity is the scratch space of the values between two layers for a batch of rows.
type activity struct {
	batch kernel.Batch // the activations of the rows
	delta []float64    // subgradients in them, row by row
}

func newActivity(rows, width int) activity {
	return activity{
		kernel.Batch{X: make([]float64, rows*width), Stride: width, Cols: width, Index: make([]int32, 0, rows)},
		make([]float64, rows*width),
	}
}

// take makes the activations those of so many rows.
func (a *activity) take(rows int) {
	for i := len(a.batch.Index); i < rows; i++ {
		a.batch.Index = append(a.batch.Index, int32(i))
	}
	a.batch.Index = a.batch.Index[:rows]
}

// forward sets out, row by row, to W x + b for the rows x of a batch.
func (l layer) forward(batch *kernel.Batch, w, out []float64) {
	batch.Scores(l.out, l.weights(w), l.in, out, l.out)
	bias := l.bias(w)
	for i := range batch.Index {
		kernel.Axpy(1, bias, out[i*l.out:][:l.out])
	}
}

// gradient sets into to the subgradient in the layer's values, for the rows x of a batch and the
// subgradients in W x + b, row by row, or adds it.
func (l layer) gradient(batch *kernel.Batch, delta, into []float64, add bool) {
	batch.Combine(l.out, delta, l.out, l.weights(into), l.in, add)
	bias := l.bias(into)
	if !add {
		clear(bias)
	}
	for i := range batch.Index {
		kernel.Axpy(1, delta[i*l.out:][:l.out], bias)
	}
}

// rectify sets x to max(0, x).
func rectify(x []float64) {
	for i, v := range x {
		x[i] = max(v, 0) // without a branch
	}
}

// back sets the subgradients in the activations that a layer was given, from those in its
// result. Where an activation is 0 they are 0.
func (l layer) back(w, delta []float64, below *activity) {
	rows := len(below.batch.Index)
	kernel.Gemm(rows, l.in, l.out, delta, l.out, l.weights(w), l.in, below.delta, l.in)
	for i, x := range below.batch.X[:rows*l.in] {
		bits := math.Float64bits(below.delta[i])
		if x == 0 { // without a branch
			bits = 0
		}
		below.delta[i] = math.Float64frombits(bits)
	}
}
