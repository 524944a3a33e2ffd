package mtl

// Loss is a convex loss of one row, with what a dual method needs of it. The
// dual variable a belongs to the row's example (x, y); z = w . x.
type Loss interface {
	// Value returns loss(z, y).
	Value(z, y float64) float64
	// Subgradient returns an element of the subdifferential of loss(., y) at z.
	Subgradient(z, y float64) float64
	// Conjugate returns loss*(-a), +Inf where a is outside the conjugate's domain.
	Conjugate(a, y float64) float64
	// Step returns the minimiser b of loss*(-b) + (b-a) z + q/2 (b-a)^2 with
	// q > 0: the exact coordinate step of SDCA.
	Step(a, y, z, q float64) float64
	// Smoothness returns mu: the loss is (1/mu)-smooth in z; 0 when it is not
	// smooth.
	Smoothness() float64
	// Lipschitz returns L: the loss is L-Lipschitz in z; +Inf when it is not.
	Lipschitz() float64
	// Regression reports whether the loss takes real targets.
	Regression() bool
}

// The names of the losses.
const LossHinge = "hinge"

// LossNames returns the names a configuration may give.
func LossNames() []string { return []string{LossHinge} }

// lossOf returns the loss of a validated configuration.
func lossOf(cfg Config) Loss {
	switch cfg.Loss {
	case LossHinge:
		return Hinge{}
	}
	panic("mtl: loss " + cfg.Loss + " passed validation but is not known")
}
