package kernel

// Batch is a choice of rows of a matrix: row i of the batch, x_i, has the Cols elements from
// X[Index[i]*Stride] on, or from X32[Index[i]*Stride] on when X is nil. The rows stay where
// they are, and a row may occur several times. It has scratch space, so only one goroutine
// at a time may use it.
type Batch struct {
	X            []float64
	X32          []float32
	Stride, Cols int
	Index        []int32
	space        batchSpace
}

// scoreLanes is the number of lanes of a score.
const scoreLanes = 8

// Scores sets s[i*lds+c] to the sum over j of x_ij w[c*ldw+j] for each of so many outputs c.
// A score has eight lanes that start at +0. Product j is added to lane j mod 8, in the order
// of j. Then lane l+4 is added to lane l, lane l+2 to lane l, and lane 1 to lane 0: the score.
//
// It panics when the matrix has no such row, a stride is shorter than a row or a slice than
// its matrix.
func (b *Batch) Scores(outputs int, w []float64, ldw int, s []float64, lds int) {
	b.check()
	fits(outputs, b.Cols, w, ldw)
	fits(len(b.Index), outputs, s, lds)
	if len(b.Index) > 0 && outputs > 0 {
		b.scores(outputs, w, ldw, s, lds)
	}
}

// Combine sets the row g[c*ldg:] to the sum over i of r[i*ldr+c] x_i for each of so many outputs c,
// or adds the sum to it. The products are added to an element, which starts at +0, one by one in the
// order of i, as by Axpy. g must not overlap the rest. It panics as Scores does.
func (b *Batch) Combine(outputs int, r []float64, ldr int, g []float64, ldg int, add bool) {
	b.check()
	fits(len(b.Index), outputs, r, ldr)
	fits(outputs, b.Cols, g, ldg)
	if len(b.Index) > 0 {
		b.combine(outputs, r, ldr, g, ldg, add)
	} else if !add {
		clearRows(outputs, b.Cols, g, ldg)
	}
}

// clearRows clears a matrix.
func clearRows(rows, cols int, g []float64, ldg int) {
	for c := range rows {
		clear(g[c*ldg:][:cols])
	}
}

// check panics unless the matrix has all rows of the batch.
func (b *Batch) check() {
	if b.Stride < b.Cols || b.Cols < 0 {
		panic("kernel: the rows of a batch overlap")
	}
	size := len(b.X)
	if b.X == nil {
		size = len(b.X32)
	}
	for _, i := range b.Index {
		if i < 0 || int(i)*b.Stride+b.Cols > size {
			panic("kernel: a row of a batch is not there")
		}
	}
}

// scalarScores is Scores on the rows of x.
func scalarScores[T element](b *Batch, x []T, outputs int, w []float64, ldw int, s []float64, lds int) {
	for i, at := range b.Index {
		for c := range outputs {
			s[i*lds+c] = scalarScore(x[int(at)*b.Stride:][:b.Cols], w[c*ldw:][:b.Cols])
		}
	}
}

func scalarScore[T element](x []T, w []float64) float64 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float64
	for ; len(x) >= scoreLanes && len(w) >= scoreLanes; x, w = x[scoreLanes:], w[scoreLanes:] {
		s0 += float64(float64(x[0]) * w[0])
		s1 += float64(float64(x[1]) * w[1])
		s2 += float64(float64(x[2]) * w[2])
		s3 += float64(float64(x[3]) * w[3])
		s4 += float64(float64(x[4]) * w[4])
		s5 += float64(float64(x[5]) * w[5])
		s6 += float64(float64(x[6]) * w[6])
		s7 += float64(float64(x[7]) * w[7])
	}
	s := [scoreLanes]float64{s0, s1, s2, s3, s4, s5, s6, s7}
	addRest(s[:], x, w)
	return sumOfLanes(&s)
}

// addRest adds the products of the fewer than eight last elements of a row.
func addRest[T element](lanes []float64, x []T, w []float64) {
	for l, xl := range x {
		lanes[l] += float64(float64(xl) * w[l])
	}
}

func sumOfLanes(s *[scoreLanes]float64) float64 {
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

// scalarCombine is Combine on the rows of x.
func scalarCombine[T element](b *Batch, x []T, outputs int, r []float64, ldr int, g []float64, ldg int, add bool) {
	if !add {
		clearRows(outputs, b.Cols, g, ldg)
	}
	for i, at := range b.Index {
		for c := range outputs {
			scalarAxpy(r[i*ldr+c], x[int(at)*b.Stride:][:b.Cols], g[c*ldg:][:b.Cols])
		}
	}
}

// scalarBatchScores and scalarBatchCombine take the precision of the batch.
func (b *Batch) scalarScores(outputs int, w []float64, ldw int, s []float64, lds int) {
	if b.X != nil {
		scalarScores(b, b.X, outputs, w, ldw, s, lds)
	} else {
		scalarScores(b, b.X32, outputs, w, ldw, s, lds)
	}
}

func (b *Batch) scalarCombine(outputs int, r []float64, ldr int, g []float64, ldg int, add bool) {
	if b.X != nil {
		scalarCombine(b, b.X, outputs, r, ldr, g, ldg, add)
	} else {
		scalarCombine(b, b.X32, outputs, r, ldr, g, ldg, add)
	}
}
