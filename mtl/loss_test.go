package mtl

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"fedsim/internal/tools/expect"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// lossCase is a loss with the domain of its conjugate and its kind of targets.
type lossCase struct {
	name      string
	loss      Loss
	low, high float64 // domain of y a for a classifier, of a for a regression
	curvature float64 // largest second derivative, +Inf at a kink
}

// lossCases lists the registered losses of one score, those with a smoothed kink for several
// gamma.
func lossCases(t testing.TB) []lossCase {
	var cases []lossCase
	for _, name := range ScoreLosses() {
		plain := plainOf(t, name)
		for i, gamma := range []float64{0.5, 0.01, 3} {
			cfg := Defaults()
			cfg.Loss, cfg.Smoothing = name, gamma
			loss, _ := lossOf(&cfg)
			if i > 0 && loss == cases[len(cases)-1].loss {
				break
			}
			cases = append(cases,
				lossCase{fmt.Sprint(name, " ", gamma), loss, plain.low, plain.high, plain.curvature(gamma)})
		}
	}
	return cases
}

func everyLoss(t *testing.T, f func(t *testing.T, c lossCase)) {
	for _, c := range lossCases(t) {
		t.Run(c.name, func(t *testing.T) { f(t, c) })
	}
}

// takesReals reports whether the loss of a name takes real targets.
func takesReals(name string) bool { return slices.Contains(RegressionLosses(), name) }

// target draws a label, or any number for a regression.
func (c lossCase) target(t *rapid.T) float64 {
	if c.loss.Traits().RealTargets && rapid.Bool().Draw(t, "real") {
		return rapid.Float64Range(-5, 5).Draw(t, "y")
	}
	return rapid.SampledFrom([]float64{-1, 1}).Draw(t, "y")
}

// point returns the dual variable that lies at s on the domain's scale.
func (c lossCase) point(s, y float64) float64 {
	if c.loss.Traits().RealTargets {
		return s
	}
	return y * s
}

// dual draws a point of the conjugate's domain, its ends among them.
func (c lossCase) dual(t *rapid.T, y float64) float64 {
	low, high := math.Max(c.low, -20), math.Min(c.high, 20)
	s := rapid.OneOf(rapid.Float64Range(low, high), rapid.SampledFrom([]float64{low, high, 0})).Draw(t, "s")
	return c.point(s, y)
}

func (c lossCase) inside(a, y float64) bool {
	s := a
	if !c.loss.Traits().RealTargets {
		s = y * a
	}
	return s >= c.low && s <= c.high
}

// The conjugate equals its definition, the supremum over z of -a z - loss(z). The test finds
// it on a grid that contains all kinks, refined around the best point: the function is
// concave in z.
func TestConjugateIsTheSupremum(t *testing.T) {
	everyLoss(t, func(t *testing.T, c lossCase) {
		rapid.Check(t, func(t *rapid.T) {
			y := c.target(t)
			a := c.dual(t, y)
			value := func(z float64) float64 { return -a*z - c.loss.Value(z, y) }
			// Half of the points are multiples of 1/8 about y, where the kink of a
			// regression is; those of the classifiers lie at such multiples of y = 1.
			best, at := math.Inf(-1), 0.0
			for k := -800; k <= 800; k++ {
				if z := y + float64(k)/8; value(z) > best {
					best, at = value(z), z
				}
			}
			low, high := at-0.125, at+0.125
			for range 100 {
				l, r := low+(high-low)/3, high-(high-low)/3
				if value(l) < value(r) {
					low = l
				} else {
					high = r
				}
			}
			best = math.Max(best, value(low))
			// At the ends of the logistic's domain the supremum is a limit, which
			// the grid's end misses by exp(-100).
			got := c.loss.Conjugate(a, y)
			expect.Must(t, near(got, best, 1e-10), "conjugate(%g, %g) = %.15g, want %.15g", a, y, got, best)
		})
	})
}

func TestConjugateIsInfiniteOutsideItsDomain(t *testing.T) {
	everyLoss(t, func(t *testing.T, c lossCase) {
		for _, y := range []float64{-1, 1} {
			for _, s := range []float64{c.low, c.high, 0} {
				if math.IsInf(s, 0) {
					continue
				}
				if got := c.loss.Conjugate(c.point(s, y), y); math.IsInf(got, 0) || math.IsNaN(got) {
					t.Errorf("conjugate at %g, y = %g is %g within the domain", s, y, got)
				}
			}
			for _, s := range []float64{c.low - 1e-9, c.high + 1e-9} {
				if math.IsInf(s, 0) {
					continue
				}
				if got := c.loss.Conjugate(c.point(s, y), y); !math.IsInf(got, 1) {
					t.Errorf("conjugate at %g, y = %g is %g outside the domain, want +Inf", s, y, got)
				}
			}
			if got := c.loss.Conjugate(0, y); got != 0 {
				t.Errorf("conjugate(0, %g) = %g, want -inf over z of the loss, which is 0", y, got)
			}
		}
	})
}

