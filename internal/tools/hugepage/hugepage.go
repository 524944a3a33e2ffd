// Package hugepage asks the operating system for huge pages for large arrays. Random
// access to rows then causes far fewer misses in address translation. On systems without
// huge pages it does nothing. Only speed depends on it, never a result.
//
// It must not know the contents of the arrays.
package hugepage

import "unsafe"

// size of a huge page: that of amd64, and of arm64 with small pages of 4 KB.
const size = 2 << 20

// Prefer asks for huge pages for the whole pages inside x. The system assigns them at
// the first write, so call Prefer before. It is for long-lived arrays: the setting stays
// with their addresses.
func Prefer[T float32 | float64](x []T) {
	if pages := whole(x); len(pages) > 0 {
		prefer(pages)
	}
}

// whole returns the whole huge pages inside of x.
func whole[T float32 | float64](x []T) []byte {
	start := unsafe.Pointer(unsafe.SliceData(x))
	bytes := uintptr(len(x)) * unsafe.Sizeof(*new(T))
	before := -uintptr(start) % size // up to the first boundary
	if bytes < before+size {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Add(start, before)), (bytes-before)/size*size)
}
