package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// element is a type of the elements of rows. The other vector, and all
// arithmetic, is float64.
type element struct {
	suffix, name string
	size         int
}

var (
	float64s = element{"", "float64", 8}
	float32s = element{"32", "float32", 4}
)

// The sixteen lanes of the canonical sum lie in four vectors of four.
const (
	lanes   = 16
	vectors = 4
	width   = 4
)

// widen loads a vector of elements as float64.
func (e element) widen(m Mem, dst Register) {
	if e.size == 8 {
		VMOVUPD(m, dst)
	} else {
		VCVTPS2PD(m, dst)
	}
}

// row is a row being read from its element at base + index*size.
type row struct {
	element
	base, index Register
}

// at returns where the element i places ahead lies.
func (r row) at(i int) Mem {
	return Mem{Base: r.base, Index: r.index, Scale: uint8(r.size), Disp: i * r.size}
}

// widen loads a vector of elements from i on as float64.
func (r row) widen(dst Register, i int) { r.element.widen(r.at(i), dst) }

// times sets dst to factor times four, two or one elements from i on; the
// elements of dst beyond are zero when only they are loaded.
func (r row) times(dst, factor VecVirtual, i, count int) {
	switch d, f := narrow(dst, count), narrow(factor, count); {
	case count == 1 && r.size == 8:
		VMULSD(r.at(i), factor.AsX(), dst.AsX())
	case r.size == 8:
		VMULPD(r.at(i), f, d)
	case count == 1:
		wide := XMM()
		VXORPD(wide, wide, wide)
		VCVTSS2SD(r.at(i), wide, wide)
		VMULSD(wide, factor.AsX(), dst.AsX())
	default:
		wide := narrow(YMM(), count)
		VCVTPS2PD(r.at(i), wide)
		VMULPD(wide, f, d)
	}
}

// narrow returns the part of a vector that holds count elements.
func narrow(v VecVirtual, count int) Register {
	if count == width {
		return v.AsY()
	}
	return v.AsX()
}

func load(m Mem, dst VecVirtual, count int) {
	if count == 1 {
		VMOVSD(m, dst.AsX())
	} else {
		VMOVUPD(m, narrow(dst, count))
	}
}

func store(v VecVirtual, m Mem, count int) {
	if count == 1 {
		VMOVSD(v.AsX(), m)
	} else {
		VMOVUPD(narrow(v, count), m)
	}
}

func add(dst, a, b VecVirtual, count int) {
	if count == 1 {
		VADDSD(a.AsX(), b.AsX(), dst.AsX())
	} else {
		VADDPD(narrow(a, count), narrow(b, count), narrow(dst, count))
	}
}

func subtract(dst, a, b VecVirtual, count int) {
	if count == 1 {
		VSUBSD(b.AsX(), a.AsX(), dst.AsX())
	} else {
		VSUBPD(narrow(b, count), narrow(a, count), narrow(dst, count))
	}
}

// sum holds the lanes of the canonical sum.
type sum [vectors]VecVirtual

func zeroSum() (s sum) {
	for k := range s {
		s[k] = YMM()
	}
	s.clear()
	return s
}

func (s sum) clear() {
	for _, v := range s {
		VXORPD(v.AsY(), v.AsY(), v.AsY())
	}
}

// take adds the products p of count elements, the first of them the element
// `from` of vector k. The upper elements of p are zero.
func (s sum) take(k, from, count int, p VecVirtual) {
	if from == 2 { // the third of three
		shifted := YMM()
		VXORPD(shifted, shifted, shifted)
		VINSERTF128(Imm(1), p.AsX(), shifted, shifted)
		p = shifted
	}
	VADDPD(p.AsY(), s[k].AsY(), s[k].AsY())
}

// tree adds the lanes up in the canonical order: l and l+8, l and l+4, l and
// l+2, 0 and 1.
func (s sum) tree() VecVirtual {
	s.four()
	high := XMM()
	VEXTRACTF128(Imm(1), s[0].AsY(), high)
	VADDPD(high, s[0].AsX(), s[0].AsX())
	VPERMILPD(Imm(1), s[0].AsX(), high)
	VADDSD(high, s[0].AsX(), s[0].AsX())
	return s[0]
}

// four does the first half of tree and returns the four sums that are left.
func (s sum) four() Register {
	VADDPD(s[2].AsY(), s[0].AsY(), s[0].AsY())
	VADDPD(s[3].AsY(), s[1].AsY(), s[1].AsY())
	VADDPD(s[1].AsY(), s[0].AsY(), s[0].AsY())
	return s[0].AsY()
}

// hints are rows that are used soon: near is fetched into the first cache, far into the
// second, unless it is nil at run time. The zero value emits no prefetch.
type hints struct {
	near, far row
}

// fetch emits the prefetches of one block; lines past the end of a row do no
// harm, a prefetch never faults.
func (h hints) fetch(far bool) {
	if h.near.base == nil {
		return
	}
	for line := 0; line < lanes*h.near.size; line += 64 {
		PREFETCHT0(h.near.at(line / h.near.size))
		if far {
			PREFETCHT1(h.far.at(line / h.far.size))
		}
	}
}

// elementwise emits the loop over n elements from index 0 on. visit is called for each
// vector k of a block of sixteen, and for the remainder after the last block, where
// count may be 2 or 1 and from is the place of the first element in its vector. Its
// labels start with the given one.
func elementwise(label string, n, index Register, h hints, visit func(k, at, from, count int)) {
	blocks := GP64()
	MOVQ(n, blocks)
	SHRQ(Imm(4), blocks)
	JZ(LabelRef(label + "rest"))
	loop := func(name string, far bool) {
		Label(name)
		h.fetch(far)
		for k := range vectors {
			visit(k, k*width, 0, width)
		}
		ADDQ(Imm(lanes), index)
		DECQ(blocks)
		JNZ(LabelRef(name))
	}
	if h.near.base != nil {
		TESTQ(h.far.base, h.far.base)
		JZ(LabelRef(label + "block"))
		loop(label+"blockfar", true)
		JMP(LabelRef(label + "rest"))
	}
	loop(label+"block", false)

	Label(label + "rest")
	ANDQ(Imm(lanes-1), n)
	JZ(LabelRef(label + "done"))
	h.fetch(false)
	for k := range vectors - 1 {
		CMPQ(n, Imm(uint64((k+1)*width)))
		JLT(LabelRef(label + tail(k)))
		visit(k, k*width, 0, width)
	}
	for k := vectors - 1; k >= 0; k-- {
		Label(label + tail(k))
		TESTQ(U32(2), n)
		JZ(LabelRef(label + tail(k) + "one"))
		visit(k, k*width, 0, 2)
		TESTQ(U32(1), n)
		JZ(LabelRef(label + "done"))
		visit(k, k*width+2, 2, 1)
		JMP(LabelRef(label + "done"))
		Label(label + tail(k) + "one")
		TESTQ(U32(1), n)
		JZ(LabelRef(label + "done"))
		visit(k, k*width, 0, 1)
		if k > 0 {
			JMP(LabelRef(label + "done"))
		}
	}
	Label(label + "done")
}

func tail(k int) string { return "tail" + string(rune('0'+k)) }
