package mtl

import (
	"fmt"
	"strings"
	"sync"

	"fedsim/config"
	"fedsim/data"
)

// RowLoss is the loss of a row as a function of the values of its task's model: the shape of the
// model, and the loss of the scores that the model gives a row.
//
// A row has a score x . w_c for each output c. A Loss with several outputs is one-vs-rest:
// the loss of a row is the sum over the classes, with the label +1 for the class of the row
// and -1 for the others. This is eq. (1) for n C rows of d C features: row (i, c) has x_i in
// block c and zeros elsewhere. So the dual variable of row i and class c is a[i*C+c].
type RowLoss struct {
	Shape
	Loss       Loss       // of one score, or nil
	ScoresLoss ScoresLoss // of all scores of a row; nil: Loss is set
	real       bool       // targets are real numbers, not labels or classes
	layers     []layer    // of the model; nil: it is linear, or external
	program    *program   // of an external model, which has no scores; nil: the model is another
	scratch    *sync.Pool // of *Gradient

	exceedsCache bool // the training rows do not fit into a core's share of the caches
}

// cacheShare is a typical share of a core in the last-level cache, in bytes. When the training rows
// need more, walks prefetch them.
const cacheShare = 8 << 20

// dotsInOrder sets z to x_i . w for the rows from one on.
func (l *RowLoss) dotsInOrder(x *data.Matrix, from int, w, z []float64) {
	if !l.exceedsCache {
		x.Dots(from, w, z)
		return
	}
	for k := range z {
		z[k] = x.DotInOrder(from+k, w)
	}
}

// DotsOf sets z[k] to x_i . w of row i = rows[k].
func (l *RowLoss) DotsOf(x *data.Matrix, rows []int32, w, z []float64) {
	if !l.exceedsCache {
		x.DotsOf(rows, w, z)
		return
	}
	for k := range z {
		z[k] = x.DotOf(rows, k, w)
	}
}

// newRowLoss returns the loss of a validated configuration. It fails with a config.Problem when
// the loss does not accept the targets. The loss of an external model is that of its program.
func newRowLoss(cfg *Config, train *data.Set, external Program) (*RowLoss, error) {
	if external != nil {
		shape := Shape{Features: train.Features, Outputs: train.Outputs(), Given: external.Sizes()}
		return (&RowLoss{Shape: shape, real: train.Real}).through(external), nil
	}
	loss, scores := lossOf(cfg)
	if train.Real && (loss == nil || !loss.Traits().RealTargets) {
		return nil, config.Problem{Key: "problem.loss", Value: cfg.Loss, Want: fmt.Sprintf(
			"must be one of %s: data set %q has real targets, not the labels -1 and +1",
			strings.Join(RegressionLosses(), ", "), train.Name)}
	}
	if loss == nil && train.Classes == nil {
		return nil, config.Problem{Key: "problem.loss", Value: cfg.Loss, Want: fmt.Sprintf(
			"must be another, or data.target \"classes\": data set %q has no class numbers", train.Name)}
	}
	l := &RowLoss{
		Shape: Shape{Features: train.Features, Outputs: train.Outputs(), Hidden: cfg.Hidden},
		Loss:  loss, ScoresLoss: scores, real: train.Real,
	}
	l.layers = l.Shape.layers()
	l.scratch = &sync.Pool{New: func() any { return l.NewGradient() }}
	return l, nil
}

// through returns the loss of an external model with a program.
func (l *RowLoss) through(external Program) *RowLoss {
	of := *l
	of.program = &program{external, new(failure), l.real}
	if l.program != nil {
		of.program.failure = l.program.failure
	}
	of.scratch = &sync.Pool{New: func() any { return of.NewGradient() }}
	return &of
}

// LossText names the loss of a row: "hinge, one class against the rest". It is empty for an external model.
func (p *Problem) LossText() string {
	switch {
	case p.program != nil:
		return ""
	case p.Loss != nil && p.Outputs > 1:
		return p.Config.Loss + ", one class against the rest"
	default:
		return p.Config.Loss
	}
}

// Smooth reports whether the loss of a row is a smooth function of its scores; that of an external
// model is taken for one.
func (l *RowLoss) Smooth() bool { return l.Loss == nil || l.Loss.Traits().Smoothness > 0 }

// Target returns the target of output c of a row with target y: y itself, or, with several
// outputs, the label +1 for the class y and -1 for the others.
func (l *RowLoss) Target(y float64, c int) float64 {
	switch {
	case l.Outputs == 1:
		return y
	case int(y) == c:
		return 1
	default:
		return -1
	}
}

// coordinate returns the row and the output of a dual variable.
func (l *RowLoss) coordinate(j int) (row, output int) {
	if l.Outputs == 1 {
		return j, 0
	}
	return j / l.Outputs, j % l.Outputs
}

// block returns the weights of an output.
func (l *RowLoss) block(w []float64, c int) []float64 {
	d := l.Features
	return w[c*d : (c+1)*d : (c+1)*d]
}

// scores sets z to the scores of row i of x.
func (l *RowLoss) scores(z []float64, x *data.Matrix, i int, w []float64) {
	for c := range z {
		z[c] = x.Dot(i, l.block(w, c))
	}
}

// loss returns the loss of a row with scores z and target y.
func (l *RowLoss) loss(z []float64, y float64) float64 {
	if l.Loss == nil {
		return l.ScoresLoss.Value(z, int(y))
	}
	sum := 0.0
	for c, zc := range z {
		sum += l.Loss.Value(zc, l.Target(y, c))
	}
	return sum
}

