//go:build amd64 && !purego

package kernel

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// avx2 reports whether processor and system have the vectors that the kernels
// need. Tests clear it to reach the scalar ones.
var avx2 = cpu.X86.HasAVX2

// avx512 reports whether they have those of 64 bytes, too. Kernels of batches use them.
var avx512 = cpu.X86.HasAVX2 && cpu.X86.HasAVX512F

func dot(x, y []float64) float64 {
	sameLength(len(x), len(y))
	if len(x) <= lanes {
		return shortDot(x, y)
	}
	if !avx2 {
		return scalarDot(x, y)
	}
	return dotAVX2(unsafe.SliceData(x), unsafe.SliceData(y), len(x))
}

func dotAhead(x, u []float64, near, far *float64) float64 {
	sameLength(len(x), len(u))
	if len(x) <= lanes {
		return shortDot(x, u)
	}
	if !avx2 {
		return scalarDot(x, u)
	}
	if near == nil { // fetching x again costs less than asking
		near = unsafe.SliceData(x)
	}
	return dotAheadAVX2(unsafe.SliceData(x), unsafe.SliceData(u), len(x), near, far)
}

func dots(x []float64, stride int, rows []int32, u, z []float64) {
	if !avx2 || len(z) == 0 {
		scalarDots(x, stride, rows, u, z)
		return
	}
	dotsAVX2(unsafe.SliceData(x), stride, unsafe.SliceData(rows), len(z),
		unsafe.SliceData(u), len(u), unsafe.SliceData(z))
}

func axpy(a float64, x, y []float64) {
	if !avx2 {
		scalarAxpy(a, x, y)
		return
	}
	sameLength(len(x), len(y))
	axpyAVX2(a, unsafe.SliceData(x), unsafe.SliceData(y), len(x))
}

func scale(a float64, x, y []float64) {
	if !avx2 {
		scalarScale(a, x, y)
		return
	}
	sameLength(len(x), len(y))
	scaleAVX2(a, unsafe.SliceData(x), unsafe.SliceData(y), len(x))
}

func rotate(c, s float64, x, y []float64) {
	if !avx2 {
		scalarRotate(c, s, x, y)
		return
	}
	sameLength(len(x), len(y))
	rotateAVX2(c, s, unsafe.SliceData(x), unsafe.SliceData(y), len(x))
}

func descend(keep, pull, rate float64, u, from, by []float64) {
	if !avx2 {
		scalarDescend(keep, pull, rate, u, from, by)
		return
	}
	sameLength(len(u), len(from))
	sameLength(len(u), len(by))
	descendAVX2(keep, pull, rate, unsafe.SliceData(u), unsafe.SliceData(from), unsafe.SliceData(by), len(u))
}

func round32(x []float64, y []float32) {
	if !avx2 {
		scalarRound32(x, y)
		return
	}
	sameLength(len(x), len(y))
	round32AVX2(unsafe.SliceData(x), unsafe.SliceData(y), len(x))
}

func axpyDot(a float64, x, u, next []float64, near, far *float64) float64 {
	sameLength(len(x), len(u))
	sameLength(len(next), len(u))
	if len(u) <= lanes {
		return shortAxpyDot(a, x, u, next)
	}
	if !avx2 {
		return scalarAxpyDot(a, x, u, next)
	}
	if near == nil {
		near = unsafe.SliceData(next)
	}
	return axpyDotAVX2(a, unsafe.SliceData(x), unsafe.SliceData(u), unsafe.SliceData(next), len(u), near, far)
}

func dot32(x []float32, u []float64) float64 {
	sameLength(len(x), len(u))
	if len(x) <= lanes {
		return shortDot(x, u)
	}
	if !avx2 {
		return scalarDot(x, u)
	}
	return dot32AVX2(unsafe.SliceData(x), unsafe.SliceData(u), len(x))
}

func dotAhead32(x []float32, u []float64, near, far *float32) float64 {
	sameLength(len(x), len(u))
	if len(x) <= lanes {
		return shortDot(x, u)
	}
	if !avx2 {
		return scalarDot(x, u)
	}
	if near == nil {
		near = unsafe.SliceData(x)
	}
	return dotAhead32AVX2(unsafe.SliceData(x), unsafe.SliceData(u), len(x), near, far)
}

func dots32(x []float32, stride int, rows []int32, u, z []float64) {
	if !avx2 || len(z) == 0 {
		scalarDots(x, stride, rows, u, z)
		return
	}
	dots32AVX2(unsafe.SliceData(x), stride, unsafe.SliceData(rows), len(z),
		unsafe.SliceData(u), len(u), unsafe.SliceData(z))
}

func axpy32(a float64, x []float32, u []float64) {
	if !avx2 {
		scalarAxpy(a, x, u)
		return
	}
	sameLength(len(x), len(u))
	axpy32AVX2(a, unsafe.SliceData(x), unsafe.SliceData(u), len(x))
}

func scale32(a float64, x []float32, y []float64) {
	if !avx2 {
		scalarScale(a, x, y)
		return
	}
	sameLength(len(x), len(y))
	scale32AVX2(a, unsafe.SliceData(x), unsafe.SliceData(y), len(x))
}

func axpyDot32(a float64, x []float32, u []float64, next []float32, near, far *float32) float64 {
	sameLength(len(x), len(u))
	sameLength(len(next), len(u))
	if len(u) <= lanes {
		return shortAxpyDot(a, x, u, next)
	}
	if !avx2 {
		return scalarAxpyDot(a, x, u, next)
	}
	if near == nil {
		near = unsafe.SliceData(next)
	}
	return axpyDot32AVX2(a, unsafe.SliceData(x), unsafe.SliceData(u), unsafe.SliceData(next), len(u), near, far)
}