// A step ends in the domain, and no other point gives the coordinate problem a lower value:
// points of a fine grid, nearby points, and random points.
func TestStepIsTheMinimizer(t *testing.T) {
	everyLoss(t, func(t *testing.T, c lossCase) {
		rapid.Check(t, func(t *rapid.T) {
			y := c.target(t)
			a := c.dual(t, y)
			z := rapid.Float64Range(-30, 30).Draw(t, "z")
			q := math.Pow(10, rapid.Float64Range(-8, 8).Draw(t, "log10 q"))
			value := func(b float64) float64 {
				return c.loss.Conjugate(b, y) + (b-a)*z + q/2*(b-a)*(b-a)
			}
			best := c.loss.Step(a, y, z, q)
			expect.Must(t, c.inside(best, y), "Step(%g, %g, %g, %g) = %g is outside the domain", a, y, z, q, best)
			least := value(best)
			check := func(b float64) {
				// The size of the terms that cancel in the value.
				size := 1 + math.Abs(b*y) + math.Abs(b-a)*math.Abs(z) + q*(b-a)*(b-a) + q*(best-a)*(best-a) + b*b
				if c.inside(b, y) && value(b) < least-1e-13*size {
					t.Fatalf("value(%g) = %.17g is below value(Step(%g, %g, %g, %g) = %g) = %.17g", b, value(b), a, y,
						z, q, best, least)
				}
			}
			low, high := math.Max(c.low, -40), math.Min(c.high, 40)
			for k := 0; k <= 1000; k++ {
				check(c.point(low+(high-low)*float64(k)/1000, y))
			}
			for h := 1e-1; h > 1e-12; h /= 10 {
				check(best + h)
				check(best - h)
				check(best * (1 + h))
				check(best * (1 - h))
			}
			check(a)
		})
	})
}

// The optimality condition of the logistic step, t + y z + q (s - y a) = 0 with
// t = log(s/(1-s)), to the precision of its terms, for curvatures and margins of
// any size. The brackets bound the number of iterations for all of them.
func TestLogisticStepIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := rapid.SampledFrom([]float64{-1, 1}).Draw(t, "y")
		s0 := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 1, 1e-300, 1e-17, 1 - 0x1p-53})).
			Draw(t, "ya")
		m := rapid.OneOf(rapid.Float64Range(-30, 30), rapid.Float64Range(-1e6, 1e6)).Draw(t, "margin")
		q := math.Pow(10, rapid.Float64Range(-20, 20).Draw(t, "log10 q"))
		b := Logistic{}.Step(y*s0, y, y*m, q)
		s := y * b
		expect.Must(t, s > 0 && s < 1, "y b = %g is not within (0, 1)", s)
		if s == logisticLeast || s == logisticMost {
			return // the root is beyond what can be represented, TestLogisticExtremes has the side
		}
		logit := math.Log(s) - math.Log1p(-s)
		residual := logit + m + q*(s-s0)
		// The terms of g are rounded, and so are t (which moves s by s(1-s) times as
		// much) and s itself near 1 (which moves t by 1/(1-s) times as much).
		scale := 0x1p-50 * (math.Abs(m) + math.Abs(logit)*(1+q*s*(1-s)) + q*math.Max(s, s0) + 1/(1-s))
		expect.Must(t, math.Abs(residual) <= scale,
			"ya = %g, yz = %g, q = %g: g(%.17g) = %g, want 0 to %g", s0, m, q, s, residual, scale)
	})
}

