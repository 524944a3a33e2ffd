// Command gen writes the AVX2 and AVX-512 kernels of fedsim/internal/tools/kernel and their Go
// declarations: run "go generate" there. It is a separate module, so that fedsim does
// not depend on the assembler's generator.
package main

import "github.com/mmcloughlin/avo/build"

func main() {
	build.ConstraintExpr("!purego")
	for _, e := range []element{float64s, float32s} {
		dot(e)
		dotAhead(e)
		dots(e)
		axpy(e)
		scale(e)
		axpyDot(e)
		ascent(e, false)
		ascent(e, true)
		for outputs := 1; outputs <= batchOutputs; outputs++ {
			if outputs <= narrowOutputs {
				scores(e, outputs)
			}
			combine(e, outputs)
			wideScores(e, outputs, 2)
			wideScores(e, outputs, 4)
			wideCombine(e, outputs)
		}
	}
	rotate()
	descend()
	round32()
	gemmTile()
	build.Generate()
}
