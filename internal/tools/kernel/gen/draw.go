package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// lead is how many positions of an order are drawn ahead of the step: as far as
// rows are fetched ahead.
const lead = 4

// draw emits the draw of the position lead behind s, unless that is not below
// until, as rng.Stream.Draw does it.
func draw(s Register) {
	at := GP64()
	LEAQ(Mem{Base: s, Disp: lead}, at)
	CMPQ(at, parameter("until"))
	JGE(LabelRef("drawn"))
	bound, state := argument("count"), argument("draws")
	SUBQ(at, bound)

	Label("draw")
	hi := number(state)
	MOVQ(hi, RAX)
	MULQ(bound)
	CMPQ(RAX, bound)
	JCS(LabelRef("doubtful"))
	Label("fair")
	order, p, q := argument("order"), GP32(), GP32()
	ADDQ(at, RDX)
	here, there := Mem{Base: order, Index: at, Scale: 4}, Mem{Base: order, Index: RDX, Scale: 4}
	MOVL(here, p)
	MOVL(there, q)
	MOVL(q, here)
	MOVL(p, there)
	JMP(LabelRef("drawn"))

	Label("doubtful") // one of the 2^64 mod bound that would bias the result?
	low, high := GP64(), GP64()
	MOVQ(RAX, low)
	MOVQ(RDX, high)
	MOVQ(bound, RAX)
	NEGQ(RAX)
	XORQ(RDX, RDX)
	DIVQ(bound)
	CMPQ(low, RDX)
	JCS(LabelRef("draw"))
	MOVQ(high, RDX)
	JMP(LabelRef("fair"))
	Label("drawn")
}

// number emits the next number of a stream in a register, and advances the state of the stream:
// the constants are those of rng.Stream.
func number(state Register) Register {
	const (
		mulHi, mulLo = 2549297995355413924, 4865540595714422341
		incHi, incLo = 6364136223846793005, 1442695040888963407
		cheap        = 0xda942042e4dd58b5
	)
	hi, lo, t := GP64(), GP64(), GP64()
	stateHi, stateLo := Mem{Base: state}, Mem{Base: state, Disp: 8}
	constant := func(c uint64, to Register) Register {
		MOVQ(U64(c), to)
		return to
	}
	MOVQ(stateHi, hi)
	MOVQ(stateLo, lo)
	IMULQ(constant(mulLo, RAX), hi)
	MULQ(lo)
	ADDQ(RDX, hi)
	IMULQ(constant(mulHi, t), lo)
	ADDQ(lo, hi)
	MOVQ(RAX, lo)
	ADDQ(constant(incLo, t), lo)
	// MOVQ leaves the carry alone.
	ADCQ(constant(incHi, t), hi)
	MOVQ(hi, stateHi)
	MOVQ(lo, stateLo)
	fold := func(shift uint64) {
		MOVQ(hi, t)
		SHRQ(Imm(shift), t)
		XORQ(t, hi)
	}
	fold(32)
	IMULQ(constant(cheap, t), hi)
	fold(48)
	ORQ(Imm(1), lo)
	IMULQ(lo, hi)
	return hi
}
