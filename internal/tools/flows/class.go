package flows

import "math"

// class is the flows in one cell whose devices have the same rate. Their shares are
// always equal, so they use one clock. A class has the number of its clock, and exists
// while it has flows.
type class struct {
	rate   float64 // of each device, Mbps
	cell   int32
	n      int32 // flows
	next   int32 // next class in the same bucket of the index, or next free one
	capped bool  // limited by the devices' own rate: the clock runs on time; otherwise on the cell's clock
}

// classIndex finds the class of a cell and a rate. It is a hash table with chaining.
// Unlike a map, it does not allocate while classes come and go.
type classIndex struct {
	buckets []int32 // first class of each bucket; the length is a power of two
	n       int
}

func (c *classIndex) bucket(cell int32, rate float64) *int32 {
	h := (math.Float64bits(rate) ^ uint64(cell)*0xd6e8feb86659fd93) * 0x9e3779b97f4a7c15
	return &c.buckets[(h>>32^h>>48)&uint64(len(c.buckets)-1)]
}

func (s *FairShare) isClass(g int32) bool { return g >= firstCell+int32(len(s.cells)) }

// classOf returns the class of a cell and a rate, and creates it if there is none.
func (s *FairShare) classOf(cell int32, rate float64) int32 {
	bucket := s.index.bucket(cell, rate)
	for g := *bucket; g != none; g = s.classes[g].next {
		if k := &s.classes[g]; k.rate == rate && k.cell == cell {
			return g
		}
	}
	g := s.newClass()
	c := &s.cells[cell]
	k := &s.classes[g]
	*k = class{rate: rate, cell: cell, capped: rate < c.level(s)}
	k.next = *bucket
	*bucket = g
	if s.index.n++; s.index.n > len(s.index.buckets) {
		s.reindex()
	}
	x := &s.clocks[g]
	if k.capped {
		*x = clock{parent: timeClock, first: none, rate: rate, since: s.now}
		c.capped = s.fallsBelow.push(c.capped, g, exact{hi: -rate})
	} else {
		parent := firstCell + cell
		*x = clock{parent: parent, first: none, rate: 1, since: s.reading(parent)}
		c.sharing = s.risesAbove.push(c.sharing, g, exact{hi: rate})
	}
	s.place(g)
	return g
}

// newClass returns an unused class number.
func (s *FairShare) newClass() int32 {
	if g := s.free; g != none {
		s.free = s.classes[g].next
		return g
	}
	g := int32(len(s.clocks))
	s.clocks = append(s.clocks, clock{})
	s.classes = append(s.classes, class{})
	s.clocksDue = append(s.clocksDue, node{})
	s.risesAbove = append(s.risesAbove, node{})
	s.fallsBelow = append(s.fallsBelow, node{})
	return g
}

// dissolve removes class g, which has no flows.
func (s *FairShare) dissolve(g int32) {
	k := &s.classes[g]
	c := &s.cells[k.cell]
	s.detach(g)
	if k.capped {
		c.capped = s.fallsBelow.remove(c.capped, g)
	} else {
		c.sharing = s.risesAbove.remove(c.sharing, g)
	}
	link := s.index.bucket(k.cell, k.rate)
	for *link != g {
		link = &s.classes[*link].next
	}
	*link = k.next
	s.index.n--
	k.next, s.free = s.free, g
}

// reindex doubles the number of buckets.
func (s *FairShare) reindex() {
	old := s.index.buckets
	s.index.buckets = make([]int32, 2*len(old))
	for i := range s.index.buckets {
		s.index.buckets[i] = none
	}
	for _, g := range old {
		for g != none {
			k := &s.classes[g]
			next := k.next
			bucket := s.index.bucket(k.cell, k.rate)
			k.next, *bucket = *bucket, g
			g = next
		}
	}
}

// limitToOwn makes the devices' own rate the limit of class g.
func (s *FairShare) limitToOwn(g int32) {
	k := &s.classes[g]
	c := &s.cells[k.cell]
	c.sharing = s.risesAbove.remove(c.sharing, g)
	c.capped = s.fallsBelow.push(c.capped, g, exact{hi: -k.rate})
	c.sharers -= int(k.n)
	c.taken = c.taken.add(product(int(k.n), k.rate))
	k.capped = true
	s.attach(g, timeClock, k.rate)
}

// limitToLevel makes the level of its cell the limit of class g.
func (s *FairShare) limitToLevel(g int32) {
	k := &s.classes[g]
	c := &s.cells[k.cell]
	c.capped = s.fallsBelow.remove(c.capped, g)
	c.sharing = s.risesAbove.push(c.sharing, g, exact{hi: k.rate})
	c.sharers += int(k.n)
	c.taken = c.taken.add(product(int(k.n), k.rate).negative())
	k.capped = false
	s.attach(g, firstCell+k.cell, 1)
}
