package data

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"fedsim/internal/tools/state"
)

// Digest returns the first bytes of the SHA-256 of all values of the set, bit for bit
// and task by task, to identify the set. Rows that are not in memory contribute only
// their number: the configuration determines their values.
func (s *Set) Digest() uint64 {
	sum := sha256.New()
	c := state.Writing(sum) // a hash does not fail
	for i := range s.Clients {
		t := &s.Clients[i]
		if s.late != nil {
			t = s.late.open(s, t)
		}
		c.Int(&t.X.Rows)
		c.Int(&t.X.Cols)
		c.Float64s(t.X.Data)
		c.Float64s(t.Y)
		if !t.X.Dense() {
			t.X.digest(c)
		}
		var wide [8 * 512]byte
		for x := range slices.Chunk(t.X.Single, len(wide)/8) {
			for j, v := range x {
				binary.LittleEndian.PutUint64(wide[8*j:], math.Float64bits(float64(v)))
			}
			_, _ = sum.Write(wide[:8*len(x)])
		}
	}
	return binary.LittleEndian.Uint64(sum.Sum(nil))
}

// Digest identifies the rows of all parts, in 16 hexadecimal digits each.
func (s *Split) Digest() string {
	text := ""
	for _, part := range s.Parts() {
		text += fmt.Sprintf("%016x", part.Digest())
	}
	return text
}
