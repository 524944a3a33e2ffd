//go:build amd64 && !purego

package kernel

import (
	"unsafe"

	"fedsim/internal/tools/rng"
)

// lead is how many positions the kernels draw ahead of the step.
const lead = 4

func (as *Ascent) walk(order []int32, draws *rng.Stream, from, to int) (moved int) {
	if !avx2 || as.Cols == 0 {
		return as.scalarWalk(order, draws, from, to)
	}
	draws.Draw(order, from, min(from+lead, to))
	for leg := as.leg(); from < to; from += leg {
		m := as.vectors(order, draws, from, min(from+leg, to), to)
		if m < 0 {
			panic("kernel: the order has a row that is not there")
		}
		moved += m
	}
	return moved
}

// leg returns how many steps to take at a time. Steps cannot be interrupted, so the
// garbage collector waits for them, some tens of microseconds.
func (as *Ascent) leg() int { return max(8, 1<<15/(as.Cols+64)) }

// vectors takes the steps up to position to of the order, of which all positions
// below until are wanted.
func (as *Ascent) vectors(order []int32, draws *rng.Stream, from, to, until int) int {
	state := (*uint64)(unsafe.Pointer(draws)) // a stream is its two words
	p, rows, count, step := unsafe.SliceData(order), len(as.A), len(order), &as.Step
	u, y, norms, a := unsafe.SliceData(as.U), unsafe.SliceData(as.Y), unsafe.SliceData(as.Norms), unsafe.SliceData(as.A)
	if as.X != nil {
		kernel := ascentAVX2
		if as.Cols <= lanes {
			kernel = shortAscentAVX2
		}
		return kernel(unsafe.SliceData(as.X), rows, 8*as.Stride, as.Cols, u, p, count, from, to, until, state, as.Far,
			y, norms, a, as.Scale, as.Least, step.Shrink, step.Extra, step.Low, step.High)
	}
	kernel := ascent32AVX2
	if as.Cols <= lanes {
		kernel = shortAscent32AVX2
	}
	return kernel(unsafe.SliceData(as.X32), rows, 4*as.Stride, as.Cols, u, p, count, from, to, until, state, as.Far,
		y, norms, a, as.Scale, as.Least, step.Shrink, step.Extra, step.Low, step.High)
}
