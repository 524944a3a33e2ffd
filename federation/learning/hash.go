package learning

import (
	"math"

	"fedsim/data"
	"fedsim/mtl"
)

// HashWeights returns the 64-bit FNV-1a hash of the bits of the stored rows of W (see
// mtl.Problem.StoredRows), row by row without padding. All NaN count as one: processors
// differ in which they make.
func HashWeights(w *data.Matrix, rows int) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	var space []float64
	for client := range rows {
		for _, x := range mtl.ReadRow(w, client, 0, &space) {
			if math.IsNaN(x) {
				x = math.NaN()
			}
			bits := math.Float64bits(x)
			for range 8 {
				h = (h ^ bits&0xff) * prime
				bits >>= 8
			}
		}
	}
	return h
}
