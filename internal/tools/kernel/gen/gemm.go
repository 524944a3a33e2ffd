package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// The tile of the matrix product that stays in registers: 6 x 8 sums in twelve
// vectors, which leaves four for the factors.
const (
	tileRows = 6
	tileCols = 8
	unrolled = 4
)

// tile has the sums of a tile.
type tile [tileRows][2]VecVirtual

func gemmTile() {
	TEXT("gemmTileAVX2", NOSPLIT, "func(k int, a *float64, lda int, b, c *float64, ldc int)")
	Doc("gemmTileAVX2 adds a*b to the 6 x 8 tile c: a is 6 x k with stride lda, b k x 8 with stride 8.")
	Pragma("noescape")
	k := Load(Param("k"), GP64())
	a, lda := Load(Param("a"), GP64()), Load(Param("lda"), GP64())
	b := Load(Param("b"), GP64())
	c, ldc := Load(Param("c"), GP64()), Load(Param("ldc"), GP64())
	SHLQ(Imm(3), lda)
	SHLQ(Imm(3), ldc)

	lowA, lowC := threeBelow(a, lda), threeBelow(c, ldc)
	var sums tile
	for i := range sums {
		for j := range sums[i] {
			sums[i][j] = YMM()
			VMOVUPD(tileRow(c, lowC, ldc, i, j*32), sums[i][j].AsY())
		}
	}
	advance := func(steps int) {
		ADDQ(Imm(uint64(steps*8)), a)
		ADDQ(Imm(uint64(steps*8)), lowA)
		ADDQ(U32(steps*64), b)
	}
	blocks := GP64()
	MOVQ(k, blocks)
	SHRQ(Imm(2), blocks)
	JZ(LabelRef("rest"))
	Label("block")
	for p := range unrolled {
		gemmStep(a, lowA, lda, b, p, &sums)
	}
	advance(unrolled)
	DECQ(blocks)
	JNZ(LabelRef("block"))
	Label("rest")
	ANDQ(Imm(unrolled-1), k)
	JZ(LabelRef("done"))
	Label("one")
	gemmStep(a, lowA, lda, b, 0, &sums)
	advance(1)
	DECQ(k)
	JNZ(LabelRef("one"))
	Label("done")
	for i := range sums {
		for j := range sums[i] {
			VMOVUPD(sums[i][j].AsY(), tileRow(c, lowC, ldc, i, j*32))
		}
	}
	VZEROUPPER()
	RET()
}

// gemmStep adds the products of column p of a and row p of b.
func gemmStep(a, lowA, lda, b Register, p int, sums *tile) {
	left, right := YMM(), YMM()
	VMOVUPD(Mem{Base: b, Disp: p * 64}, left)
	VMOVUPD(Mem{Base: b, Disp: p*64 + 32}, right)
	for i := range sums {
		x, product := YMM(), YMM()
		VBROADCASTSD(tileRow(a, lowA, lda, i, p*8), x)
		VMULPD(left, x, product)
		VADDPD(product, sums[i][0].AsY(), sums[i][0].AsY())
		VMULPD(right, x, x)
		VADDPD(x, sums[i][1].AsY(), sums[i][1].AsY())
	}
}

// threeBelow returns the address of the fourth row.
func threeBelow(base, stride Register) Register {
	low := GP64()
	LEAQ(Mem{Base: base, Index: stride, Scale: 2}, low)
	ADDQ(stride, low)
	return low
}

// tileRow returns an address in row i, of which there are six.
func tileRow(base, low, stride Register, i, disp int) Mem {
	m := Mem{Base: base, Disp: disp}
	if i >= 3 {
		m.Base = low
	}
	if i%3 > 0 {
		m.Index, m.Scale = stride, uint8(i%3)
	}
	return m
}
