//go:build amd64 && !purego

package kernel

// A tile has two or four rows, or eight or sixteen columns, of up to six outputs. A part of w or of
// the rows that several tiles read stays in the first cache.
const (
	tileOutputs  = 6
	batchRows    = 32  // rows whose lanes are held at a time
	batchDepth   = 400 // columns of a tile of scores; a multiple of scoreLanes
	mostColumns  = 16  // of a tile
	batchColumns = 64  // columns whose sums take turns; a multiple of mostColumns
)

// batchSpace is the scratch space of a batch. The tiles are called through variables, so
// that arrays on the stack would escape.
type batchSpace struct {
	lanes  [batchRows * tileOutputs * scoreLanes]float64
	tile   [tileOutputs * mostColumns]float64
	rest   [batchRows * mostColumns]float64
	rest32 [batchRows * mostColumns]float32
}

// tiles are the kernels of a batch by the number of outputs.
type tiles[T element] struct {
	outputs int // of the largest tile of scores
	scores  [tileOutputs + 1]func(blocks int, x, y *T, w *float64, ldw int, lanes *float64)
	// four are scores of four rows; nil: there are none.
	four    [tileOutputs + 1]func(blocks int, x, y, u, v *T, w *float64, ldw int, lanes *float64)
	columns int // of the tiles of combine
	combine [tileOutputs + 1]func(count int, x *T, stride int, index *int32, r *float64, ldr int, g *float64,
		ldg, add int)
}

// Pairs and fours are kernels of scores, and sums are those of combine.
type (
	pairs[T element] = [tileOutputs + 1]func(int, *T, *T, *float64, int, *float64)
	fours[T element] = [tileOutputs + 1]func(int, *T, *T, *T, *T, *float64, int, *float64)
	sums[T element]  = [tileOutputs + 1]func(int, *T, int, *int32, *float64, int, *float64, int, int)
)

var (
	tiles64 = tiles[float64]{
		3, pairs[float64]{1: scores1xAVX2, scores2xAVX2, scores3xAVX2}, fours[float64]{},
		8, sums[float64]{1: combine1xAVX2, combine2xAVX2, combine3xAVX2, combine4xAVX2, combine5xAVX2, combine6xAVX2},
	}
	tiles32 = tiles[float32]{
		3, pairs[float32]{1: scores1x32AVX2, scores2x32AVX2, scores3x32AVX2}, fours[float32]{},
		8, sums[float32]{1: combine1x32AVX2, combine2x32AVX2, combine3x32AVX2, combine4x32AVX2, combine5x32AVX2,
			combine6x32AVX2},
	}
	// wide64 and wide32 give the same bits with vectors of 64 bytes.
	wide64 = tiles[float64]{
		6,
		pairs[float64]{1: scores1xAVX512, scores2xAVX512, scores3xAVX512, scores4xAVX512, scores5xAVX512,
			scores6xAVX512},
		fours[float64]{1: scoresOfFour1xAVX512, scoresOfFour2xAVX512, scoresOfFour3xAVX512, scoresOfFour4xAVX512,
			scoresOfFour5xAVX512, scoresOfFour6xAVX512},
		16, sums[float64]{1: combine1xAVX512, combine2xAVX512, combine3xAVX512, combine4xAVX512, combine5xAVX512,
			combine6xAVX512},
	}
	wide32 = tiles[float32]{
		6, pairs[float32]{1: scores1x32AVX512, scores2x32AVX512, scores3x32AVX512, scores4x32AVX512, scores5x32AVX512,
			scores6x32AVX512},
		fours[float32]{1: scoresOfFour1x32AVX512, scoresOfFour2x32AVX512, scoresOfFour3x32AVX512,
			scoresOfFour4x32AVX512, scoresOfFour5x32AVX512, scoresOfFour6x32AVX512},
		16,
		sums[float32]{1: combine1x32AVX512, combine2x32AVX512, combine3x32AVX512, combine4x32AVX512, combine5x32AVX512,
			combine6x32AVX512},
	}
	// inOrder are the indices of rows that lie next to each other.
	inOrder = func() (index [batchRows]int32) {
		for i := range index {
			index[i] = int32(i)
		}
		return index
	}()
)

// widest returns the kernels with the widest vectors that processor and system have.
func widest[T element](narrow, wide *tiles[T]) *tiles[T] {
	if avx512 {
		return wide
	}
	return narrow
}

