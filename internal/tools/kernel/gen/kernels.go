package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// begin starts a kernel on rows of e: name with the suffix of the type.
func begin(name string, e element, signature, doc string) {
	beginFor("AVX2", name, e, signature, doc)
}

// beginWide is begin for a kernel with vectors of 64 bytes.
func beginWide(name string, e element, signature, doc string) {
	beginFor("AVX512", name, e, signature, doc)
}

func beginFor(vectors, name string, e element, signature, doc string) {
	TEXT(name+e.suffix+vectors, NOSPLIT, signature)
	Doc(name + e.suffix + vectors + " " + doc)
	Pragma("noescape")
}

// argument loads an integer or a pointer.
func argument(name string) Register { return Load(Param(name), GP64()) }

// rowAt loads a pointer to elements of e.
func rowAt(name string, e element, index Register) row {
	return row{e, argument(name), index}
}

// hinted loads the hints of a kernel that takes them.
func hinted(e element, index Register) hints {
	return hints{near: rowAt("near", e, index), far: rowAt("far", e, index)}
}

func zeroIndex() Register {
	index := GP64()
	XORQ(index, index)
	return index
}

// broadcast returns a vector of four times the parameter a.
func broadcast(name string) VecVirtual {
	a := YMM()
	VBROADCASTSD(parameter(name), a.AsY())
	return a
}

// finish returns the sum.
func finish(s sum) {
	Store(s.tree().AsX(), ReturnIndex(0))
	VZEROUPPER()
	RET()
}

func dot(e element) {
	begin("dot", e, "func(x *"+e.name+", y *float64, n int) float64",
		"returns the canonical sum of x[i]*y[i] over i < n.")
	index := zeroIndex()
	s := zeroSum()
	dotLoop(rowAt("x", e, index), rowAt("y", float64s, index), argument("n"), s, hints{})
	finish(s)
}

func dotAhead(e element) {
	begin("dotAhead", e, "func(x *"+e.name+", y *float64, n int, near, far *"+e.name+") float64",
		"is dot"+e.suffix+"AVX2 and prefetches n elements at near, and at far unless it is nil.")
	index := zeroIndex()
	s := zeroSum()
	dotLoop(rowAt("x", e, index), rowAt("y", float64s, index), argument("n"), s, hinted(e, index))
	finish(s)
}

func dotLoop(x, y row, n Register, s sum, h hints) {
	elementwise("", n, x.index, h, func(k, at, from, count int) {
		p := YMM()
		load(y.at(at), p, count)
		x.times(p, p, at, count)
		s.take(k, from, count, p)
	})
}

// dots walks over rows: their sums overlap, and nothing is called for each.
func dots(e element) {
	begin("dots", e, "func(x *"+e.name+", stride int, rows *int32, count int, y *float64, n int, z *float64)",
		"sets z[k] to the canonical sum of the products of n elements of y and of row rows[k] of x, or row k if rows "+
			"is nil, for k < count. Rows begin stride elements apart.")
	x, stride := argument("x"), argument("stride")
	IMUL3Q(Imm(uint64(e.size)), stride, stride)
	rows, y, z := argument("rows"), argument("y"), argument("z")
	k, base, index, n := zeroIndex(), GP64(), GP64(), GP64()
	s := sum{YMM(), YMM(), YMM(), YMM()}
	Label("row")
	MOVQ(k, base)
	TESTQ(rows, rows)
	JZ(LabelRef("found"))
	MOVLQSX(Mem{Base: rows, Index: k, Scale: 4}, base)
	Label("found")
	IMULQ(stride, base)
	ADDQ(x, base)
	XORQ(index, index)
	Load(Param("n"), n)
	s.clear()
	dotLoop(row{e, base, index}, row{float64s, y, index}, n, s, hints{})
	VMOVSD(s.tree().AsX(), Mem{Base: z, Index: k, Scale: 8})
	INCQ(k)
	count := GP64()
	Load(Param("count"), count)
	CMPQ(k, count)
	JLT(LabelRef("row"))
	VZEROUPPER()
	RET()
}