// slopes replaces the scores z of a row with target y by a subgradient of the loss in them.
func (l *RowLoss) slopes(z []float64, y float64) {
	if l.Loss == nil {
		l.ScoresLoss.Gradient(z, int(y))
		return
	}
	for c, zc := range z {
		z[c] = l.Loss.Subgradient(zc, l.Target(y, c))
	}
}

// conjugate returns the sum of loss*(-a) over dual variables of rows with targets y.
func (l *RowLoss) conjugate(a, y []float64) float64 {
	sum := 0.0
	for j, aj := range a {
		i, c := l.coordinate(j)
		sum += l.Loss.Conjugate(aj, l.Target(y[i], c))
	}
	return sum
}

// curve replaces a direction z in the scores of a row by the Hessian of the loss times z, at
// the scores of which a is minus the gradient.
func (l *RowLoss) curve(z, a []float64, y float64) {
	if l.Loss == nil {
		l.ScoresLoss.Curve(z, a, int(y))
		return
	}
	curvature := l.Loss.Traits().Curvature
	for c := range z {
		z[c] *= curvature(a[c], l.Target(y, c))
	}
}

// miss returns whether the scores of a row are wrong, as 0 or 1, or their squared error.
func (l *RowLoss) miss(z []float64, y float64) float64 {
	wrong := Class(z) != int(y)
	if l.Outputs == 1 {
		if l.real {
			return float64((z[0] - y) * (z[0] - y))
		}
		wrong = float64(z[0]*y) <= 0
	}
	if wrong {
		return 1
	}
	return 0
}

// fit is how well weights fit some rows.
type fit struct {
	loss, conjugate float64 // sums over the rows
	miss            float64 // wrong signs (a score of zero is) or classes, or the sum of squared errors
	rows            int
	own             []float64 // means of the metrics of a program
}

// fit sums over a task's rows; a holds their dual variables or is nil.
func (l *RowLoss) fit(task *data.Client, w, a []float64) fit {
	f := fit{rows: task.X.Rows}
	sums, ok := l.Loss.(sums)
	if !ok || l.Outputs > 1 || l.layers != nil || l.models(len(w)) > 0 {
		l.eachLoss(task, w, func(i int, z []float64, loss float64) {
			f.loss += loss
			f.miss += l.miss(z, task.Y[i])
		})
		f.conjugate = l.conjugate(a, task.Y)
		return f
	}
	g := l.scratch.Get().(*Gradient)
	defer l.scratch.Put(g)
	for from := 0; from < f.rows; from += BlockRows {
		z := g.z[:min(BlockRows, f.rows-from)]
		l.dotsInOrder(&task.X, from, w, z)
		y := task.Y[from:][:len(z)]
		f.loss = sums.addValues(f.loss, z, y)
		for i, zi := range z {
			if float64(zi*y[i]) <= 0 {
				f.miss++
			}
		}
	}
	f.conjugate = sums.addConjugates(0, a, task.Y)
	return f
}

// sums is a Loss of labels for linear models, which adds over rows faster than row by row, with the same bits.
type sums interface {
	// addValues adds Value(z[i], y[i]) to sum, in order.
	addValues(sum float64, z, y []float64) float64
	// addConjugates adds Conjugate(a[i], y[i]) to sum, in order.
	addConjugates(sum float64, a, y []float64) float64
}

// eachLoss visits the rows of an open task with their scores, which are valid during the visit, and their losses.
func (l *RowLoss) eachLoss(task *data.Client, w []float64, visit func(i int, z []float64, loss float64)) {
	if l.models(len(w)) == 0 {
		l.eachRow(task, w, func(i int, z []float64) { visit(i, z, l.loss(z, task.Y[i])) })
		return
	}
	g := l.scratch.Get().(*Gradient)
	defer l.scratch.Put(g)
	for from := 0; from < task.X.Rows; from += BlockRows {
		to := min(from+BlockRows, task.X.Rows)
		scores, losses := g.mix(task, g.between(from, to), w, l.models(len(w)))
		for i := from; i < to; i++ {
			visit(i, scores[(i-from)*l.Outputs:][:l.Outputs], losses[i-from])
		}
	}
}

// eachRow visits the rows of an open task with their scores, which are valid during the visit.
func (l *RowLoss) eachRow(task *data.Client, w []float64, visit func(i int, z []float64)) {
	if l.models(len(w)) > 0 {
		l.eachLoss(task, w, func(i int, z []float64, _ float64) { visit(i, z) })
		return
	}
	g := l.scratch.Get().(*Gradient)
	defer l.scratch.Put(g)
	for from := 0; from < task.X.Rows; from += BlockRows {
		to := min(from+BlockRows, task.X.Rows)
		if l.Outputs == 1 && l.layers == nil {
			l.dotsInOrder(&task.X, from, w, g.z[:to-from])
			for i := from; i < to; i++ {
				visit(i, g.z[i-from:][:1])
			}
			continue
		}
		scores := g.Scores(task, from, to, w)
		for i := from; i < to; i++ {
			visit(i, scores[(i-from)*l.Outputs:][:l.Outputs])
		}
	}
}

// Class returns the class of the largest score, the lowest among equals.
func Class(scores []float64) int {
	best := 0
	for c, z := range scores {
		if z > scores[best] {
			best = c
		}
	}
	return best
}
