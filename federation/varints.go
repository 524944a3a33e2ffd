package federation

import (
	"encoding/binary"

	"fedsim/internal/state"
)

// varints is a list of numbers, appended at its end and read from its start. A number
// takes as many bytes as it has digits in base 128. Blocks are never copied.
type varints struct {
	blocks [][]byte
	block  int // the one that is read
	at     int // how far it was
}

// blockSize is the size of a block in bytes.
const blockSize = 1 << 16

// add appends a number.
func (v *varints) add(word uint64) {
	last := len(v.blocks) - 1
	if last < 0 || len(v.blocks[last])+binary.MaxVarintLen64 > blockSize {
		v.blocks = append(v.blocks, make([]byte, 0, blockSize))
		last++
	}
	v.blocks[last] = binary.AppendUvarint(v.blocks[last], word)
}

// next reads a number. ok is false at the end, and where a list that was read is corrupt.
func (v *varints) next() (word uint64, ok bool) {
	if v.over() {
		return 0, false
	}
	word, n := binary.Uvarint(v.blocks[v.block][v.at:])
	if n <= 0 {
		return 0, false
	}
	if v.at += n; v.at == len(v.blocks[v.block]) {
		v.block, v.at = v.block+1, 0
	}
	return word, true
}

// over reports whether all numbers were read.
func (v *varints) over() bool { return v.block == len(v.blocks) }

// state writes or reads the list, block by block.
func (v *varints) state(c *state.Coder) {
	n := c.Count(len(v.blocks))
	if c.Reads() {
		*v = varints{}
	}
	for i := 0; i < n && c.Err() == nil; i++ {
		if c.Reads() {
			v.blocks = append(v.blocks, nil)
		}
		c.Bytes(&v.blocks[i])
	}
}
