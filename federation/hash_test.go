package federation

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"math"
	"testing"

	"fedsim/data"
)

// The hash is the standard library's FNV-1a over the values' bytes, the least
// significant first, without the padding of rows.
func TestHashWeightsIsFNV(t *testing.T) {
	w := data.NewMatrix(3, 5)
	for i := range 3 {
		for j := range 5 {
			w.Row(i)[j] = math.Sqrt(float64(1+7*i+j)) - 2
		}
	}
	w.Row(2)[4] = math.Copysign(0, -1)
	var b bytes.Buffer
	for i := range 3 {
		if err := binary.Write(&b, binary.LittleEndian, w.Row(i)); err != nil {
			t.Fatal(err)
		}
	}
	slow := fnv.New64a()
	slow.Write(b.Bytes())
	if got, want := HashWeights(&w), slow.Sum64(); got != want {
		t.Errorf("got %x, want %x", got, want)
	}
	before := HashWeights(&w)
	w.Data[5] = 1 // padding
	if HashWeights(&w) != before {
		t.Error("padding is hashed")
	}
	w.Row(2)[4] = 0
	if HashWeights(&w) == before {
		t.Error("0 and -0 have the same hash")
	}
}
