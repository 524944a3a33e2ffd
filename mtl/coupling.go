package mtl

import (
	"math"

	"fedsim/data"
	"fedsim/internal/tools/kernel"
)

// Coupling is R(., Omega) of a regularizer for a fixed Omega. M is the symmetric positive
// definite m x m matrix of Assumption 1: R is strongly convex with respect to M^-1. For
// all couplings except the sparse one, R(W) = 1/2 tr(W M^-1 W^T) plus a constant. W, V and
// Z have m rows of d values, one for each task. Several runs may use a coupling at the
// same time.
type Coupling interface {
	// Tasks returns m.
	Tasks() int
	// Diag returns M_tt > 0.
	Diag(t int) float64
	// Primal sets W = grad R*(V), which is V M when R is quadratic; w and v must
	// not overlap.
	Primal(w, v *data.Matrix)
	// Incremental returns W = grad R*(V) for a V that changes one row at a time. Only the
	// IncrementalPrimal may change V afterward.
	Incremental(v *data.Matrix) IncrementalPrimal
	// Gradient sets Z to a subgradient of R at W, which is W M^-1 when R is
	// quadratic; z and w must not overlap.
	Gradient(z, w *data.Matrix)
	// Value returns R(W). v is the V that W = grad R*(V) comes from, which makes
	// the value cheap, or nil when there is none.
	Value(w, v *data.Matrix) float64
	// SigmaPrime returns a sigma'_t for each task with
	// sum_t sigma'_t M_tt |u_t|^2 >= |u|_M^2 (eq. sigmaPrimeSafeDefinition with
	// gamma = 1), where devices[t] devices share the data of task t; nil is one
	// each. The rule is SigmaLemma9, SigmaSpectral or SigmaPerTask.
	SigmaPrime(rule string, devices []int) []float64
	// Convexity returns the smallest eigenvalue of M^-1, which is the strong convexity of R.
	// It sets the classical step size of primal methods.
	Convexity() float64
	// FLOPs returns the cost of one Primal for d features.
	FLOPs(d int) float64
}

// IncrementalPrimal computes rows of W = grad R*(V) for a solver that visits one task after
// the other.
type IncrementalPrimal interface {
	// Task sets dst to row t of W.
	Task(dst []float64, t int)
	// Add adds dv to row t of V.
	Add(t int, dv []float64)
	// FLOPs returns the cost of one Task and of one Add.
	FLOPs() (task, add float64)
	// State encodes or decodes sums that cannot be recomputed from V to the same bits. The
	// owner of V must have decoded V before.
	State(c *Coder)
}

// StoredValues returns how many numbers a coupling takes: the factor of a low-rank one, the matrices of a dense one.
func StoredValues(c Coupling) int {
	switch c := c.(type) {
	case *lowRank:
		return c.f.Rows*c.f.Cols + len(c.diag) + 3*len(c.along)
	case *sparse:
		return 3 * c.m.Rows * c.m.Rows // M, its factor and its inverse
	case *Dense:
		return 2 * c.m.Rows * c.m.Rows
	}
	return 1
}

// follower is the V of an IncrementalPrimal that has nothing but V.
type follower struct{ v *data.Matrix }

// Add adds dv to row t of V.
func (f follower) Add(t int, dv []float64) { kernel.Axpy(1, dv, f.v.Row(t)) }

// State has nothing to encode: the rows of W depend only on V.
func (follower) State(*Coder) {}

// dot returns sum_t <z_t, w_t>, in task order.
func dot(z, w *data.Matrix) float64 {
	sum := 0.0
	for t := range w.Rows {
		sum += kernel.Dot(z.Row(t), w.Row(t))
	}
	return sum
}

// valueOf returns R(W). A w of one row is the model of every task.
func valueOf(c Coupling, w, v *data.Matrix) float64 {
	if w.Make != nil {
		return madeValue(c, w)
	}
	if w.Rows == c.Tasks() {
		return c.Value(w, v)
	}
	return equalValue(c, w.Row(0))
}

// madeValue returns R(W) of a W whose rows are made. Only that of independent tasks needs one row at a
// time.
func madeValue(c Coupling, w *data.Matrix) float64 {
	switch c := c.(type) {
	case Shifted:
		return madeValue(c.Coupling, w) + c.Constant
	case Identity:
		sum, space := 0.0, make([]float64, w.Cols)
		for t := range w.Rows {
			w.Make(t, 0, space)
			sum += kernel.Dot(space, space)
		}
		return sum / (2 * c.Scale)
	default:
		return c.Value(inMemory(w), nil)
	}
}

// inMemory returns W with all its rows in memory.
func inMemory(w *data.Matrix) *data.Matrix {
	all := data.NewMatrix(w.Rows, w.Cols)
	for t := range all.Rows {
		w.Make(t, 0, all.Row(t))
	}
	return &all
}

