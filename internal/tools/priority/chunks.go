package priority

// chunks is the memory of a wheel's buckets: chunks of items in linked lists, recycled.
// It is allocated in slabs, so growing copies nothing.
type chunks struct {
	slabs []*slab
	next  []uint32 // by chunk: the next one in its bucket or in the free list
	free  uint32   // the first free chunk
}

func newChunks() *chunks { return &chunks{free: noChunk} }

const (
	chunkSize  = 32 // items: eight cache lines
	slabChunks = 64
	noChunk    = ^uint32(0)
)

type slab [slabChunks][chunkSize]Item

// bucket is a list of chunks. All but the first are full.
type bucket struct{ first, n uint32 }

func (c *chunks) chunk(number uint32) *[chunkSize]Item {
	return &c.slabs[number/slabChunks][number%slabChunks]
}

func (c *chunks) add(b *bucket, it Item) {
	at := b.n % chunkSize
	if at == 0 {
		c.extend(b)
	}
	c.chunk(b.first)[at] = it
	b.n++
}

// extend puts an empty chunk in front of b.
func (c *chunks) extend(b *bucket) {
	if c.free == noChunk {
		c.grow()
	}
	first := c.free
	c.free = c.next[first]
	if b.n == 0 {
		c.next[first] = noChunk
	} else {
		c.next[first] = b.first
	}
	b.first = first
}

func (c *chunks) grow() {
	number := uint32(len(c.next))
	c.slabs = append(c.slabs, new(slab))
	for i := range uint32(slabChunks) {
		c.next = append(c.next, number+i+1)
	}
	c.next[len(c.next)-1] = noChunk
	c.free = number
}

// take removes the first chunk from b and returns its items. The chunk is the next to be
// reused: the caller must read an item before it adds another one.
func (c *chunks) take(b *bucket) []Item {
	n := (b.n-1)%chunkSize + 1
	first := b.first
	b.n -= n
	b.first = c.next[first]
	c.next[first] = c.free
	c.free = first
	return c.chunk(first)[:n]
}
