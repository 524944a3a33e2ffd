package mtl

import (
	"fedsim/data"
)

// A row has a score x . w_c for each output c. A Loss with several outputs is one-vs-rest:
// the loss of a row is the sum over the classes, with the label +1 for the class of the row
// and -1 for the others. This is eq. (1) for n C rows of d C features: row (i, c) has x_i in
// block c and zeros elsewhere. So the dual variable of row i and class c is a[i*C+c].

// Target returns the target of output c of a row with target y: y itself, or, with several
// outputs, the label +1 for the class y and -1 for the others.
func (p *Problem) Target(y float64, c int) float64 {
	switch {
	case p.outputs == 1:
		return y
	case int(y) == c:
		return 1
	default:
		return -1
	}
}

// coordinate returns the row and the output of a dual variable.
func (p *Problem) coordinate(j int) (row, output int) {
	if p.outputs == 1 {
		return j, 0
	}
	return j / p.outputs, j % p.outputs
}

// block returns the weights of an output.
func (p *Problem) block(w []float64, c int) []float64 {
	d := p.Train.Features
	return w[c*d : (c+1)*d : (c+1)*d]
}

// scores sets z to the scores of row i of x.
func (p *Problem) scores(z []float64, x *data.Matrix, i int, w []float64) {
	for c := range z {
		z[c] = x.Dot(i, p.block(w, c))
	}
}

// loss returns the loss of a row with scores z and target y.
func (p *Problem) loss(z []float64, y float64) float64 {
	if p.Loss == nil {
		return p.ScoresLoss.Value(z, int(y))
	}
	sum := 0.0
	for c, zc := range z {
		sum += p.Loss.Value(zc, p.Target(y, c))
	}
	return sum
}

// slopes replaces the scores z of a row with target y by a subgradient of the loss in them.
func (p *Problem) slopes(z []float64, y float64) {
	if p.Loss == nil {
		p.ScoresLoss.Gradient(z, int(y))
		return
	}
	for c, zc := range z {
		z[c] = p.Loss.Subgradient(zc, p.Target(y, c))
	}
}

// conjugate returns the sum of loss*(-a) over dual variables of rows with targets y.
func (p *Problem) conjugate(a, y []float64) float64 {
	sum := 0.0
	for j, aj := range a {
		i, c := p.coordinate(j)
		sum += p.Loss.Conjugate(aj, p.Target(y[i], c))
	}
	return sum
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

// StartLoss returns the sum of c_t times the losses of all rows at W = 0: P(0) without R.
func (p *Problem) StartLoss() float64 {
	total, z := 0.0, make([]float64, p.outputs)
	for k := range p.Train.Tasks {
		sum := 0.0
		for _, y := range p.Train.Tasks[k].Y {
			sum += p.loss(z, y)
		}
		total += float64(p.Scale[k] * sum)
	}
	return total
}
