package hugepage

import (
	"testing"
	"unsafe"

	"fedsim/internal/tools/expect"
)

// Arrays of any length and start are accepted and keep their values.
func TestPreferLeavesValuesAlone(t *testing.T) {
	x := make([]float64, 3*size/8+5)
	for i := range x {
		x[i] = float64(i)
	}
	Prefer(x)
	Prefer(x[1 : len(x)-1])
	Prefer(x[:10])
	Prefer(x[:0])
	Prefer([]float32(nil))
	for i := range x {
		expect.Must(t, x[i] == float64(i), "x[%d] = %g", i, x[i])
	}
}

// Only whole pages inside the array are covered.
func TestOnlyWholePages(t *testing.T) {
	x := make([]byte, 5*size)
	first := -uintptr(unsafe.Pointer(&x[0])) % size
	for _, c := range []struct{ from, bytes, pages uintptr }{
		{first, size, 1}, {first, size - 4, 0}, {first, 2*size + 4, 2}, {first + 4, 2*size - 4, 1},
		{first + 4, 2*size - 8, 0}, {first + 4, size, 0}, {first, 4 * size, 4}, {0, 0, 0},
	} {
		values := unsafe.Slice((*float32)(unsafe.Pointer(&x[c.from])), c.bytes/4)
		pages := whole(values)
		expect.That(t, uintptr(len(pages)) == c.pages*size,
			"%d bytes from %d: %d bytes, want %d pages", c.bytes, c.from-first, len(pages), c.pages)
		expect.That(t, len(pages) == 0 || uintptr(unsafe.Pointer(&pages[0]))%size == 0,
			"%d bytes from %d: the result does not start at a page", c.bytes, c.from-first)
	}
}