func TestLogisticExtremes(t *testing.T) {
	for _, c := range []struct{ a, z, q, want float64 }{
		{0, 1e4, 1, logisticLeast}, // far on the right side: s = exp(-1e4)
		{0, -1e4, 1e-3, logisticMost},
		{1, -1e4, 1e3, logisticMost},
		{0.3, 0, 1e300, 0.3}, // infinitely stiff: it stays
		{0, 0, 0, 0.5},       // no curvature: the derivative of the loss
		{0, 2, 0, sigmoid(-2)},
	} {
		got := (Logistic{}).Step(c.a, 1, c.z, c.q)
		expect.That(t, near(got, c.want, 1e-15), "Step(%g, 1, %g, %g) = %.17g, want %.17g", c.a, c.z, c.q, got, c.want)
	}
	for _, z := range []float64{-1e308, -800, 800, 1e308} {
		for _, y := range []float64{-1, 1} {
			want := math.Max(0, -y*z)
			got := (Logistic{}).Value(z, y)
			expect.That(t, got == want, "loss(%g, %g) = %g, want %g", z, y, got, want)
		}
	}
}

// The derivative against central differences, away from kinks; and everywhere
// the line through a point with the subgradient's slope lies below the loss.
func TestSubgradient(t *testing.T) {
	everyLoss(t, func(t *testing.T, c lossCase) {
		rapid.Check(t, func(t *rapid.T) {
			y := c.target(t)
			z := rapid.OneOf(rapid.Float64Range(-10, 10), rapid.Just(y)).Draw(t, "z")
			v := rapid.Float64Range(-10, 10).Draw(t, "v")
			g := c.loss.Subgradient(z, y)
			expect.Must(t, c.loss.Value(v, y) >= c.loss.Value(z, y)+g*(v-z)-1e-12,
				"the line at z = %g, y = %g with slope %g cuts the loss at %g", z, y, g, v)
			const h = 1e-5
			if math.IsInf(c.curvature, 1) && math.Abs(z-y) < 2*h {
				return // the kinks of hinge (y z = 1) and absolute (z = y) are both at y
			}
			slope := (c.loss.Value(z+h, y) - c.loss.Value(z-h, y)) / (2 * h)
			// The slope changes by less than curvature h between the two points.
			curvature := c.curvature
			if math.IsInf(curvature, 1) {
				curvature = 0
			}
			expect.Must(t, math.Abs(slope-g) <= curvature*h+1e-9,
				"slope at z = %g, y = %g is %g, differences give %g", z, y, g, slope)
		})
	})
}

// Curvature at a point of the domain is the derivative of the slope where the slope is -a.
func TestCurvature(t *testing.T) {
	everyLoss(t, func(t *testing.T, c lossCase) {
		traits := c.loss.Traits()
		if traits.Curvature == nil {
			return
		}
		rapid.Check(t, func(t *rapid.T) {
			y, z := c.target(t), rapid.Float64Range(-10, 10).Draw(t, "z")
			const h = 1e-5
			want := (c.loss.Subgradient(z+h, y) - c.loss.Subgradient(z-h, y)) / (2 * h)
			got := traits.Curvature(-c.loss.Subgradient(z, y), y)
			expect.Must(t, near(got, want, 1e-8) && (!traits.Quadratic || got == c.curvature),
				"the second derivative at z = %g, y = %g is %g, differences give %g", z, y, got, want)
		})
	})
}

// mu and L hold between any two points, and are tight: a larger mu or a smaller L would not
// hold.
func TestSmoothnessAndLipschitzConstants(t *testing.T) {
	everyLoss(t, func(t *testing.T, c lossCase) {
		mu, lipschitz := c.loss.Traits().Smoothness, c.loss.Traits().Lipschitz
		want := 1 / c.curvature
		expect.That(t, mu == want, "mu = %g, want %g", mu, want)
		rapid.Check(t, func(t *rapid.T) {
			y := c.target(t)
			u := rapid.Float64Range(-10, 10).Draw(t, "u")
			v := u + rapid.OneOf(rapid.Float64Range(-10, 10), rapid.Float64Range(-1e-3, 1e-3)).Draw(t, "v - u")
			if slopes := math.Abs(c.loss.Subgradient(u, y) - c.loss.Subgradient(v, y)); mu > 0 &&
				slopes > math.Abs(u-v)/mu*(1+1e-9)+1e-13 {
				t.Fatalf("the slope changes by %g from %g to %g (y = %g), more than 1/mu times their distance", slopes,
					u, v, y)
			}
			if rise := math.Abs(c.loss.Value(u, y) - c.loss.Value(v, y)); rise > lipschitz*math.Abs(u-v)*(1+1e-9)+
				1e-13 {
				t.Fatalf("the loss changes by %g from %g to %g (y = %g), more than L times their distance", rise, u, v,
					y)
			}
		})
		const h = 1e-4
		steepest, sharpest := 0.0, 0.0
		for z := -1000.0; z <= 1000; z += 0.125 {
			slope := c.loss.Subgradient(z, 1)
			steepest = math.Max(steepest, math.Abs(slope))
			sharpest = math.Max(sharpest, math.Abs(c.loss.Subgradient(z-h, 1)-slope)/h)
		}
		expect.That(t, mu <= 0 || sharpest >= 0.999/mu, "the second derivative gets to %g, 1/mu is %g", sharpest, 1/mu)
		expect.That(t, mu != 0 || sharpest >= 0.999*lipschitz/h,
			"the slope changes by %g at most between points %g apart: a loss without mu has a kink", sharpest*h, h)
		if math.IsInf(lipschitz, 1) {
			expect.That(t, steepest >= 900, "the slope gets to %g only, but L is infinite", steepest)
		} else if steepest < 0.999*lipschitz {
			t.Errorf("the slope gets to %g, L is %g", steepest, lipschitz)
		}
	})
}

