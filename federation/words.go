package federation

import (
	"encoding/binary"

	"fedsim/internal/state"
)

// words is a list of words that grows at its end and is read from its front. Each
// takes as many bytes as it has digits in base 128, in blocks that are never moved:
// a list of millions takes no more than that.
type words struct {
	blocks [][]byte
	block  int // the one that is read
	at     int // how far it was
}

// wordBlock is the size of a block in bytes.
const wordBlock = 1 << 16

// add puts a word at the end.
func (w *words) add(word uint64) {
	last := len(w.blocks) - 1
	if last < 0 || len(w.blocks[last])+binary.MaxVarintLen64 > wordBlock {
		w.blocks = append(w.blocks, make([]byte, 0, wordBlock))
		last++
	}
	w.blocks[last] = binary.AppendUvarint(w.blocks[last], word)
}

// next reads a word. ok is false at the end, and where what was read into the list
// is no word.
func (w *words) next() (word uint64, ok bool) {
	if w.over() {
		return 0, false
	}
	word, n := binary.Uvarint(w.blocks[w.block][w.at:])
	if n <= 0 {
		return 0, false
	}
	if w.at += n; w.at == len(w.blocks[w.block]) {
		w.block, w.at = w.block+1, 0
	}
	return word, true
}

// over reports whether all words were read.
func (w *words) over() bool { return w.block == len(w.blocks) }

// state names the words, block by block.
func (w *words) state(c *state.Coder) {
	n := c.Count(len(w.blocks))
	if c.Reads() {
		*w = words{}
	}
	for i := 0; i < n && c.Err() == nil; i++ {
		if c.Reads() {
			w.blocks = append(w.blocks, nil)
		}
		c.Bytes(&w.blocks[i])
	}
}
