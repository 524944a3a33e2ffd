package kernel

import (
	"math"

	"fedsim/internal/tools/rng"
)

// ClippedStep is a step along a coordinate a that has a closed form. With the
// sum z, the target y and the curvature q of the coordinate it goes to
//
//	b = clip(a + ((y - z) - Shrink a)/(q + Extra), Low, High)
//
// where the bounds are [-High, -Low] when y has a minus sign.
type ClippedStep struct{ Shrink, Extra, Low, High float64 }

// to returns b.
func (s *ClippedStep) to(a, y, z, q float64) float64 {
	b := a + ((y-z)-float64(s.Shrink*a))/(q+s.Extra)
	mirrored := math.Signbit(y)
	bound := b
	if mirrored {
		bound = -b
	}
	switch {
	case bound <= s.Low:
		bound = s.Low
	case bound >= s.High:
		bound = s.High
	default:
		return b
	}
	if mirrored {
		return -bound
	}
	return bound
}

// Ascent is coordinate ascent by clipped steps. Row i of the matrix, x_i, has the
// Cols elements from X[i*Stride] on, or from X32[i*Stride] on when X is nil; Y,
// Norms and A have an element for each row, U one for each column. The step on
// row i is
//
//	z = x_i . U,  q = max(Scale Norms[i], Least),  b as Step has it,
//	U += Scale (b - A[i]) x_i,  A[i] = b,
//
// U being left alone when its factor is 0.
//
// The sum z is Dot's, but for the sign of a zero, which does not matter to b.
type Ascent struct {
	X              []float64
	X32            []float32
	Stride, Cols   int
	Y, Norms, A, U []float64
	Scale, Least   float64
	Step           ClippedStep
	Far            bool // fetch rows four steps ahead: for more rows than a cache holds
}

// Walk draws the positions [from, to) of an order of rows as draws.Draw does, takes a
// step on each of these rows, and returns how many coordinates moved. Drawing overlaps
// with other rows' work and takes no extra time. Walk panics if the sizes of the arrays
// do not match, or at a row that does not exist. It allocates nothing.
func (s *Ascent) Walk(order []int32, draws *rng.Stream, from, to int) (moved int) {
	rows := len(s.A)
	if len(s.Y) != rows || len(s.Norms) != rows || len(s.U) != s.Cols || from < 0 || to > len(order) {
		panic("kernel: the arrays of an ascent do not fit each other")
	}
	if from >= to {
		return 0
	}
	if s.X != nil {
		fits(rows, s.Cols, s.X, s.Stride)
	} else {
		fits(rows, s.Cols, s.X32, s.Stride)
	}
	return s.walk(order, draws, from, to)
}

// scalarAscent is Walk on the rows of x.
func scalarAscent[T element](s *Ascent, x []T, order []int32, draws *rng.Stream, from, to int) (moved int) {
	draws.Draw(order, from, to)
	row := func(i int) []T { return x[i*s.Stride:][:s.Cols] }
	for _, i := range order[from:to] {
		a, q := s.A[i], float64(s.Scale*s.Norms[i])
		if q < s.Least {
			q = s.Least
		}
		b := s.Step.to(a, s.Y[i], scalarDot(row(int(i)), s.U), q)
		if delta := float64(s.Scale * (b - a)); delta != 0 {
			scalarAxpy(delta, row(int(i)), s.U)
		}
		if b != a {
			s.A[i] = b
			moved++
		}
	}
	return moved
}

// scalarWalk is Walk.
func (s *Ascent) scalarWalk(order []int32, draws *rng.Stream, from, to int) int {
	if s.X != nil {
		return scalarAscent(s, s.X, order, draws, from, to)
	}
	return scalarAscent(s, s.X32, order, draws, from, to)
}
