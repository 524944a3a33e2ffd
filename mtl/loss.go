package mtl

import (
	"fedsim/config"
	"fedsim/data"
	"fedsim/internal/tools/kernel"
	"fedsim/internal/tools/registry"
)

// Loss is a convex loss of one score of a row (x, y), with its conjugate and its coordinate
// step. a is the dual variable of the row; z = w . x.
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
	// Traits returns the constants and the abilities of the loss.
	Traits() LossTraits
}

// LossTraits are the constants and the abilities of a loss of one score.
type LossTraits struct {
	RealTargets bool    // the loss accepts real targets, and the labels -1 and +1 as well
	Smoothness  float64 // mu: the loss is (1/mu)-smooth in z; 0: it is not smooth
	Lipschitz   float64 // L: the loss is L-Lipschitz in z; +Inf: it is not
	// Clipped is a clipped step with the same bits as Step, many of which the kernel takes in
	// one call. The zero value: there is none, and Step is called for each coordinate.
	//
	// For the labels -1 and +1, y clip(y a + (1 - y z - g y a)/..., low, high) is such a step:
	// multiplication by -1 commutes with every operation and its rounding.
	Clipped ClippedStep
	// Curvature returns the second derivative in z where the first is -a. The central solver
	// then has Newton's method. nil: it has coordinate steps alone.
	Curvature func(a, y float64) float64
	Quadratic bool // Curvature is the same everywhere: one step of Newton's method suffices
}

// ClippedStep is a coordinate step to b = clip(a + ((y - z) - Shrink a)/(q + Extra), Low, High),
// with the bounds [-High, -Low] where y is negative.
type ClippedStep = kernel.ClippedStep

// ScoresLoss is a convex, twice differentiable loss of all scores z of a row of a class. It is
// for primal methods. Newton's method finds its reference optimum.
type ScoresLoss interface {
	// Value returns loss(z, class).
	Value(z []float64, class int) float64
	// Gradient replaces the scores z by the gradient of the loss in them.
	Gradient(z []float64, class int)
	// Curve replaces a direction z in the scores by the Hessian times z, at the scores where
	// the gradient is -a.
	Curve(z, a []float64, class int)
}

// LossFactory describes a loss and builds it. Exactly one of New and NewOfScores is set.
type LossFactory struct {
	Name string // as problem.loss names it: lower case, words joined by hyphens
	// Formula, Conjugate and Domain are loss(z, y), loss*(-a) and where it is finite, in
	// listings. Mu is there in place of LossTraits.Smoothness. g is problem.loss_options.smoothing.
	Formula, Conjugate, Domain, Mu string
	Reference                      string // the source of the loss; empty: none
	// New returns a loss of one score. It may use Smoothing of the configuration, which is
	// valid.
	New func(*Config) Loss
	// NewOfScores returns a loss of all scores of a row.
	NewOfScores func(*Config) ScoresLoss
}

var losses = registry.New[LossFactory]("mtl", "loss")

// RegisterLoss registers a loss under its name. Init functions call it. It panics when the
// factory is incomplete or the name is taken.
func RegisterLoss(f LossFactory) {
	losses.Add(f.Name, f, (f.New == nil) != (f.NewOfScores == nil), "a name and one of New and NewOfScores")
}

// LookupLoss returns the loss registered under a name.
func LookupLoss(name string) (LossFactory, bool) { return losses.Lookup(name) }

// LossNames returns the names of the registered losses in alphabetical order.
func LossNames() []string { return losses.Names() }

// ScoreLosses returns the names of the losses of one score.
func ScoreLosses() []string { return lossesThat(func(LossTraits) bool { return true }) }

// RegressionLosses returns the names of the losses that take real targets.
func RegressionLosses() []string {
	return lossesThat(func(l LossTraits) bool { return l.RealTargets })
}

// SmoothLosses returns the names of the smooth losses of one score.
func SmoothLosses() []string {
	return lossesThat(func(l LossTraits) bool { return l.Smoothness > 0 })
}

// lossesThat returns the names of the losses of one score with traits that hold.
func lossesThat(hold func(LossTraits) bool) []string {
	cfg := Defaults()
	var names []string
	for _, name := range LossNames() {
		if f, _ := LookupLoss(name); f.New != nil && hold(f.New(&cfg).Traits()) {
			names = append(names, name)
		}
	}
	return names
}

// chooseLoss sets the loss that the configuration leaves to the data: that of real targets, of two classes, or of
// several.
func (cfg *Config) chooseLoss(train *data.Set) error {
	switch {
	case train.Real:
		cfg.Loss = LossSquared
	case len(train.Classes) <= 2:
		cfg.Loss = LossLogistic
	default:
		cfg.Loss = LossSoftmax
	}
	c := config.NewChecker()
	cfg.checkCentral(c.In("problem.regularizer_options"))
	if problems := c.Problems(); len(problems) > 0 {
		return problems[0]
	}
	return nil
}

// lossOf returns the loss of a validated configuration: of one score, or of all scores of a row.
func lossOf(cfg *Config) (Loss, ScoresLoss) {
	switch f, ok := LookupLoss(cfg.Loss); {
	case !ok:
		panic("mtl: loss " + cfg.Loss + " passed validation but is unknown")
	case f.New != nil:
		return f.New(cfg), nil
	default:
		return nil, f.NewOfScores(cfg)
	}
}

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