// The lists of regression and smooth losses are complete, and losses allocate nothing.
func TestLossNames(t *testing.T) {
	var regression, smooth []string
	for _, name := range ScoreLosses() {
		plain := plainOf(t, name)
		if plain.low < 0 {
			regression = append(regression, name)
		}
		if !math.IsInf(plain.curvature(0.5), 1) {
			smooth = append(smooth, name)
		}
	}
	if diff := cmp.Diff(regression, RegressionLosses()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(smooth, SmoothLosses()); diff != "" {
		t.Error(diff)
	}
	expect.That(t, len(regression) >= 2 && len(smooth) >= 4 && len(LossNames()) >= 7,
		"losses %q, of real targets %q, smooth %q", LossNames(), regression, smooth)
	for _, name := range ScoreLosses() {
		cfg := Defaults()
		cfg.Loss = name
		loss, _ := lossOf(&cfg)
		if allocs := testing.AllocsPerRun(10, func() {
			b := 0.0
			for _, z := range []float64{-3, -1, 0, 0.5, 1, 7} {
				b = loss.Step(b, 1, z, 2)
				sink += b + loss.Value(z, 1) + loss.Subgradient(z, 1) + loss.Conjugate(b, 1)
			}
		}); allocs != 0 {
			t.Errorf("%s: %g allocations, want 0", name, allocs)
		}
	}
}

var sink float64

func BenchmarkStep(b *testing.B) {
	for _, c := range lossCases(b) {
		b.Run(fmt.Sprint(c.name), func(b *testing.B) {
			a := c.point(0.3, 1)
			for i := range b.N {
				sink += c.loss.Step(a, 1, float64(i%16)/4-2, 0.7)
			}
		})
	}
}

// Clipping by branches has the bits of min and max, also for both zeros, infinities and NaN.
func TestClipIsMinOfMax(t *testing.T) {
	values := []float64{math.Inf(-1), -2, -1, -0x1p-1074, math.Copysign(0, -1), 0, 0x1p-1074, 0.5, 1, 1.5, math.Inf(1),
		math.NaN()}
	for _, bounds := range [][2]float64{{0, 1}, {-1, 1}, {0, math.Inf(1)}} {
		for _, b := range values {
			got, want := clip(b, bounds[0], bounds[1]), min(bounds[1], max(bounds[0], b))
			expect.That(t, math.Float64bits(got) == math.Float64bits(want),
				"clip(%g, %g, %g) = %g, want %g", b, bounds[0], bounds[1], got, want)
		}
	}
}

// loss(z) + loss*(-a) + a z >= 0, with equality where -a is a subgradient at z
// (Fenchel and Young): the terms of every duality gap.
func TestFenchelYoung(t *testing.T) {
	everyLoss(t, func(t *testing.T, c lossCase) {
		rapid.Check(t, func(t *rapid.T) {
			y := c.target(t)
			a := c.dual(t, y)
			z := rapid.Float64Range(-30, 30).Draw(t, "z")
			term := func(a float64) float64 {
				return c.loss.Value(z, y) + c.loss.Conjugate(a, y) + a*z
			}
			if got := term(a); got < -1e-12*(1+math.Abs(a*z)) {
				t.Fatalf("a = %g, z = %g, y = %g: %g, want at least 0", a, z, y, got)
			}
			g := c.loss.Subgradient(z, y)
			if got := term(-g); !(math.Abs(got) <= 1e-11*(1+math.Abs(g*z))) {
				t.Fatalf("at the subgradient %g of z = %g, y = %g: %g, want 0", g, z, y, got)
			}
		})
	})
}
