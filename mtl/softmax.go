package mtl

import "fedsim/internal/tools/elementary"

// LossSoftmax names Softmax in scenarios.
const LossSoftmax = "softmax"

func init() {
	RegisterLoss(LossFactory{
		Name: LossSoftmax, Formula: "log(exp(z_1) + ... + exp(z_C)) - z_y",
		NewOfScores: func(*Config) ScoresLoss { return Softmax{} },
	})
}

// Softmax is the cross-entropy of all scores of a row, log sum_c exp(z_c) - z_y.
type Softmax struct{}

var _ ScoresLoss = Softmax{}

// Value returns the cross-entropy without overflow.
func (Softmax) Value(z []float64, class int) float64 {
	top := Class(z)
	rest := 0.0 // of the sum, without the largest term, which is 1
	for c, zc := range z {
		if c != top {
			rest += elementary.Exp(zc - z[top])
		}
	}
	return (z[top] - z[class]) + elementary.Log1p(rest)
}

// Gradient replaces the scores by exp(z_c) / sum exp(z), less 1 for the class of the row.
func (Softmax) Gradient(z []float64, class int) {
	most, sum := z[Class(z)], 0.0
	for c, zc := range z {
		z[c] = elementary.Exp(zc - most)
		sum += z[c]
	}
	for c := range z {
		z[c] /= sum
	}
	z[class]--
}

// Curve replaces z_c by q_c (z_c - sum q z), where q is the softmax of the scores: q = e_y - a.
func (Softmax) Curve(z, a []float64, class int) {
	q := func(c int) float64 {
		if c == class {
			return 1 - a[c]
		}
		return -a[c]
	}
	mean := 0.0
	for c, zc := range z {
		mean += float64(q(c) * zc)
	}
	for c := range z {
		z[c] = q(c) * (z[c] - mean)
	}
}
