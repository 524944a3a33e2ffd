// Package hugepage asks the system to hold large arrays in huge pages: walks over
// rows in an order that no cache foresees then miss the translation of addresses
// far less often. Where there are none it does nothing, silently: they change how
// long work takes, and nothing else.
//
// It must not know what the arrays hold.
package hugepage

import "unsafe"

// size of a huge page: that of amd64, and of arm64 with small pages of 4 KB.
const size = 2 << 20

// Prefer asks for huge pages under the values of x as far as x covers whole ones.
// They come when values are first written, so ask before. It is for arrays that
// live long: the wish stays with their addresses.
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
