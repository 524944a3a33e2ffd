package main

import (
	"strconv"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// batchOutputs is the most outputs of a tile of a batch: with two rows, or two vectors of
// columns, their sums take twelve vectors.
const batchOutputs = 6

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

// scores is the tile of two rows and some outputs of the scores of a batch.
func scores(e element, outputs int) {
	begin("scores"+strconv.Itoa(outputs)+"x", e, "func(blocks int, x, y *"+e.name+", w *float64, ldw int, lanes *float64)",
		"adds the products of rows x and y with "+strconv.Itoa(outputs)+" rows of w, in blocks of four columns, to the four lanes of each.")
	blocks := argument("blocks")
	index := zeroIndex()
	rows := [2]row{rowAt("x", e, index), rowAt("y", e, index)}
	w, ldw := argument("w"), argument("ldw")
	SHLQ(Imm(3), ldw)
	low := threeBelow(w, ldw)
	lanes := argument("lanes")
	sums := sumPairs(outputs)
	eachPair(sums, func(v VecVirtual, c, side int) { VMOVUPD(Mem{Base: lanes, Disp: 64*c + 32*side}, v.AsY()) })

	step := func(p int) {
		var x [2]VecVirtual
		for side, r := range rows {
			x[side] = YMM()
			if r.size == 8 {
				VMOVUPD(r.at(p*width), x[side].AsY())
			} else {
				VCVTPS2PD(r.at(p*width), x[side].AsY())
			}
		}
		for c := range sums {
			factor, product := YMM(), YMM()
			VMOVUPD(tileRow(w, low, ldw, c, 32*p), factor)
			VMULPD(factor, x[0].AsY(), product)
			VADDPD(product, sums[c][0].AsY(), sums[c][0].AsY())
			VMULPD(factor, x[1].AsY(), factor)
			VADDPD(factor, sums[c][1].AsY(), sums[c][1].AsY())
		}
	}
	advance := func(steps int) {
		ADDQ(Imm(uint64(steps*width)), index)
		ADDQ(Imm(uint64(steps*32)), w)
		ADDQ(Imm(uint64(steps*32)), low)
	}
	const together = 2
	several := GP64()
	MOVQ(blocks, several)
	SHRQ(Imm(1), several)
	JZ(LabelRef("rest"))
	Label("blocks")
	for p := range together {
		step(p)
	}
	advance(together)
	DECQ(several)
	JNZ(LabelRef("blocks"))
	Label("rest")
	ANDQ(Imm(together-1), blocks)
	JZ(LabelRef("done"))
	step(0)
	Label("done")
	eachPair(sums, func(v VecVirtual, c, side int) { VMOVUPD(v.AsY(), Mem{Base: lanes, Disp: 64*c + 32*side}) })
	VZEROUPPER()
	RET()
}

// combine is the tile of some outputs and eight columns of the weighted sums of rows.
func combine(e element, outputs int) {
	begin("combine"+strconv.Itoa(outputs)+"x", e, "func(count int, x *"+e.name+", stride int, index *int32, r *float64, ldr int, sum *float64, lds int)",
		"adds to "+strconv.Itoa(outputs)+" rows of eight columns of sum the rows of x at the indices, times their weights: the elements of a row of r.")
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
	eachPair(sums, func(v VecVirtual, c, side int) { VMOVUPD(tileRow(g, low, ldg, c, 32*side), v.AsY()) })
	TESTQ(count, count)
	JZ(LabelRef("done"))
	Label("row")
	at := GP64()
	MOVLQSX(Mem{Base: index}, at)
	IMULQ(stride, at)
	var halves [2]VecVirtual
	for side := range halves {
		halves[side] = YMM()
		m := Mem{Base: x, Index: at, Scale: 1, Disp: side * width * e.size}
		if e.size == 8 {
			VMOVUPD(m, halves[side].AsY())
		} else {
			VCVTPS2PD(m, halves[side].AsY())
		}
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
	Label("done")
	eachPair(sums, func(v VecVirtual, c, side int) { VMOVUPD(v.AsY(), tileRow(g, low, ldg, c, 32*side)) })
	VZEROUPPER()
	RET()
}

// wideScores is the tile of one or two pairs of rows and some outputs, with vectors of eight lanes:
// those of the first row of a pair below those of the second.
func wideScores(e element, outputs, pairs int) {
	names := []string{"x", "y", "u", "v"}[:2*pairs]
	name, signature := "scores", "x, y"
	if pairs == 2 {
		name, signature = "scoresOfFour", "x, y, u, v"
	}
	beginWide(name+strconv.Itoa(outputs)+"x", e, "func(blocks int, "+signature+" *"+e.name+", w *float64, ldw int, lanes *float64)",
		"adds the products of "+strconv.Itoa(2*pairs)+" rows as that of AVX2 does; the lanes of a pair follow those of the pair before.")
	blocks := argument("blocks")
	index := zeroIndex()
	var rows []row
	for _, n := range names {
		rows = append(rows, rowAt(n, e, index))
	}
	w, ldw := argument("w"), argument("ldw")
	SHLQ(Imm(3), ldw)
	low := threeBelow(w, ldw)
	lanes := argument("lanes")
	sums := make([]VecVirtual, pairs*outputs)
	for k := range sums {
		sums[k] = ZMM()
		VMOVUPD(Mem{Base: lanes, Disp: 64 * k}, sums[k])
	}
	TESTQ(blocks, blocks)
	JZ(LabelRef("done"))
	Label("block")
	x := make([]VecVirtual, pairs)
	for p := range x {
		x[p] = ZMM()
		if e.size == 8 {
			VMOVUPD(rows[2*p].at(0), x[p].AsY())
			VINSERTF64X4(Imm(1), rows[2*p+1].at(0), x[p], x[p])
			continue
		}
		y := YMM()
		VCVTPS2PD(rows[2*p].at(0), x[p].AsY())
		VCVTPS2PD(rows[2*p+1].at(0), y)
		VINSERTF64X4(Imm(1), y, x[p], x[p])
	}
	for c := range outputs {
		factor := ZMM()
		VBROADCASTF64X4(tileRow(w, low, ldw, c, 0), factor)
		for p := range x {
			product := ZMM()
			VMULPD(factor, x[p], product)
			VADDPD(product, sums[p*outputs+c], sums[p*outputs+c])
		}
	}
	ADDQ(Imm(width), index)
	ADDQ(Imm(32), w)
	ADDQ(Imm(32), low)
	DECQ(blocks)
	JNZ(LabelRef("block"))
	Label("done")
	for k := range sums {
		VMOVUPD(sums[k], Mem{Base: lanes, Disp: 64 * k})
	}
	VZEROUPPER()
	RET()
}

// wideCombine is combine with a vector of the eight columns of each output.
func wideCombine(e element, outputs int) {
	beginWide("combine"+strconv.Itoa(outputs)+"x", e, "func(count int, x *"+e.name+", stride int, index *int32, r *float64, ldr int, sum *float64, lds int)",
		"does what that of AVX2 does, in vectors of eight columns.")
	count := argument("count")
	x, stride := argument("x"), argument("stride")
	IMUL3Q(Imm(uint64(e.size)), stride, stride)
	index := argument("index")
	r, ldr := argument("r"), argument("ldr")
	SHLQ(Imm(3), ldr)
	g, ldg := argument("sum"), argument("lds")
	SHLQ(Imm(3), ldg)
	low := threeBelow(g, ldg)
	sums := make([]VecVirtual, outputs)
	for c := range sums {
		sums[c] = ZMM()
		VMOVUPD(tileRow(g, low, ldg, c, 0), sums[c])
	}
	TESTQ(count, count)
	JZ(LabelRef("done"))
	Label("row")
	at := GP64()
	MOVLQSX(Mem{Base: index}, at)
	IMULQ(stride, at)
	values := ZMM()
	if m := (Mem{Base: x, Index: at, Scale: 1}); e.size == 8 {
		VMOVUPD(m, values)
	} else {
		VCVTPS2PD(m, values)
	}
	for c := range sums {
		product := ZMM()
		VMULPD_BCST(Mem{Base: r, Disp: 8 * c}, values, product)
		VADDPD(product, sums[c], sums[c])
	}
	ADDQ(Imm(4), index)
	ADDQ(ldr, r)
	DECQ(count)
	JNZ(LabelRef("row"))
	Label("done")
	for c := range sums {
		VMOVUPD(sums[c], tileRow(g, low, ldg, c, 0))
	}
	VZEROUPPER()
	RET()
}
