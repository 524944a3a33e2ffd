//go:build amd64 && !purego

package kernel

import (
	"unsafe"

	"fedsim/internal/tools/rng"
)

// lead is how many positions the kernels draw ahead of the step.
const lead = 4

func (s *Ascent) walk(order []int32, draws *rng.Stream, from, to int) (moved int) {
	if !avx2 || s.Cols == 0 {
		return s.scalarWalk(order, draws, from, to)
	}
	draws.Draw(order, from, min(from+lead, to))
	for leg := s.leg(); from < to; from += leg {
		m := s.vectors(order, draws, from, min(from+leg, to), to)
		if m < 0 {
			panic("kernel: the order has a row that is not there")
		}
		moved += m
	}
	return moved
}

// leg returns how many steps to take at a time. Steps cannot be interrupted, so the
// garbage collector waits for them, some tens of microseconds.
func (s *Ascent) leg() int { return max(8, 1<<15/(s.Cols+64)) }

// vectors takes the steps up to position to of the order, of which all positions
// below until are wanted.
func (s *Ascent) vectors(order []int32, draws *rng.Stream, from, to, until int) int {
	state := (*uint64)(unsafe.Pointer(draws)) // a stream is its two words
	p, rows, count, step := unsafe.SliceData(order), len(s.A), len(order), &s.Step
	u, y, norms, a := unsafe.SliceData(s.U), unsafe.SliceData(s.Y), unsafe.SliceData(s.Norms), unsafe.SliceData(s.A)
	if s.X != nil {
		kernel := ascentAVX2
		if s.Cols <= lanes {
			kernel = shortAscentAVX2
		}
		return kernel(unsafe.SliceData(s.X), rows, 8*s.Stride, s.Cols, u, p, count, from, to, until, state, s.Far,
			y, norms, a, s.Scale, s.Least, step.Shrink, step.Extra, step.Low, step.High)
	}
	kernel := ascent32AVX2
	if s.Cols <= lanes {
		kernel = shortAscent32AVX2
	}
	return kernel(unsafe.SliceData(s.X32), rows, 4*s.Stride, s.Cols, u, p, count, from, to, until, state, s.Far,
		y, norms, a, s.Scale, s.Least, step.Shrink, step.Extra, step.Low, step.High)
}
