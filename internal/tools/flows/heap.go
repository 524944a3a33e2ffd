package flows

// none stands for no member.
const none int32 = -1

// heaps is a set of pairing heaps over the members 0..len-1, each in at most one of them
// (Fredman, Sedgewick, Sleator and Tarjan, Algorithmica 1986). Adding costs O(1),
// removing O(log n) amortized. A heap is represented by its first member. The order is
// by key, then by number.
type heaps []node

// node is a member's place. Its previous neighbor is its parent if it is the parent's
// first child, otherwise the sibling that points to it.
type node struct {
	key                exact
	child, next, older int32
}

func (h heaps) before(a, b int32) bool {
	x, y := &h[a].key, &h[b].key
	if x.hi != y.hi {
		return x.hi < y.hi
	}
	if x.lo != y.lo {
		return x.lo < y.lo
	}
	return a < b
}

// push adds a member, which is in no heap, to the heap with the given first member. It
// returns the new first member.
func (h heaps) push(first, id int32, key exact) int32 {
	h[id] = node{key: key, child: none, next: none, older: none}
	return h.meld(first, id)
}

// remove removes a member from the heap with the given first member. It returns the new
// first member.
func (h heaps) remove(first, id int32) int32 {
	below := h.combine(h[id].child)
	if id == first {
		return below
	}
	older, next := h[id].older, h[id].next
	if h[older].child == id {
		h[older].child = next
	} else {
		h[older].next = next
	}
	if next != none {
		h[next].older = older
	}
	return h.meld(first, below)
}

// meld merges two heaps.
func (h heaps) meld(a, b int32) int32 {
	if a == none {
		return b
	}
	if b == none {
		return a
	}
	if h.before(b, a) {
		a, b = b, a
	}
	child := h[a].child
	h[b].older, h[b].next = a, child
	if child != none {
		h[child].older = b
	}
	h[a].child = b
	return a
}

// combine merges siblings into one heap: in pairs from the left, then the pairs from the
// right.
func (h heaps) combine(sibling int32) int32 {
	pairs := none
	for sibling != none {
		a := sibling
		b := h[a].next
		h[a].next = none
		sibling = none
		if b != none {
			sibling = h[b].next
			h[b].next = none
			a = h.meld(a, b)
		}
		h[a].next = pairs
		pairs = a
	}
	if pairs == none {
		return none
	}
	all := pairs
	pairs = h[all].next
	h[all].next = none
	for pairs != none {
		a := pairs
		pairs = h[a].next
		h[a].next = none
		all = h.meld(all, a)
	}
	h[all].older = none
	return all
}
