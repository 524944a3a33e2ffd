package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/gotypes"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// ascent emits the steps of an Ascent on rows of more than sixteen elements, or of at
// most sixteen.
//
// The next step waits only for results that depend on the sum. Other work, such as the
// draw of a later row, runs in the meantime. From the last addition of the sum to the
// first product with a row, numbers stay in vectors of equal elements, which avoids
// moves between registers.
func ascent(e element, short bool) {
	name, rows := "ascent", longRowsOf
	if short {
		name, rows = "shortAscent", shortRowsOf
	}
	begin(name, e,
		"func(x *"+e.name+
			", rows, stride, n int, u *float64, order *int32, count, from, to, until int, draws *uint64, far bool, "+
			"y, norms, a *float64, scale, least, shrink, extra, low, high float64) (moved int)",
		"takes the steps of the positions [from, to) of the order and draws those of [from+lead, "+
			"to+lead) below until; it returns -1 at a row that is not there.")
	s := steps{e: e, shape: rows(), position: argument("from"), index: GP64(), delta: YMM()}
	VXORPD(s.delta, s.delta, s.delta)
	s.last = s.row(Load(Param("x"), GP64()))
	zero := GP64()
	XORQ(zero, zero)
	MOVQ(zero, result("moved"))

	Label("step")
	CMPQ(s.position, parameter("to"))
	JGE(LabelRef("end"))
	draw(s.position)
	i := GP64()
	s.numberAt(s.position, i)
	CMPQ(i, parameter("rows"))
	JCC(LabelRef("nowhere"))
	next, ahead := s.at(i), s.hints(short)
	z := s.sum(next, ahead)
	MOVQ(next.base, s.last.base)
	s.minimise(i, z)
	INCQ(s.position)
	JMP(LabelRef("step"))

	Label("nowhere")
	MOVQ(I32(-1), result("moved"))
	Label("end")
	branchIfZero(s.delta, "return")
	VBROADCASTSD(s.delta.AsX(), s.delta.AsY())
	XORQ(s.index, s.index)
	u := rowAt("u", float64s, s.index)
	elementwise("last", argument("n"), s.index, hints{}, func(_, at, _, count int) {
		u.plus(s.last, s.delta, at, count)
	})
	Label("return")
	VZEROUPPER()
	RET()
}

// shape is how a row passes through registers.
type shape interface {
	// dot emits the sum of next*u, with u += delta x before unless x is nil.
	dot(label string, x *row, u, next row, delta VecVirtual, h hints)
	// zero sets the sum to zero.
	zero()
	// total returns the sum in all elements of a vector as wide as its others.
	total() Register
	// wide returns the part of v that holds such equal elements.
	wide(v VecVirtual) Register
	// spread sets these elements to a number in memory or in the first of them.
	spread(from Op, to Register)
}

// steps is what lives from step to step in registers.
type steps struct {
	shape
	e        element
	position Register   // in the order
	index    Register   // in a row
	delta    VecVirtual // what u still lacks of the last row
	last     row
}

func (s steps) row(base Register) row { return row{s.e, base, s.index} }

// numberAt sets i to the number of the row at a position of the order.
func (s steps) numberAt(position, i Register) {
	MOVLQSX(Mem{Base: argument("order"), Index: position, Scale: 4}, i)
}

// at returns row i.
func (s steps) at(i Register) row {
	base := GP64()
	MOVQ(i, base)
	IMULQ(parameter("stride"), base)
	ADDQ(parameter("x"), base)
	return s.row(base)
}

// ahead returns the row so many steps after this one, or the last that is known.
func (s steps) ahead(by int) row {
	position, last, i := GP64(), argument("until"), GP64()
	SUBQ(Imm(1), last)
	LEAQ(Mem{Base: s.position, Disp: by}, position)
	CMPQ(position, last)
	CMOVQGT(last, position)
	s.numberAt(position, i)
	return s.at(i)
}

