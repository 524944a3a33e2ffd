package mtl

import "fedsim/internal/kernel"

// Loss is a convex loss of one row (x, y), with its conjugate and its coordinate step. a is
// the dual variable of the row; z = w . x.
//
// Methods start from a = 0, where every conjugate is finite.
type Loss interface {
	// Value returns loss(z, y).
	Value(z, y float64) float64
	// Subgradient returns an element of the subdifferential of loss(., y) at z.
	Subgradient(z, y float64) float64
	// Conjugate returns loss*(-a), +Inf where a is outside the conjugate's domain.
	Conjugate(a, y float64) float64
	// Step returns the minimizer b of loss*(-b) + (b-a) z + q/2 (b-a)^2 with
	// q > 0: the exact coordinate step of SDCA. b lies in the conjugate's domain,
	// rounding included.
	Step(a, y, z, q float64) float64
	// Smoothness returns mu: the loss is (1/mu)-smooth in z; 0 when it is not
	// smooth.
	Smoothness() float64
	// Lipschitz returns L: the loss is L-Lipschitz in z; +Inf when it is not.
	Lipschitz() float64
	// Regression reports whether the loss accepts real targets. Such a loss also accepts the
	// labels -1 and +1.
	Regression() bool
}

// clipped is a loss whose Step has the same bits as a clipped step of the kernel, which then
// takes many steps in one call. For the labels -1 and +1,
// y clip(y a + (1 - y z - g y a)/..., low, high) is such a step: multiplication by -1
// commutes with every operation and its rounding.
type clipped interface{ clippedStep() kernel.ClippedStep }

// clip returns min(high, max(low, b)). Branches are faster here than min and max: the
// processor predicts them, and the next step does not wait for the result.
func clip(b, low, high float64) float64 {
	if b <= low {
		return low
	}
	if b >= high {
		return high
	}
	return b
}

// The names of the losses.
const (
	LossHinge         = "hinge"
	LossSmoothedHinge = "smoothed-hinge"
	LossSquaredHinge  = "squared-hinge"
	LossLogistic      = "logistic"
	LossSquared       = "squared"
	LossAbsolute      = "absolute"
	LossSoftmax       = "softmax" // of all scores of a row; no Loss
)

// LossNames returns the names of the losses of one score: all but "softmax".
func LossNames() []string {
	return []string{LossHinge, LossSmoothedHinge, LossSquaredHinge, LossLogistic, LossSquared, LossAbsolute}
}

// RegressionLosses returns the names of the losses that take real targets.
func RegressionLosses() []string { return lossesThat(Loss.Regression) }

// SmoothLosses returns the names of the smooth losses of one score.
func SmoothLosses() []string {
	return lossesThat(func(l Loss) bool { return l.Smoothness() > 0 })
}

func lossesThat(hold func(Loss) bool) []string {
	cfg := Defaults()
	var names []string
	for _, cfg.Loss = range LossNames() {
		if hold(lossOf(cfg)) {
			names = append(names, cfg.Loss)
		}
	}
	return names
}

// lossOf returns the loss of a validated configuration, other than "softmax".
func lossOf(cfg Config) Loss {
	switch cfg.Loss {
	case LossHinge:
		return Hinge{}
	case LossSmoothedHinge:
		return SmoothedHinge{Smoothing: cfg.Smoothing}
	case LossSquaredHinge:
		return SquaredHinge{}
	case LossLogistic:
		return Logistic{}
	case LossSquared:
		return Squared{}
	case LossAbsolute:
		return Absolute{}
	}
	panic("mtl: loss " + cfg.Loss + " passed validation but is unknown")
}