// equalValue returns R(w 1^T). R is a sum over the features, and that of a feature with the
// same weight x in all tasks is x^2 times that of weights 1, plus l1 times the sum of the
// sizes.
func equalValue(c Coupling, w []float64) float64 {
	switch c := c.(type) {
	case Shifted:
		return equalValue(c.Coupling, w) + c.Constant
	case *sparse:
		size := 0.0
		for _, x := range w {
			size += math.Abs(x)
		}
		smooth := *c
		smooth.l1 = 0
		return equalQuadratic(&smooth, w) + float64(float64(c.Tasks())*c.l1*size)
	default:
		return equalQuadratic(c, w)
	}
}

// equalQuadratic is equalValue of an R without l1.
func equalQuadratic(c Coupling, w []float64) float64 {
	ones := data.NewMatrix(c.Tasks(), 1)
	for t := range ones.Rows {
		ones.Row(t)[0] = 1
	}
	return float64(c.Value(&ones, nil) * kernel.SquaredNorm(w))
}

// ModelRow returns the model of a task. A w of one row is the model of every task.
func ModelRow(w *data.Matrix, task int) []float64 {
	if w.Rows == 1 {
		return w.Row(0)
	}
	return w.Row(task)
}

// ReadRow is ModelRow for any W. A row that is made is written to space, which is made itself if it is
// too short.
func ReadRow(w *data.Matrix, task, worker int, space *[]float64) []float64 {
	if w.Make == nil {
		return ModelRow(w, task)
	}
	if len(*space) < w.Cols {
		*space = make([]float64, w.Cols)
	}
	w.Make(task, worker, (*space)[:w.Cols])
	return (*space)[:w.Cols]
}

// TaskModels returns a model with a row for each task: w, copies of its one row, its rows in memory, or the means of
// its mixtures.
func (p *Problem) TaskModels(w *data.Matrix) *data.Matrix {
	w = p.means(w)
	if w.Make != nil {
		return inMemory(w)
	}
	if w.Rows == p.tasks {
		return w
	}
	all := p.NewWeights()
	for t := range all.Rows {
		copy(all.Row(t), w.Row(0))
	}
	return &all
}

// StoredRows returns how many rows of a model files and hashes have. For a linear model with
// one output it is a row for each task, also when all have the same.
func (p *Problem) StoredRows(w *data.Matrix) int {
	if p.Outputs == 1 && p.linear() {
		return p.tasks
	}
	return w.Rows
}

// half returns 1/2 <W M^-1, W>, with V = W M^-1 when it is known.
func half(c Coupling, w, v *data.Matrix) float64 {
	if v == nil {
		z := data.NewMatrix(w.Rows, w.Cols)
		c.Gradient(&z, w)
		v = &z
	}
	return 0.5 * dot(v, w)
}

// Identity is M = Scale I: independent tasks.
type Identity struct {
	M     int
	Scale float64
}

var _ Coupling = Identity{}

// Tasks returns m.
func (id Identity) Tasks() int { return id.M }

// Diag returns the scale.
func (id Identity) Diag(int) float64 { return id.Scale }

// Primal sets W = Scale V.
func (id Identity) Primal(w, v *data.Matrix) { kernel.Scale(id.Scale, v.Data, w.Data) }

// Incremental needs nothing but V.
func (id Identity) Incremental(v *data.Matrix) IncrementalPrimal {
	return identityFollower{id, follower{v}}
}

type identityFollower struct {
	Identity
	follower
}

// Task sets dst = Scale v_t.
func (f identityFollower) Task(dst []float64, t int) { kernel.Scale(f.Scale, f.v.Row(t), dst) }

// FLOPs returns d and d.
func (f identityFollower) FLOPs() (task, add float64) {
	d := float64(f.v.Cols)
	return d, d
}

// Gradient sets Z = W / Scale.
func (id Identity) Gradient(z, w *data.Matrix) { kernel.Scale(1/id.Scale, w.Data, z.Data) }

// Value returns |W|^2 / (2 Scale).
func (id Identity) Value(w, v *data.Matrix) float64 {
	if v == nil {
		return dot(w, w) / (2 * id.Scale)
	}
	return half(id, w, v)
}

// SigmaPrime returns the number of devices of a task: without sharing the tasks'
// subproblems are exact. The rules agree but for the maximum over tasks.
func (id Identity) SigmaPrime(rule string, devices []int) []float64 {
	sigma := make([]float64, id.M)
	most := 1.0
	for t := range sigma {
		sigma[t] = load(devices, t)
		most = max(most, sigma[t])
	}
	if rule != SigmaPerTask {
		fill(sigma, most)
	}
	return sigma
}

// load returns how many devices hold data of task t.
func load(devices []int, t int) float64 {
	if devices == nil {
		return 1
	}
	return float64(devices[t])
}

func fill(x []float64, value float64) {
	for i := range x {
		x[i] = value
	}
}

// Convexity returns 1/Scale.
func (id Identity) Convexity() float64 { return 1 / id.Scale }

// FLOPs returns m d.
func (id Identity) FLOPs(d int) float64 { return float64(id.M) * float64(d) }
