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
func (as *Ascent) Walk(order []int32, draws *rng.Stream, from, to int) (moved int) {
	rows := len(as.A)
	if len(as.Y) != rows || len(as.Norms) != rows || len(as.U) != as.Cols || from < 0 || to > len(order) {
		panic("kernel: the arrays of an ascent do not fit each other")
	}
	if from >= to {
		return 0
	}
	if as.X != nil {
		fits(rows, as.Cols, as.X, as.Stride)
	} else {
		fits(rows, as.Cols, as.X32, as.Stride)
	}
	return as.walk(order, draws, from, to)
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
func (as *Ascent) scalarWalk(order []int32, draws *rng.Stream, from, to int) int {
	if as.X != nil {
		return scalarAscent(as, as.X, order, draws, from, to)
	}
	return scalarAscent(as, as.X32, order, draws, from, to)
}
