package mtl

import (
	"math"

	"fedsim/data"
	"fedsim/internal/tools/elementary"
	"fedsim/internal/tools/kernel"
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

// models returns how many models a mixture has; 0: the values are those of one model.
func (p *program) models(w []float64) int {
	if d := p.Sizes().Values; len(w) != d {
		return len(w) / (d + 1)
	}
	return 0
}

// mix returns the loss of each row of an element of a part under a mixture of n models, and whether its prediction
// is wrong, as 0 or 1, or its squared error. After an error of the program there are no rows.
func (p *program) mix(part, element int, w []float64, n int) (losses, misses []float64) {
	d, models := p.Sizes().Values, make([]data.Matrix, n)
	shares := w[n*d:]
	for m := range models {
		if !p.try(func() (err error) {
			models[m], err = p.Losses(part, element, w[m*d:][:d])
			return err
		}) {
			return nil, nil
		}
	}
	losses, misses = make([]float64, models[0].Rows), make([]float64, models[0].Rows)
	mean := make([]float64, models[0].Cols-2)
	for i := range losses {
		least, sum := math.Inf(1), 0.0
		for m := range models {
			least = min(least, models[m].Row(i)[0])
		}
		clear(mean)
		for m, pi := range shares {
			row := models[m].Row(i)
			sum += float64(pi * elementary.Exp(least-row[0]))
			kernel.Axpy(pi, row[2:], mean)
		}
		losses[i] = least - elementary.Log(sum)
		misses[i] = p.miss(mean, models[0].Row(i)[1])
	}
	return losses, misses
}

// miss returns whether what predicts a row with target y is wrong, as 0 or 1, or its squared error.
func (p *program) miss(predicted []float64, y float64) float64 {
	first := predicted[0]
	switch {
	case p.real:
		return float64((first - y) * (first - y))
	case len(predicted) == 1 && float64((first-0.5)*y) > 0, len(predicted) > 1 && Class(predicted) == int(y):
		return 0
	}
	return 1
}

// Losses writes the losses of the rows of an open task at w, whose client For has named.
func (g *Gradient) Losses(task *data.Client, w, into []float64) {
	if p := g.of.program; p != nil {
		p.try(func() error {
			if g.client < 0 {
				return errNoClient
			}
			rows, err := p.Losses(0, g.client, w)
			for i := range rows.Rows {
				into[i] = rows.Row(i)[0]
			}
			return err
		})
		return
	}
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
