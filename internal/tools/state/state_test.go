package state

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fedsim/internal/tools/expect"
	_ "fedsim/internal/tools/rapidseed"
)

type values struct {
	A int
	B uint64
	C float64
	D []float64
	E []bool
	F []int
	G string
	H []string
	I []byte
	J []float32
}

func (v *values) state(c *Coder) {
	c.Int(&v.A)
	c.Uint64(&v.B)
	c.Float64(&v.C)
	c.Float64s(v.D)
	c.Bools(v.E)
	c.Ints(v.F)
	c.String(&v.G)
	c.Bytes(&v.I)
	c.Float32s(v.J)
	n := c.Count(len(v.H))
	if c.Reads() {
		v.H = nil
	}
	for i := range n {
		if c.Reads() {
			v.H = append(v.H, "")
		}
		if c.String(&v.H[i]); c.Err() != nil {
			return
		}
	}
}

func TestValuesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var texts []string
		for range rapid.IntRange(0, 3).Draw(t, "texts") {
			texts = append(texts, rapid.String().Draw(t, "h"))
		}
		x := values{
			H: texts, I: rapid.SliceOfN(rapid.Byte(), 1, 9000).Draw(t, "i"),
			A: rapid.Int().Draw(t, "a"), B: rapid.Uint64().Draw(t, "b"), C: rapid.Float64().Draw(t, "c"),
			J: rapid.SliceOfN(rapid.Float32(), 0, 2000).Draw(t, "j"),
			D: rapid.SliceOfN(rapid.Float64(), 0, 2000).Draw(t, "d"), E: rapid.SliceOf(rapid.Bool()).Draw(t, "e"),
			F: rapid.SliceOf(rapid.Int()).Draw(t, "f"),
			G: strings.Repeat(rapid.String().Draw(t, "g"), rapid.IntRange(0, 2000).Draw(t, "times")),
		}
		var written bytes.Buffer
		w := Writing(&written)
		x.state(w)
		expect.Must(t, w.Err() == nil, "%v", w.Err())
		whole := written.Bytes()
		read := func(b []byte) (values, error) {
			y := values{D: make([]float64, len(x.D)), E: make([]bool, len(x.E)), F: make([]int, len(x.F)),
				J: make([]float32, len(x.J))}
			r := Reading(bytes.NewReader(b))
			y.state(r)
			return y, r.Err()
		}
		y := expect.Value(read(whole))(t)
		d := cmp.Diff(x, y)
		expect.Must(t, d == "", "%v", d)
		cut := rapid.IntRange(0, len(whole)-1).Draw(t, "cut")
		if _, err := read(whole[:cut]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut off at %d of %d bytes: %v", cut, len(whole), err)
		}
	})
}

func TestNumbersReadBackBitForBit(t *testing.T) {
	for _, x := range []float64{math.Copysign(0, -1), math.NaN(), math.Inf(1), math.SmallestNonzeroFloat64} {
		var b bytes.Buffer
		Writing(&b).Float64(&x)
		var y float64
		if Reading(&b).Float64(&y); math.Float64bits(x) != math.Float64bits(y) {
			t.Errorf("%g was read as %g", x, y)
		}
	}
}

func TestAnotherLengthIsRefused(t *testing.T) {
	var b bytes.Buffer
	Writing(&b).Float64s([]float64{1, 2, 3})
	r := Reading(&b)
	if r.Float64s(make([]float64, 2)); r.Err() == nil {
		t.Error("three values were read into two")
	}
	r = Reading(bytes.NewReader([]byte{1, 0, 0, 0, 0, 0, 0, 0, 7}))
	if r.Bools(make([]bool, 1)); r.Err() == nil {
		t.Error("7 was read as yes or no")
	}
}
