//go:build amd64 && !purego

package kernel

// The micro-kernel keeps a tile of sums in registers while it takes depth steps
// along the inner index: the panel of b that these need is 16 KB and stays in
// the first cache while all rows of a pass by.
const (
	tileRows = 6
	tileCols = 8
	depth    = 256
)

// panel is a block of b eight columns wide, its rows next to each other.
type panel [depth * tileCols]float64

func gemm(m, n, k int, a []float64, lda int, b []float64, ldb int, c []float64, ldc int) {
	if !avx2 {
		scalarGemm(m, n, k, a, lda, b, ldb, c, ldc)
		return
	}
	for i := range m {
		clear(c[i*ldc : i*ldc+n])
	}
	var block panel
	var rest [tileRows * depth]float64 // the last rows of a, when they fill no tile, above zeros
	full := m - m%tileRows
	for p := 0; p < k; p += depth {
		d := min(depth, k-p)
		for i := full; i < m; i++ {
			copy(rest[(i-full)*depth:][:d], a[i*lda+p:])
		}
		for j := 0; j < n; j += tileCols {
			w := min(tileCols, n-j)
			block.pack(b[p*ldb+j:], ldb, d, w)
			for i := 0; i < full; i += tileRows {
				block.multiply(d, &a[i*lda+p], lda, c[i*ldc+j:], ldc, tileRows, w)
			}
			if full < m {
				block.multiply(d, &rest[0], depth, c[full*ldc+j:], ldc, m-full, w)
			}
		}
	}
}

// pack takes d rows of w columns, padded with zeros to eight.
func (pa *panel) pack(src []float64, stride, d, w int) {
	for p := range d {
		row := pa[p*tileCols:][:tileCols]
		if w == tileCols {
			*(*[tileCols]float64)(row) = [tileCols]float64(src[p*stride:])
			continue
		}
		clear(row[copy(row, src[p*stride:][:w]):])
	}
}

// multiply adds the product of six rows of a and the panel to c, of which there
// are but so many rows and columns.
func (pa *panel) multiply(d int, a *float64, lda int, c []float64, ldc, rows, cols int) {
	if rows == tileRows && cols == tileCols {
		gemmTileAVX2(d, a, lda, &pa[0], &c[0], ldc)
		return
	}
	var tile [tileRows * tileCols]float64
	for i := range rows {
		copy(tile[i*tileCols:][:cols], c[i*ldc:])
	}
	gemmTileAVX2(d, a, lda, &pa[0], &tile[0], tileCols)
	for i := range rows {
		copy(c[i*ldc:][:cols], tile[i*tileCols:])
	}
}
