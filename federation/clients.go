package federation

import (
	"math/bits"

	"fedsim/internal/rng"
)

// clients chooses the devices of each round: all of them, or a sample that is
// drawn uniformly without replacement from (seed, rng.Clients, -1, round).
type clients struct {
	devices int
	size    int // of a round's sample
	seed    uint64
	chosen  []int32  // of the last round, in order
	marks   []uint64 // one bit for each device; all 0 between two rounds
}

func newClients(cfg Config, devices int, seed uint64) clients {
	c := clients{devices: devices, size: cfg.clients(devices), seed: seed}
	c.chosen = make([]int32, c.size)
	if c.size < devices {
		c.marks = make([]uint64, (devices+63)/64)
		return c
	}
	for t := range c.chosen {
		c.chosen[t] = int32(t)
	}
	return c
}

// choose returns the devices of a round in ascending order; the slice is valid
// until the next call. It is Floyd's algorithm: k draws for k devices (Bentley
// and Floyd, CACM 1987).
func (c *clients) choose(round int) []int32 {
	if c.marks == nil {
		return c.chosen
	}
	s := rng.New(c.seed, rng.Clients, -1, round)
	for last := c.devices - c.size; last < c.devices; last++ {
		t := s.IntN(last + 1)
		if c.marks[t/64]&(1<<(t%64)) != 0 {
			t = last
		}
		c.marks[t/64] |= 1 << (t % 64)
	}
	n := 0
	for w, word := range c.marks {
		for ; word != 0; word &= word - 1 {
			c.chosen[n] = int32(w*64 + bits.TrailingZeros64(word))
			n++
		}
		c.marks[w] = 0
	}
	return c.chosen
}
