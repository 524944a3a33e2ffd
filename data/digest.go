package data

import (
	"crypto/sha256"
	"encoding/binary"

	"fedsim/internal/state"
)

// Digest returns the beginning of the SHA-256 of all values of the set, bit for bit
// and task by task, to tell another set from this one. Rows that are not in memory
// are told by their number alone: they are made by what the set was configured with.
func (s *Set) Digest() uint64 {
	sum := sha256.New()
	c := state.Writing(sum) // which cannot fail
	for i := range s.Tasks {
		t := &s.Tasks[i]
		c.Int(&t.X.Rows)
		c.Int(&t.X.Cols)
		c.Float64s(t.X.Data)
		c.Float64s(t.Y)
		for _, v := range t.X.Single {
			wide := float64(v)
			c.Float64(&wide)
		}
	}
	return binary.LittleEndian.Uint64(sum.Sum(nil))
}