// hints returns the rows to fetch. Those of short ones are fetched at once, and
// the processor does not need to be told of the next.
func (s steps) hints(short bool) (h hints) {
	far := GP64()
	if !short {
		h = hints{near: s.ahead(1), far: s.row(far)}
		XORQ(far, far)
	}
	CMPB(parameter("far"), Imm(0))
	JE(LabelRef("known"))
	switch x := s.ahead(lead); {
	case short:
		for line := 0; line < lanes*s.e.size; line += 64 {
			PREFETCHT0(Mem{Base: x.base, Disp: line})
		}
	default:
		MOVQ(x.base, far)
	}
	Label("known")
	return h
}

// sum emits the rest of the last step and the sum of next*u.
func (s steps) sum(next row, h hints) Register {
	u := rowAt("u", float64s, s.index)
	XORQ(s.index, s.index)
	s.zero()
	branchIfZero(s.delta, "still")
	s.dot("both", &s.last, u, next, s.delta, h)
	JMP(LabelRef("sum"))
	Label("still")
	s.dot("dot", nil, u, next, s.delta, h)
	Label("sum")
	return s.total()
}

// minimise emits the step of coordinate i on the sum z, up to delta:
//
//	b = clip(a + ((y - z) - shrink a)/(max(scale norm, least) + extra))
func (s steps) minimise(i, z Register) {
	vector := func() (v VecVirtual, wide Register) {
		v = YMM()
		return v, s.wide(v)
	}
	element := func(array string, to Register) {
		s.spread(Mem{Base: argument(array), Index: i, Scale: 8}, to)
	}
	first, a := vector()
	element("a", a)
	minimum, b := vector()
	element("y", b)
	sign := XMM()
	VANDPD(signBit(), minimum.AsX(), sign)
	VSUBPD(z, b, b)
	_, c := vector()
	s.spread(parameter("shrink"), c)
	VMULPD(a, c, c)
	VSUBPD(c, b, b)
	_, q := vector()
	element("norms", q)
	_, scale := vector()
	s.spread(parameter("scale"), scale)
	VMULPD(scale, q, q)
	s.spread(parameter("least"), c)
	VMAXPD(q, c, q)
	s.spread(parameter("extra"), c)
	VADDPD(c, q, q)
	VDIVPD(q, b, b)
	VADDPD(a, b, b)

	// Branches are foreseen, where the next step had to wait for a maximum.
	margin, bound := XMM(), XMM()
	VXORPD(sign, minimum.AsX(), margin)
	VMOVSD(parameter("low"), bound)
	VUCOMISD(margin, bound)
	JCC(LabelRef("clipped"))
	VMOVSD(parameter("high"), bound)
	VUCOMISD(bound, margin)
	JCC(LabelRef("clipped"))
	Label("inside")
	change := s.wide(s.delta)
	VSUBPD(a, b, change)
	VMULPD(change, scale, change)
	VUCOMISD(first.AsX(), minimum.AsX())
	JP(LabelRef("moved"))
	JE(LabelRef("stayed"))
	Label("moved")
	VMOVSD(minimum.AsX(), Mem{Base: argument("a"), Index: i, Scale: 8})
	INCQ(result("moved"))
	JMP(LabelRef("stayed"))
	Label("clipped")
	VXORPD(sign, bound, bound)
	s.spread(bound, b)
	JMP(LabelRef("inside"))
	Label("stayed")
}

// branchIfZero jumps when the first element of v is 0, which a NaN is not.
func branchIfZero(v VecVirtual, label string) {
	zero := XMM()
	VXORPD(zero, zero, zero)
	VUCOMISD(zero, v.AsX())
	JP(LabelRef(label + "not"))
	JE(LabelRef(label))
	Label(label + "not")
}

// parameter returns where a parameter lies; those that do not fit into registers
// are taken from there.
func parameter(name string) Mem { return place(Param(name)) }

// result is parameter for a result.
func result(name string) Mem { return place(Return(name)) }

func place(c gotypes.Component) Mem {
	b, err := c.Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

var signs Mem

// signBit returns a vector in memory of two sign bits.
func signBit() Mem {
	if signs.Symbol.Name == "" {
		signs = GLOBL("signs", attr.RODATA|attr.NOPTR)
		DATA(0, U64(1<<63))
		DATA(8, U64(1<<63))
	}
	return signs
}
