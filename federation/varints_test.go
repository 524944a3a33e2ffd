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

// What is put into the list comes out of it, also when it was kept in between, and
// what is kept again is the same.
func TestWordsComeBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		all := rapid.SliceOfN(rapid.Uint64(), 0, 20).Draw(rt, "varints")
		all = slices.Repeat(all, rapid.SampledFrom([]int{1, 3000}).Draw(rt, "times")) // some blocks
		var w varints
		for _, x := range all {
			w.add(x)
		}
		kept := func(w *varints) []byte {
			var b bytes.Buffer
			w.state(state.Writing(&b))
			return b.Bytes()
		}
		b := kept(&w)
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
			rt.Fatal("the list goes on behind its end")
		}
		again.add(5)
		w.add(5)
		if !bytes.Equal(kept(&w), kept(&again)) {
			rt.Fatal("the list that was kept goes on in another way")
		}
	})
}

// What is cut off within a word ends there.
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

// The work of a solve, as it is told, takes few bytes: it is a whole number of
// FLOPs, of steps and of values. Without blocks it would be a slice of 24 bytes
// that doubles.
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
