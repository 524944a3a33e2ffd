package kernel

import (
	"syscall"
	"testing"
	"unsafe"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// guarded returns memory of n bytes that ends (or starts) where a page begins
// that may neither be read nor written.
func guarded(t *testing.T, n int, atEnd bool) unsafe.Pointer {
	t.Helper()
	page := syscall.Getpagesize()
	size := (n + page - 1) / page * page
	m := expect.Value(syscall.Mmap(-1, 0, size+2*page, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE))(t)
	t.Cleanup(func() {
		err := syscall.Munmap(m)
		expect.That(t, err == nil, "%v", err)
	})
	if size > 0 {
		expect.NoError(t, syscall.Mprotect(m[page:page+size], syscall.PROT_READ|syscall.PROT_WRITE))
	}
	if atEnd {
		return unsafe.Pointer(&m[page+size-n])
	}
	return unsafe.Pointer(&m[page])
}

// A kernel that reads or writes one element too many hits a page it may not.
func TestNothingOutsideIsTouched(t *testing.T) {
	s := rng.New(6, rng.Synthetic, 0, 0)
	for _, atEnd := range []bool{false, true} {
		// The same memory for all lengths, approached from the guarded side.
		const most = 600
		var arrays [3][]float64
		for i := range arrays {
			arrays[i] = unsafe.Slice((*float64)(guarded(t, 8*most, atEnd)), most)
			copy(arrays[i], numbers(&s, most, "plain"))
		}
		var narrow [2][]float32
		for i := range narrow {
			narrow[i] = unsafe.Slice((*float32)(guarded(t, 4*most, atEnd)), most)
		}
		for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 9, 11, 13, 14, 15, 16, 17, 18, 19, 23, 27, 30, 31, 47, 100, 561} {
			side := func(x []float64) []float64 {
				if atEnd {
					return x[most-n:]
				}
				return x[:n]
			}
			side32 := func(x []float32) []float32 {
				if atEnd {
					return x[most-n:]
				}
				return x[:n]
			}
			x, u, next := side(arrays[0]), side(arrays[1]), side(arrays[2])
			x32, next32 := side32(narrow[0]), side32(narrow[1])
			near, far := unsafe.SliceData(next), unsafe.SliceData(x)
			Dot(x, u)
			Axpy(0.5, x, u)
			Scale(0.5, x, next)
			Rotate(0.6, 0.8, next, u)
			Descend(0.5, 0.5, 0.5, u, x, next)
			DotAhead(x, u, near, far)
			AxpyDot(0.5, x, u, next, near, far)
			Dot32(x32, u)
			Dots(x, n, u, next[:min(n, 1)])
			Dots32(x32, n, u, next[:min(n, 1)])
			Axpy32(0.5, x32, u)
			Scale32(0.5, x32, next)
			Round32(x, next32)
			DotAhead32(x32, u, unsafe.SliceData(next32), nil)
			AxpyDot32(0.5, x32, u, next32, unsafe.SliceData(x32), nil)

			draws := rng.New(6, rng.Solve, n, 0)
			ascent := Ascent{
				X: x, Stride: n, Cols: n, Y: []float64{1}, Norms: []float64{1}, A: []float64{0}, U: u,
				Scale: 1, Step: ClippedStep{High: 1}, Far: true,
			}
			ascent.Walk([]int32{0}, &draws, 0, 1)
			ascent.X, ascent.X32, ascent.A[0] = nil, x32, 0
			ascent.Walk([]int32{0}, &draws, 0, 1)
		}
		for _, size := range [][3]int{{1, 1, 1}, {2, 3, 4}, {3, 8, 5}, {4, 9, 6}, {5, 30, 7}, {3, 47, 11}} {
			rows, cols, outputs := size[0], size[1], size[2]
			index := []int32{0, int32(rows - 1), 0}
			end := func(x []float64, n int) []float64 {
				if atEnd {
					return x[most-n:]
				}
				return x[:n]
			}
			batch := Batch{X: end(arrays[0], rows*cols), Stride: cols, Cols: cols, Index: index}
			w, r := end(arrays[1], outputs*cols), end(arrays[2], len(index)*outputs)
			batch.Scores(outputs, w, cols, r, outputs)
			batch.Combine(outputs, r, outputs, w, cols, rows > 3)
			batch.X, batch.X32 = nil, narrow[0][:rows*cols]
			if atEnd {
				batch.X32 = narrow[0][most-rows*cols:]
			}
			batch.Scores(outputs, w, cols, r, outputs)
			batch.Combine(outputs, r, outputs, w, cols, rows > 3)
		}
		for _, size := range [][3]int{{1, 1, 1}, {5, 7, 11}, {6, 8, 12}, {7, 15, 13}, {20, 20, 20}} {
			m, n, k := size[0], size[1], size[2]
			end := func(x []float64, n int) []float64 {
				if atEnd {
					return x[most-n:]
				}
				return x[:n]
			}
			Gemm(m, n, k, end(arrays[0], m*k), k, end(arrays[1], k*n), n, end(arrays[2], m*n), n)
		}
	}
}