func axpy(e element) {
	begin("axpy", e, "func(a float64, x *"+e.name+", y *float64, n int)",
		"adds a*x[i] to y[i] for i < n.")
	a := broadcast("a")
	index := zeroIndex()
	x, y := rowAt("x", e, index), rowAt("y", float64s, index)
	elementwise("", argument("n"), index, hints{}, func(_, at, _, count int) {
		p, v := YMM(), YMM()
		x.times(p, a, at, count)
		load(y.at(at), v, count)
		add(v, p, v, count)
		store(v, y.at(at), count)
	})
	VZEROUPPER()
	RET()
}

func scale(e element) {
	begin("scale", e, "func(a float64, x *"+e.name+", y *float64, n int)",
		"sets y[i] to a*x[i] for i < n.")
	a := broadcast("a")
	index := zeroIndex()
	x, y := rowAt("x", e, index), rowAt("y", float64s, index)
	elementwise("", argument("n"), index, hints{}, func(_, at, _, count int) {
		p := YMM()
		x.times(p, a, at, count)
		store(p, y.at(at), count)
	})
	VZEROUPPER()
	RET()
}

func rotate() {
	begin("rotate", float64s, "func(c, s float64, x, y *float64, n int)",
		"sets x[i] to c*x[i] - s*y[i] and y[i] to s*x[i] + c*y[i] for i < n.")
	c, s := broadcast("c"), broadcast("s")
	index := zeroIndex()
	x, y := rowAt("x", float64s, index), rowAt("y", float64s, index)
	elementwise("", argument("n"), index, hints{}, func(_, at, _, count int) {
		cx, sx, cy, sy := YMM(), YMM(), YMM(), YMM()
		x.times(cx, c, at, count)
		x.times(sx, s, at, count)
		y.times(cy, c, at, count)
		y.times(sy, s, at, count)
		subtract(cx, cx, sy, count)
		add(sx, sx, cy, count)
		store(cx, x.at(at), count)
		store(sx, y.at(at), count)
	})
	VZEROUPPER()
	RET()
}

func descend() {
	begin("descend", float64s, "func(keep, pull, rate float64, u, from, by *float64, n int)",
		"sets u[i] to keep*u[i] + pull*from[i] - rate*by[i] for i < n.")
	keep, pull, rate := broadcast("keep"), broadcast("pull"), broadcast("rate")
	index := zeroIndex()
	u, from, by := rowAt("u", float64s, index), rowAt("from", float64s, index), rowAt("by", float64s, index)
	elementwise("", argument("n"), index, hints{}, func(_, at, _, count int) {
		v, p, q := YMM(), YMM(), YMM()
		u.times(v, keep, at, count)
		from.times(p, pull, at, count)
		by.times(q, rate, at, count)
		add(v, v, p, count)
		subtract(v, v, q, count)
		store(v, u.at(at), count)
	})
	VZEROUPPER()
	RET()
}

func round32() {
	begin("round", float32s, "func(x *float64, y *float32, n int)",
		"sets y[i] to x[i] in single precision for i < n.")
	index := zeroIndex()
	x, y := rowAt("x", float64s, index), rowAt("y", float32s, index)
	elementwise("", argument("n"), index, hints{}, func(_, at, _, count int) {
		v := XMM()
		switch count {
		case 1:
			VXORPD(v, v, v)
			VCVTSD2SS(x.at(at), v, v)
			VMOVSS(v, y.at(at))
		case width:
			VCVTPD2PSY(x.at(at), v)
			VMOVUPS(v, y.at(at))
		default:
			VMOVUPD(x.at(at), v)
			VCVTPD2PSX(v, v)
			VMOVSD(v, y.at(at))
		}
	})
	VZEROUPPER()
	RET()
}

func axpyDot(e element) {
	begin("axpyDot", e, "func(a float64, x *"+e.name+", u *float64, next *"+e.name+", n int, near, far *"+e.name+
		") float64",
		"adds a*x[i] to u[i] for i < n and returns the canonical sum of next[i]*u[i]; it prefetches n elements at "+
			"near, and at far unless it is nil.")
	a := broadcast("a")
	index := zeroIndex()
	x, u, next := rowAt("x", e, index), rowAt("u", float64s, index), rowAt("next", e, index)
	s := zeroSum()
	elementwise("", argument("n"), index, hinted(e, index), func(k, at, from, count int) {
		p, v := YMM(), YMM()
		x.times(p, a, at, count)
		load(u.at(at), v, count)
		add(v, p, v, count)
		store(v, u.at(at), count)
		next.times(v, v, at, count)
		s.take(k, from, count, v)
	})
	finish(s)
}
