package federation

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fedsim/internal/state"
)

// A list returns its numbers in order, also after it was saved and read, and it is
// saved the same way again.
func TestWordsComeBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfN(rapid.Uint64(), 0, 20).Draw(rt, "varints")
		all = slices.Repeat(all, rapid.SampledFrom([]int{1, 3000}).Draw(rt, "times")) // some blocks
		var w varints
		for _, x := range all {
			w.add(x)
		}
		saved := func(w *varints) []byte {
			var b bytes.Buffer
			w.state(state.Writing(&b))
			return b.Bytes()
		}
		b := saved(&w)
		r := state.Reading(bytes.NewReader(b))
		var again varints
		if again.state(r); r.Err() != nil {
			rt.Fatal(r.Err())
		}
		for i, want := range all {
			if got, ok := again.next(); !ok || got != want {
				rt.Fatalf("word %d of %d is %d, %t, want %d", i, len(all), got, ok, want)
			}
		}
		if _, ok := again.next(); ok || !again.over() {
			rt.Fatal("the list continues after its end")
		}
		again.add(5)
		w.add(5)
		if !bytes.Equal(saved(&w), saved(&again)) {
			rt.Fatal("the list that was read continues differently")
		}
	})
}

// A list that is truncated within a number ends there.
func TestHalfAWordIsNone(t *testing.T) {
	for _, blocks := range [][][]byte{{{0x80}}, {{}}, {{1}, bytes.Repeat([]byte{0xff}, 11)}} {
		w := varints{blocks: blocks}
		read := 0
		for range 3 {
			if _, ok := w.next(); ok {
				read++
			}
		}
		if read != len(blocks)-1 || w.over() {
			t.Errorf("%x: %d varints are read", blocks, read)
		}
	}
}

// The recorded work of a device takes few bytes: FLOPs, steps and bytes are whole
// numbers. Without blocks it would be a growing slice of 24 bytes each.
func TestTheWorkOfASolveTakesFewBytes(t *testing.T) {
	const solves, steps, perStep, values = 100_000, 20, 4*30 + 8, 30
	var w varints
	for range solves {
		w.add(bits.ReverseBytes64(math.Float64bits(steps * perStep)))
		w.add(steps)
		w.add(values)
	}
	room := 0
	for _, b := range w.blocks {
		room += cap(b)
	}
	if per := float64(room) / solves; per > 6.7 { // 4, 1 and 1, and the last block's rest
		t.Errorf("%.2f bytes for a solve, want at most 6.7", per)
	}
}
