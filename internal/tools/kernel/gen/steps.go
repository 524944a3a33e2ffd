package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// longRows take vectors of four, in blocks of sixteen.
type longRows struct{ lanes sum }

func longRowsOf() shape {
	var r longRows
	for k := range r.lanes {
		r.lanes[k] = YMM()
	}
	return r
}

func (r longRows) dot(label string, x *row, u, next row, delta VecVirtual, h hints) {
	elementwise(label, argument("n"), u.index, h, func(k, at, from, count int) {
		p := u.moved(x, delta, at, count)
		next.times(p, p, at, count)
		r.lanes.take(k, from, count, p)
	})
}

func (r longRows) zero() { r.lanes.clear() }

func (r longRows) total() Register {
	s := r.lanes.four()
	other := YMM()
	VPERM2F128(Imm(1), s, s, other)
	VADDPD(other, s, s)
	VPERMILPD(Imm(5), s, other)
	VADDPD(other, s, s)
	return s
}

func (longRows) wide(v VecVirtual) Register { return v.AsY() }

func (longRows) spread(from Op, to Register) { VBROADCASTSD(from, to) }

// shortRows take a pair of lanes in a vector of two: a lane has but one product,
// and there are no halves of vectors to bring together. The lanes do not start at
// +0, so a sum of -0 alone is -0 where it should be +0: a step makes the same of
// both.
type shortRows struct{ pairs [lanes / 2]VecVirtual }

func shortRowsOf() shape {
	var r shortRows
	for k := range r.pairs {
		r.pairs[k] = YMM()
	}
	return r
}

func (r shortRows) dot(label string, x *row, u, next row, delta VecVirtual, _ hints) {
	pairwise(label, argument("n"), func(k, count int) {
		p := u.moved(x, delta, 2*k, count)
		next.times(r.pairs[k], p, 2*k, count)
	}, r.join)
}

func (r shortRows) zero() {
	for _, p := range r.pairs[:len(r.pairs)/2] {
		VXORPD(p.AsX(), p.AsX(), p.AsX())
	}
}

// join adds lanes l and l+8, when there is a product in the latter.
func (r shortRows) join(k int) {
	add(r.pairs[k], r.pairs[k], r.pairs[k+len(r.pairs)/2], 2)
}

func (r shortRows) total() Register {
	add(r.pairs[0], r.pairs[0], r.pairs[2], 2)
	add(r.pairs[1], r.pairs[1], r.pairs[3], 2)
	add(r.pairs[0], r.pairs[0], r.pairs[1], 2)
	s, other := r.pairs[0].AsX(), XMM()
	VPERMILPD(Imm(1), s, other)
	VADDPD(other, s, s)
	return s
}

func (shortRows) wide(v VecVirtual) Register { return v.AsX() }

func (shortRows) spread(from Op, to Register) { VMOVDDUP(from, to) }

// moved returns elements of u from i on, after u += delta x unless x is nil.
func (r row) moved(x *row, delta VecVirtual, i, count int) VecVirtual {
	if x != nil {
		return r.plus(*x, delta, i, count)
	}
	p := YMM()
	load(r.at(i), p, count)
	return p
}

// plus emits u += delta x for elements from i on, which it returns.
func (r row) plus(x row, delta VecVirtual, i, count int) VecVirtual {
	p, v := YMM(), YMM()
	x.times(p, delta, i, count)
	load(r.at(i), v, count)
	add(v, p, v, count)
	store(v, r.at(i), count)
	return v
}

// pairwise emits what visit does for each pair of n <= 16 elements, for the last
// with count 1 when n is odd, and join for the first half of the pairs once they
// and their partners in the second half, if there are any, have been visited. The
// pairs that are joined are the first to be visited.
func pairwise(label string, n Register, visit func(k, count int), join func(k int)) {
	name := func(k int) string { return label + string(rune('0'+k)) }
	const half = lanes / 4
	for last := 2*half - 1; last >= 0; last-- {
		CMPQ(n, Imm(uint64(2*last+1)))
		JG(LabelRef(name(last)))
		JE(LabelRef(name(last) + "one"))
	}
	JMP(LabelRef(label + "done"))
	for last := range 2 * half {
		Label(name(last) + "one")
		visit(last, 1)
		JMP(LabelRef(name(last) + "others"))
		Label(name(last))
		visit(last, 2)
		Label(name(last) + "others")
		for k := half; k < last; k++ {
			visit(k, 2)
		}
		for k := range min(half, last) {
			visit(k, 2)
			if k+half <= last {
				join(k)
			}
		}
		JMP(LabelRef(label + "done"))
	}
	Label(label + "done")
}
