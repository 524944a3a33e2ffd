package main

import (
	"strconv"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// batchOutputs is the most outputs of a tile of a batch: with two vectors of columns, their sums
// take twelve vectors.
const batchOutputs = 6

// scoreLanes is the number of lanes of a score: a vector of 64 bytes, or two of 32. With two rows the
// lanes of narrowOutputs outputs take twelve vectors of 32 bytes.
const (
	scoreLanes    = 8
	narrowOutputs = 3
)

// sumPairs returns two vectors of sums for each output.
func sumPairs(outputs int) [][2]VecVirtual {
	sums := make([][2]VecVirtual, outputs)
	for c := range sums {
		sums[c] = [2]VecVirtual{YMM(), YMM()}
	}
	return sums
}

// eachPair visits the sums with the number of the vector of each.
func eachPair(sums [][2]VecVirtual, visit func(v VecVirtual, c, side int)) {
	for c := range sums {
		for side, v := range sums[c] {
			visit(v, c, side)
		}
	}
}

// scoresArguments are those of a tile of scores of some rows.
func scoresArguments(e element, outputs int, names ...string) (signature, doc string) {
	return "func(blocks int, " + strings.Join(names, ", ") + " *" + e.name + ", w *float64, ldw int, lanes *float64)",
		"adds the products of " + strconv.Itoa(len(names)) + " rows with " + strconv.Itoa(outputs) +
			" rows of w, in blocks of eight columns, to the eight lanes of each: of all outputs of a row, " +
			"then of the next."
}

// scores is the tile of two rows and some outputs of the scores of a batch.
func scores(e element, outputs int) {
	names := []string{"x", "y"}
	signature, doc := scoresArguments(e, outputs, names...)
	begin("scores"+strconv.Itoa(outputs)+"x", e, signature, doc)
	const halves = scoreLanes / width
	t := beginScores(e, names)
	sums := make([]VecVirtual, len(names)*outputs*halves)
	for k := range sums {
		sums[k] = YMM()
		VMOVUPD(Mem{Base: t.lanes, Disp: 32 * k}, sums[k].AsY())
	}
	t.eachBlock(func() {
		for half := range halves {
			var x []VecVirtual
			for _, r := range t.rows {
				x = append(x, YMM())
				r.widen(x[len(x)-1].AsY(), half*width)
			}
			for c := range outputs {
				factor := YMM()
				VMOVUPD(t.weights(c, 32*half), factor)
				for side := range x {
					product, sum := YMM(), sums[(side*outputs+c)*halves+half].AsY()
					VMULPD(factor, x[side].AsY(), product)
					VADDPD(product, sum, sum)
				}
			}
		}
	})
	for k, v := range sums {
		VMOVUPD(v.AsY(), Mem{Base: t.lanes, Disp: 32 * k})
	}
	VZEROUPPER()
	RET()
}

// scoresTile holds the arguments of a tile of scores.
type scoresTile struct {
	blocks, index, w, low, ldw, lanes Register
	rows                              []row
}

func beginScores(e element, names []string) (t scoresTile) {
	t.blocks, t.index = argument("blocks"), zeroIndex()
	for _, name := range names {
		t.rows = append(t.rows, rowAt(name, e, t.index))
	}
	t.w, t.ldw = argument("w"), argument("ldw")
	SHLQ(Imm(3), t.ldw)
	t.low = threeBelow(t.w, t.ldw)
	t.lanes = argument("lanes")
	return t
}

// weights returns where weights of an output are.
func (t *scoresTile) weights(output, disp int) Mem { return tileRow(t.w, t.low, t.ldw, output, disp) }

// eachBlock emits the loop over the blocks of columns.
func (t *scoresTile) eachBlock(visit func()) {
	TESTQ(t.blocks, t.blocks)
	JZ(LabelRef("done"))
	Label("block")
	visit()
	ADDQ(Imm(scoreLanes), t.index)
	ADDQ(Imm(8*scoreLanes), t.w)
	ADDQ(Imm(8*scoreLanes), t.low)
	DECQ(t.blocks)
	JNZ(LabelRef("block"))
	Label("done")
}

// startSums loads the sums of a tile of combine that adds, and clears those of another.
func startSums(sums [][2]VecVirtual, load func(v VecVirtual, c, side int)) {
	eachPair(sums, func(v VecVirtual, _, _ int) { VXORPD(v.AsY(), v.AsY(), v.AsY()) })
	add := argument("add")
	TESTQ(add, add)
	JZ(LabelRef("row"))
	eachPair(sums, load)
}

// combine is the tile of some outputs and eight columns of the weighted sums of rows.
func combine(e element, outputs int) {
	begin("combine"+strconv.Itoa(outputs)+"x", e,
		"func(count int, x *"+e.name+", stride int, index *int32, r *float64, ldr int, sum *float64, lds, add int)",
		"sets "+strconv.Itoa(outputs)+" rows of eight columns of sum to the rows of x at the indices, "+
			"times their weights: the elements of a row of r. With add it adds them.")
	count := argument("count")
	x, stride := argument("x"), argument("stride")
	IMUL3Q(Imm(uint64(e.size)), stride, stride)
	index := argument("index")
	r, ldr := argument("r"), argument("ldr")
	SHLQ(Imm(3), ldr)
	g, ldg := argument("sum"), argument("lds")
	SHLQ(Imm(3), ldg)
	low := threeBelow(g, ldg)
	sums := sumPairs(outputs)
	startSums(sums, func(v VecVirtual, c, side int) { VMOVUPD(tileRow(g, low, ldg, c, 32*side), v.AsY()) })
	Label("row")
	at := GP64()
	MOVLQSX(Mem{Base: index}, at)
	IMULQ(stride, at)
	var halves [2]VecVirtual
	for side := range halves {
		halves[side] = YMM()
		e.widen(Mem{Base: x, Index: at, Scale: 1, Disp: side * width * e.size}, halves[side].AsY())
	}
	for c := range sums {
		factor, product := YMM(), YMM()
		VBROADCASTSD(Mem{Base: r, Disp: 8 * c}, factor)
		VMULPD(factor, halves[0].AsY(), product)
		VADDPD(product, sums[c][0].AsY(), sums[c][0].AsY())
		VMULPD(factor, halves[1].AsY(), factor)
		VADDPD(factor, sums[c][1].AsY(), sums[c][1].AsY())
	}
	ADDQ(Imm(4), index)
	ADDQ(ldr, r)
	DECQ(count)
	JNZ(LabelRef("row"))
	eachPair(sums, func(v VecVirtual, c, side int) { VMOVUPD(v.AsY(), tileRow(g, low, ldg, c, 32*side)) })
	VZEROUPPER()
	RET()
}

// wideScores is the tile of two or four rows and some outputs, with a vector for the lanes of a score.
func wideScores(e element, outputs, rows int) {
	name := "scores"
	if rows == 4 {
		name = "scoresOfFour"
	}
	names := []string{"x", "y", "u", "v"}[:rows]
	signature, doc := scoresArguments(e, outputs, names...)
	beginWide(name+strconv.Itoa(outputs)+"x", e, signature, doc)
	t := beginScores(e, names)
	sums := make([]VecVirtual, rows*outputs)
	for k := range sums {
		sums[k] = ZMM()
		VMOVUPD(Mem{Base: t.lanes, Disp: 64 * k}, sums[k])
	}
	t.eachBlock(func() {
		x := make([]VecVirtual, rows)
		for i, r := range t.rows {
			x[i] = ZMM()
			r.widen(x[i], 0)
		}
		for c := range outputs {
			factor := ZMM()
			VMOVUPD(t.weights(c, 0), factor)
			for i := range x {
				product := ZMM()
				VMULPD(factor, x[i], product)
				VADDPD(product, sums[i*outputs+c], sums[i*outputs+c])
			}
		}
	})
	for k, v := range sums {
		VMOVUPD(v, Mem{Base: t.lanes, Disp: 64 * k})
	}
	VZEROUPPER()
	RET()
}

// wideCombine is combine with two vectors of eight columns of each output: sixteen columns.
func wideCombine(e element, outputs int) {
	beginWide("combine"+strconv.Itoa(outputs)+"x", e,
		"func(count int, x *"+e.name+", stride int, index *int32, r *float64, ldr int, sum *float64, lds, add int)",
		"does what that of AVX2 does for sixteen columns.")
	count := argument("count")
	x, stride := argument("x"), argument("stride")
	IMUL3Q(Imm(uint64(e.size)), stride, stride)
	index := argument("index")
	r, ldr := argument("r"), argument("ldr")
	SHLQ(Imm(3), ldr)
	g, ldg := argument("sum"), argument("lds")
	SHLQ(Imm(3), ldg)
	low := threeBelow(g, ldg)
	sums := make([][2]VecVirtual, outputs)
	for c := range sums {
		sums[c] = [2]VecVirtual{ZMM(), ZMM()}
	}
	startSums(sums, func(v VecVirtual, c, side int) { VMOVUPD(tileRow(g, low, ldg, c, 64*side), v) })
	Label("row")
	at := GP64()
	MOVLQSX(Mem{Base: index}, at)
	IMULQ(stride, at)
	var values [2]VecVirtual
	for side := range values {
		values[side] = ZMM()
		e.widen(Mem{Base: x, Index: at, Scale: 1, Disp: 8 * side * e.size}, values[side])
	}
	for c := range sums {
		factor, product := ZMM(), ZMM()
		VBROADCASTSD(Mem{Base: r, Disp: 8 * c}, factor)
		VMULPD(factor, values[0], product)
		VADDPD(product, sums[c][0], sums[c][0])
		VMULPD(factor, values[1], factor)
		VADDPD(factor, sums[c][1], sums[c][1])
	}
	ADDQ(Imm(4), index)
	ADDQ(ldr, r)
	DECQ(count)
	JNZ(LabelRef("row"))
	eachPair(sums, func(v VecVirtual, c, side int) { VMOVUPD(v, tileRow(g, low, ldg, c, 64*side)) })
	VZEROUPPER()
	RET()
}