func (b *Batch) scores(outputs int, w []float64, ldw int, s []float64, lds int) {
	switch {
	case !avx2 || b.Cols < scoreLanes:
		b.scalarScores(outputs, w, ldw, s, lds)
	case b.X != nil:
		scoresByTile(b, widest(&tiles64, &wide64), b.X, outputs, w, ldw, s, lds)
	default:
		scoresByTile(b, widest(&tiles32, &wide32), b.X32, outputs, w, ldw, s, lds)
	}
}

func (b *Batch) combine(outputs int, r []float64, ldr int, g []float64, ldg int, add bool) {
	switch {
	case !avx2 || b.Cols == 0:
		b.scalarCombine(outputs, r, ldr, g, ldg, add)
	case b.X != nil:
		combineByTile(b, widest(&tiles64, &wide64), b.X, b.space.rest[:], outputs, r, ldr, g, ldg, add)
	default:
		combineByTile(b, widest(&tiles32, &wide32), b.X32, b.space.rest32[:], outputs, r, ldr, g, ldg, add)
	}
}

// parts returns how many outputs the tiles after the first c of them have: about the same, and at most so
// many.
func parts(c, outputs, most int) int {
	left := outputs - c
	tiles := (left + most - 1) / most
	return (left + tiles - 1) / tiles
}

func scoresByTile[T element](b *Batch, t *tiles[T], x []T, outputs int, w []float64, ldw int, s []float64, lds int) {
	blocks := b.Cols / scoreLanes
	sections := (b.Cols + batchDepth - 1) / batchDepth
	depth := (blocks + sections - 1) / sections // in blocks
	lanes := b.space.lanes[:]
	row := func(i int) []T { return x[int(b.Index[i])*b.Stride:][:b.Cols] }
	for first := 0; first < len(b.Index); first += batchRows {
		end := min(first+batchRows, len(b.Index))
		for c, n := 0, 0; c < outputs; c += n {
			n = parts(c, outputs, t.outputs)
			of := func(i, o int) []float64 { return lanes[((i-first)*n+o)*scoreLanes:] }
			clear(lanes[:(end-first)*n*scoreLanes])
			for p := 0; p < blocks; p += depth {
				at := p * scoreLanes
				for i := first; i < end; i += 2 {
					count, x, y := min(depth, blocks-p), &row(i)[at], &row(min(i+1, end-1))[at]
					if t.four[n] == nil || i+2 >= end {
						t.scores[n](count, x, y, &w[c*ldw+at], ldw, &of(i, 0)[0])
						continue
					}
					t.four[n](count, x, y, &row(i + 2)[at], &row(min(i+3, end-1))[at], &w[c*ldw+at], ldw, &of(i, 0)[0])
					i += 2
				}
			}
			for i := first; i < end; i++ {
				rest := row(i)[blocks*scoreLanes:]
				for o := range n {
					sums := (*[scoreLanes]float64)(of(i, o))
					addRest(sums[:], rest, w[(c+o)*ldw+blocks*scoreLanes:])
					s[i*lds+c+o] = sumOfLanes(sums)
				}
			}
		}
	}
}

func combineByTile[T element](b *Batch, t *tiles[T], x, rest []T, outputs int, r []float64, ldr int, g []float64,
	ldg int, add bool) {
	full := b.Cols - b.Cols%t.columns
	for first := 0; first < len(b.Index); first += batchRows {
		count := min(batchRows, len(b.Index)-first)
		index := b.Index[first:][:count]
		r := r[first*ldr:]
		onto := 0
		if add || first > 0 {
			onto = 1
		}
		for from := 0; from < full; from += batchColumns {
			to := min(from+batchColumns, full)
			for c, n := 0, 0; c < outputs; c += n {
				n = parts(c, outputs, tileOutputs)
				for j := from; j < to; j += t.columns {
					t.combine[n](count, &x[j], b.Stride, &index[0], &r[c], ldr, &g[c*ldg+j], ldg, onto)
				}
			}
		}
		if full == b.Cols {
			continue
		}
		// The last columns, padded.
		for i, at := range index {
			row := rest[i*t.columns:][:t.columns]
			clear(row[copy(row, x[int(at)*b.Stride+full:][:b.Cols-full]):])
		}
		for c, n := 0, 0; c < outputs; c += n {
			n = parts(c, outputs, tileOutputs)
			tile := b.space.tile[:]
			for o := range n {
				copy(tile[o*t.columns:], g[(c+o)*ldg+full:][:b.Cols-full])
			}
			t.combine[n](count, &rest[0], t.columns, &inOrder[0], &r[c], ldr, &tile[0], t.columns, onto)
			for o := range n {
				copy(g[(c+o)*ldg+full:][:b.Cols-full], tile[o*t.columns:])
			}
		}
	}
}
