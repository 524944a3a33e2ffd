package kernel

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	"fedsim/internal/tools/rng"
)

// A step of softmax regression on ten rows of MNIST's size, and the first layer of a
// network on thirty-two.
func BenchmarkBatch(b *testing.B) {
	s := rng.New(1, rng.Synthetic, 0, 0)
	for _, size := range [][3]int{{10, 784, 10}, {32, 784, 128}, {32, 128, 10}, {10, 561, 6}} {
		rows, cols, outputs := size[0], size[1], size[2]
		batch := Batch{X: numbers(&s, 100*cols, "plain"), Stride: cols, Cols: cols}
		for range rows {
			batch.Index = append(batch.Index, int32(s.IntN(100)))
		}
		w, r, g := numbers(&s, outputs*cols, "plain"), make([]float64, rows*outputs), make([]float64, outputs*cols)
		name := fmt.Sprintf("%dx%dx%d", rows, cols, outputs)
		run := func(kind string, f func()) {
			b.Run(kind+"/"+name, func(b *testing.B) {
				for range b.N {
					f()
				}
				b.ReportMetric(2*float64(rows*cols*outputs)*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			})
		}
		run("scores", func() { batch.Scores(outputs, w, cols, r, outputs) })
		run("combine", func() { batch.Combine(outputs, r, outputs, g, cols, false) })
		wide := batch
		batch.X32, _ = narrowed(batch.X)
		batch.X = nil
		run("scores32", func() { batch.Scores(outputs, w, cols, r, outputs) })
		run("combine32", func() { batch.Combine(outputs, r, outputs, g, cols, false) })
		batch = wide
	}
}

// slowScore pads with zeros to a multiple of eight.
func slowScore(x, w []float64) float64 {
	var lane [8]float64
	for j := range (len(x) + 7) / 8 * 8 {
		xj, wj := 0.0, 0.0
		if j < len(x) {
			xj, wj = x[j], w[j]
		}
		lane[j%8] += float64(xj * wj)
	}
	for half := 4; half > 0; half /= 2 {
		for l := range half {
			lane[l] += lane[l+half]
		}
	}
	return lane[0]
}

// checkBatch compares a batch of random rows with the definitions, in both precisions.
func checkBatch(t rapid.TB, s *rng.Stream, rows, cols, outputs int, kind string) {
	const held = 9
	stride, ldw, lds, ldg := cols+s.IntN(5), cols+s.IntN(5), outputs+s.IntN(3), cols+s.IntN(5)
	narrow, x := narrowed(numbers(s, held*stride, kind))
	index := make([]int32, rows)
	for i := range index {
		index[i] = int32(s.IntN(held))
	}
	w, r, g := numbers(s, outputs*ldw, kind), numbers(s, rows*lds, kind), numbers(s, outputs*ldg, kind)
	scores, sums := slices.Clone(r), [2][]float64{slices.Clone(g), slices.Clone(g)} // set, added
	clearRows(outputs, cols, sums[0], ldg)
	for i, at := range index {
		row := x[int(at)*stride:][:cols]
		for c := range outputs {
			scores[i*lds+c] = slowScore(row, w[c*ldw:][:cols])
			for _, of := range sums {
				copy(of[c*ldg:], slowAxpy(r[i*lds+c], row, of[c*ldg:][:cols]))
			}
		}
	}
	for _, batch := range []Batch{{X: x}, {X32: narrow}} {
		batch.Stride, batch.Cols, batch.Index = stride, cols, index
		what := fmt.Sprintf("%d rows of %d columns, %d outputs, %s, single %t: ", rows, cols, outputs, kind,
			batch.X == nil)
		got := slices.Clone(r)
		batch.Scores(outputs, w, ldw, got, lds)
		mustAgree(t, what+"scores", got, scores)
		for k, want := range sums {
			got = slices.Clone(g)
			batch.Combine(outputs, r, lds, got, ldg, k == 1)
			mustAgree(t, what+"sums", got, want)
		}
	}
}

func TestBatchAgreesWithItsDefinition(t *testing.T) {
	bothWays(t, func(t *testing.T) {
		s := rng.New(7, rng.Synthetic, 0, 0)
		for _, kind := range kinds {
			for _, size := range [][3]int{{0, 5, 3}, {1, 1, 1}, {1, 16, 6}, {2, 7, 7}, {3, 8, 10}, {5, 9, 13},
				{31, 12, 5}, {33, 21, 2}, {70, 66, 17}, {4, 803, 11}} {
				checkBatch(t, &s, size[0], size[1], size[2], kind)
			}
		}
	})
}

func TestBatchAgreesOnRandomCases(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rng.New(rapid.Uint64().Draw(t, "seed"), rng.Synthetic, 0, 0)
		checkBatch(t, &s, rapid.IntRange(0, 40).Draw(t, "rows"), rapid.IntRange(0, 90).Draw(t, "cols"),
			rapid.IntRange(0, 15).Draw(t, "outputs"), rapid.SampledFrom(kinds).Draw(t, "kind"))
	})
}

func TestBatchThatDoesNotFitPanics(t *testing.T) {
	x := make([]float64, 12)
	for name, f := range map[string]func(){
		"row":    func() { (&Batch{X: x, Stride: 4, Cols: 4, Index: []int32{3}}).Scores(1, x, 4, x, 1) },
		"before": func() { (&Batch{X: x, Stride: 4, Cols: 4, Index: []int32{-1}}).Scores(1, x, 4, x, 1) },
		"single": func() {
			(&Batch{X32: make([]float32, 3), Stride: 4, Cols: 4, Index: []int32{0}}).Scores(1, x, 4, x, 1)
		},
		"stride":  func() { (&Batch{X: x, Stride: 3, Cols: 4}).Combine(1, x, 1, x, 4, true) },
		"weights": func() { (&Batch{X: x, Stride: 4, Cols: 4}).Scores(4, x, 4, x, 4) },
		"scores":  func() { (&Batch{X: x, Stride: 1, Cols: 1, Index: make([]int32, 13)}).Scores(1, x, 1, x, 1) },
		"sums":    func() { (&Batch{X: x, Stride: 4, Cols: 4}).Combine(4, x, 4, x, 4, true) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				expect.That(t, recover() != nil, "no panic")
			}()
			f()
		})
	}
}

func TestBatchAllocatesNothing(t *testing.T) {
	s := rng.New(8, rng.Synthetic, 0, 0)
	batch := &Batch{X: numbers(&s, 100, "plain"), Stride: 10, Cols: 9, Index: []int32{3, 1, 4, 1}}
	w, r := numbers(&s, 70, "plain"), numbers(&s, 28, "plain")
	if n := testing.AllocsPerRun(10, func() {
		batch.Scores(7, w, 10, r, 7)
		batch.Combine(7, r, 7, w, 10, false)
	}); n > 0 {
		t.Errorf("a batch allocates %g times", n)
	}
}
