package mtl

import (
	"math"

	"fedsim/data"
	"fedsim/internal/tools/elementary"
)

// A model of a task may be a mixture of M models: their values, one after the other, and their M shares pi. It gives a
// row the likelihood sum_m pi_m exp(-loss(z_m, y)), so that its loss is minus the logarithm of that, and predicts the
// mean of the probabilities of classes, or of the scores of losses that take real targets. Its scores are these
// means, or log p(+1)/p(-1) for each score of a loss of labels.

// LikelihoodLosses returns the names of the losses that are minus the logarithm of a likelihood, but for a constant:
// those of the models of a mixture.
func LikelihoodLosses() []string { return []string{LossLogistic, LossSoftmax, LossSquared} }

// MixtureValues returns the values of a mixture of n models.
func (s Shape) MixtureValues(n int) int { return n * (s.Values() + 1) }

// models returns how many models a mixture has; 0: the values are those of one model.
func (l *RowLoss) models(values int) int {
	if d := l.Values(); values != d {
		return values / (d + 1)
	}
	return 0
}

// mixed is the space of Gradient for mixtures.
type mixed struct{ losses, scores, total []float64 }

// mix returns the scores and the losses of at most BlockRows rows under a mixture of n models.
func (g *Gradient) mix(task *data.Client, rows []int32, w []float64, n int) (scores, losses []float64) {
	l, c, d := g.of, g.of.Outputs, (len(w)-n)/n
	if len(g.mixed.losses) < n*BlockRows {
		g.mixed = mixed{make([]float64, n*BlockRows), make([]float64, 2*c*BlockRows), make([]float64, BlockRows)}
	}
	scores = g.mixed.scores[:2*c*len(rows)] // means of the scores or probabilities, then those of the label -1
	against := scores[c*len(rows):]
	clear(scores)
	means, shares := l.Loss != nil && l.Loss.Traits().RealTargets, w[n*d:]
	for m, pi := range shares {
		z := g.forward(task, rows, w[m*d:(m+1)*d])
		for i, row := range rows {
			zi := z[i*c:][:c]
			g.mixed.losses[m*BlockRows+i] = l.loss(zi, task.Y[row])
			first, log := zi[0], 0.0
			if l.Loss == nil {
				log = l.ScoresLoss.Value(zi, 0)
			}
			for k, x := range zi {
				at := i*c + k
				switch {
				case l.Loss == nil:
					scores[at] += float64(pi * elementary.Exp((x-first)-log))
				case means:
					scores[at] += float64(pi * x)
				default:
					scores[at] += float64(pi * elementary.Exp(-l.Loss.Value(x, 1)))
					against[at] += float64(pi * elementary.Exp(-l.Loss.Value(x, -1)))
				}
			}
		}
	}
	if l.Loss != nil && !means {
		for i := range against {
			scores[i] = elementary.Log(scores[i]) - elementary.Log(against[i])
		}
	}
	losses = g.mixed.total[:len(rows)]
	for i := range losses {
		least, sum := math.Inf(1), 0.0
		for m := range n {
			least = min(least, g.mixed.losses[m*BlockRows+i])
		}
		for m, pi := range shares {
			sum += float64(pi * elementary.Exp(least-g.mixed.losses[m*BlockRows+i]))
		}
		losses[i] = least - elementary.Log(sum)
	}
	return scores[:c*len(rows)], losses
}

// Losses writes the losses of the rows of an open task at w.
func (g *Gradient) Losses(task *data.Client, w, into []float64) {
	for from := 0; from < task.X.Rows; from += BlockRows {
		g.LossesOf(task, g.between(from, min(from+BlockRows, task.X.Rows)), w, into[from:])
	}
}

// LossesOf writes the losses of some rows of an open task at w.
func (g *Gradient) LossesOf(task *data.Client, rows []int32, w, into []float64) {
	l := g.of
	for at := 0; at < len(rows); at += BlockRows {
		block := rows[at:min(at+BlockRows, len(rows))]
		z := g.forward(task, block, w)
		for i, row := range block {
			into[at+i] = l.loss(z[i*l.Outputs:][:l.Outputs], task.Y[row])
		}
	}
}

// means returns the means of the models of the mixtures that are the rows of w; w itself of other models.
func (p *Problem) means(w *data.Matrix) *data.Matrix {
	n := p.models(w.Cols)
	if n == 0 {
		return w
	}
	var space []float64
	all := data.NewMatrix(w.Rows, p.Values())
	for t := range all.Rows {
		row := ReadRow(w, t, 0, &space)
		for m, pi := range row[n*all.Cols:] {
			for j, x := range row[m*all.Cols:][:all.Cols] {
				all.Row(t)[j] += float64(pi * x)
			}
		}
	}
	return &all
}
